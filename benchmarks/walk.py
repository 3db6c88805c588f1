"""
How far does a submission walk through our own code, from its POST to the verdict on the page?

    .venv/bin/python benchmarks/walk.py [--list]

Web server and worker run in this one process, and what is called in `app` and `graders` is written down: for the second
submission of a guest to the first exercise, when nothing is made for the first time any more. Printed are the files and
the functions that it passes, and how many of the calls from one function to another go from one file to another, each
counted once. What runs in sandboxed processes is not seen from here, nor are comprehensions and lambdas counted.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from starlette.testclient import TestClient

from app import logs
from app.authoring import load_code_exercise, load_course
from app.db import Database
from app.db.migrate import upgrade
from app.main import create_app
from app.services.exercises.catalogue import import_course
from app.settings import ROOT, Settings
from app.worker.process import run_worker

COURSE = ROOT / "exercises" / "embeddings"
EXERCISE = "token-and-position-embeddings"
BROWSER = {"Accept": "text/html,application/xhtml+xml"}
OURS = (f"{ROOT}/app/", f"{ROOT}/graders/")
WITHIN_S = 120.0
REST_S = 1.0  # in which the slot forks the next processes ahead, and tidies


@dataclass
class Walk:
    """What was called while it was written down."""

    functions: set[CodeType] = field(default_factory=set)
    crossings: set[tuple[CodeType, CodeType]] = field(default_factory=set)
    is_on: bool = False

    def note(self, frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401  as `sys.setprofile` wants it
        """Write a call down, if it is one of ours."""
        code = frame.f_code
        if not self.is_on or event != "call" or not _is_ours(code):
            return
        self.functions.add(code)
        caller = frame.f_back
        while caller is not None and not _is_ours(caller.f_code):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.crossings.add((caller.f_code, code))

    def files(self) -> Counter[str]:
        """By file: how many of its functions were passed."""
        return Counter(str(Path(code.co_filename).relative_to(ROOT)) for code in self.functions)


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(OURS) and not code.co_name.startswith("<")


def browse(settings: Settings, source: str, found: Walk) -> None:
    """Send a submission twice, and write down what the second one passes. The main thread is the worker's."""
    with TestClient(create_app(settings), headers=BROWSER, follow_redirects=False) as client:
        for is_on in (False, True):
            found.is_on = is_on
            sent = client.post(f"/exercises/{EXERCISE}/submissions", data={"source": source, "kind": "check"})
            address = re.sub(r"^https?://[^/]+", "", sent.headers["location"])
            client.get(address)  # which waits for the verdict, and shows it
            found.is_on = False
            _wait_until_passed(client, address)
            time.sleep(REST_S)


def _wait_until_passed(client: TestClient, address: str) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline_s:
        if client.get(f"/api/v1{address}").json().get("verdict") == "passed":
            return
        time.sleep(0.2)
    raise TimeoutError("the exercise's own solution has not passed")


def main() -> int:
    """Walk, and print what was passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each file with the functions that were passed")
    arguments = parser.parse_args()
    logs.configure("console")
    found, failures = Walk(), list[BaseException]()
    threading.setprofile(found.note)  # before any other thread is there
    with tempfile.TemporaryDirectory(prefix="kelolo-walk-") as folder:
        Path(folder).chmod(0o711)
        settings = Settings(data=Path(folder), workers=1)
        database = Database(settings.database_url)
        upgrade(database)
        with database.write() as session:
            import_course(session, load_course(COURSE))
        database.dispose()
        source = load_code_exercise(COURSE / "token-and-position" / EXERCISE).solution

        def visit() -> None:
            try:
                browse(settings, source, found)
            except BaseException as failure:  # noqa: BLE001  it is told below, by the main thread
                failures.append(failure)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)  # which the worker takes for the wish that it end

        browser = threading.Thread(target=visit)
        browser.start()
        run_worker(settings)
        browser.join()
    if failures:
        raise failures[0]
    files = found.files()
    print(f"{len(files)} files, {len(found.functions)} functions, {len(found.crossings)} crossings")
    if arguments.list:
        for name, count in sorted(files.items()):
            print(f"{count:4}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
