"""`kelolo serve`, and its two halves `kelolo web` and `kelolo worker`."""

import argparse
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import structlog
import uvicorn

from app.cli.configuration import require_current, settings_from
from app.cli.content import described, import_courses
from app.cli.exercise_files import WallsMissing
from app.db import Database
from app.db.migrate import upgrade
from app.errors import AppError
from app.main import create_app
from app.services.accounts.authentication import has_admin
from app.settings import Settings
from app.web.accounts.bootstrap_admin import BootstrapAdmin
from app.web.http.site import Site
from app.web.limits.connection_limits import BoundedProtocol, raise_descriptor_limit
from app.worker import REFUSED, Supervisor, run_worker
from app.worker.database_retry import retry_while_away
from graders.sandbox import layers

log = structlog.get_logger()

BACKLOG = 2048
ACCEPTED_AT_ONCE = 16
"""New connections that are taken in at one turn of the event loop: so in a flood others get their turns as well."""
# Streams of waiting browsers never end by themselves: at SIGTERM they are cut after this long.
SHUTDOWN_S = 4
END_WITHIN_S = 8.0
"""Whoever asks a web server to end waits ten seconds, as a rule, before it is killed."""
DATABASE_WITHIN_S = 30.0
_REFUSED = 2
"""Exit code: what was asked for cannot be done on this machine as it is."""


class AddressTaken(AppError):
    """The address to listen on is in use, or not ours."""

    title = "That address cannot be used"
    message = "Cannot listen on {host}:{port} ({reason}). Choose another port with --port."


class UnsafeShared(AppError):
    """Without walls only what oneself has sent may be graded, and in a shared database anyone's may be."""

    title = "--unsafe is for a database of one's own"
    message = "--unsafe goes with an SQLite database only: through one that servers share, others send code too."


class Server(uvicorn.Server):
    """Says where it can be reached, at the moment from which that is true."""

    first_admin: str | None = None
    """The link that makes the first administrator, while there is none."""
    end_within_s: float | None = None
    """After this, once it is asked to end, the process ends whatever its threads are at."""

    def __init__(self, config: uvicorn.Config, *, leave: Callable[[], None]) -> None:
        """`leave` is called in the event loop, when the server is asked to stop."""
        super().__init__(config)
        self._leave = leave

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, then say so."""
        await super().startup(sockets)
        if self.started and sockets:
            for one in sockets:
                one.listen(BACKLOG)  # asyncio has made the system's queue as short as its own turn
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            if self.first_admin:
                sys.stderr.write(
                    f"Nobody administers this site yet. Whoever opens this becomes the first:\n    {self.first_admin}\n"
                )
                sys.stderr.flush()
            print(f"Kelolo is ready on http://{shown}:{port}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let those who wait for a verdict go first, so that they need not be cut off."""
        if self.end_within_s is not None:
            last = threading.Timer(self.end_within_s, _end)
            last.daemon = True
            last.start()
        self._leave()
        await super().shutdown(sockets)


def describe(parser: argparse.ArgumentParser, command: str) -> None:
    """Say what one of the commands takes."""
    if command in ("serve", "web"):
        parser.add_argument("--host", metavar="H", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument("--port", metavar="P", type=int, help="port to listen on (default: 8000)")
    if command in ("serve", "worker"):
        parser.add_argument("--workers", metavar="N", type=int, help="how many to grade at once (default: one a core)")
    if command == "serve":
        parser.add_argument(
            "--unsafe",
            action="store_true",
            default=None,
            help="grade even where a wall round students' code is missing; only on a loopback address",
        )
    parser.set_defaults(handler={"serve": serve_all, "web": serve_web, "worker": work}[command])


def serve_all(args: argparse.Namespace) -> int:
    """Bring the database up to date, take in the exercises, and serve and grade until stopped."""
    settings = settings_from(args)
    signal.signal(signal.SIGTERM, _leave)
    if not settings.unsafe:
        _require_walls()
    elif not Database(settings.database_url).is_sqlite:
        raise UnsafeShared
    with _listen(settings) as listener:
        _prepare(settings)
        # what ends a server in good order ends it here too
        with Supervisor(settings, on_refusal=lambda: os.kill(os.getpid(), signal.SIGTERM)) as supervisor:
            try:
                return _run_web(settings, listener)
            except SystemExit:
                if not supervisor.refused:
                    raise
    return _REFUSED


def serve_web(args: argparse.Namespace) -> int:
    """Serve until stopped."""
    settings = settings_from(args)
    _await_database(settings)
    signal.signal(signal.SIGTERM, _leave)
    with _listen(settings) as listener:
        return _run_web(settings, listener, end_within_s=END_WITHIN_S)


def work(args: argparse.Namespace) -> int:
    """Grade until stopped."""
    settings = settings_from(args)
    _await_database(settings)
    _require_walls()
    # only `serve` knows who can send code: itself listens for it
    return _REFUSED if run_worker(settings.model_copy(update={"unsafe": False})) == REFUSED else 0


def _await_database(settings: Settings) -> None:
    """Wait a while for a database that is being started, as after a power cut; then raise NotMigrated if it is old."""
    database = Database(settings.database_url)
    retry_while_away(lambda: require_current(database), patience_s=DATABASE_WITHIN_S)
    database.dispose()


def _require_walls() -> None:
    """Refuse to start where students' code could get out. Raises WallsMissing."""
    advice = layers.missing()
    if advice:
        raise WallsMissing(advice=" ".join(advice))


def _prepare(settings: Settings) -> None:
    database = Database(settings.database_url)
    upgrade(database)
    if settings.exercises.is_dir():
        for summary in import_courses(database, settings.exercises):
            sys.stderr.write(f"{described(summary)}\n")
    database.dispose()


def _listen(settings: Settings) -> socket.socket:
    """Take the port first of all: it is what most often cannot be had. Raises AddressTaken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise AddressTaken(host=settings.host, port=settings.port, reason=error.strerror) from None


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End in good order. Uvicorn, when it has shut down, raises once more the signal it got."""
    raise SystemExit(0)


def _end() -> None:
    """End now. A thread that waits for a slow disk or another server would be waited for else; nothing is half done."""
    log.warning("ended in the midst of requests")
    os._exit(0)


def _run_web(settings: Settings, listener: socket.socket, *, end_within_s: float | None = None) -> int:
    # port 0 means any that is free, and which one that is stands in links
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    warn_of_unsent_emails(settings)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        backlog=ACCEPTED_AT_ONCE,
        limit_concurrency=raise_descriptor_limit(),
        timeout_graceful_shutdown=SHUTDOWN_S,
        log_config=None,  # what it has to say goes through `app.logs`
        access_log=False,  # it would name addresses as they are; app.web.http.request_log names routes
        server_header=False,
        proxy_headers=bool(settings.forwarded_allow_ips),
        forwarded_allow_ips=settings.forwarded_allow_ips or None,
    )
    server = Server(config, leave=app.state.site.leave)
    server.first_admin = first_admin_link(app.state.site)
    server.end_within_s = end_within_s
    server.run(sockets=[listener])
    return 0 if server.started else 3


def warn_of_unsent_emails(settings: Settings) -> None:
    """Say so if accounts begin with an e-mail, and e-mails do not leave."""
    if settings.confirm_email and not settings.smtp_url.get_secret_value():
        log.warning(
            "KELOLO_CONFIRM_EMAIL is on, but letters are only put into a folder, so nobody new can get in: "
            "set KELOLO_SMTP_URL to a mail server, or turn KELOLO_CONFIRM_EMAIL off",
            folder=str(settings.outbox_dir),
        )


def first_admin_link(site: Site) -> str | None:
    """Make a link that makes the first administrator, as long as the site has none."""
    with site.database.read() as session:
        if has_admin(session):
            return None
    return f"{site.settings.site_url}/first-admin/{site.parts.get(BootstrapAdmin).open()}"
