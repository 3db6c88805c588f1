"""
Bells: how the processes of one machine wake each other without asking the database in turn.

Theory of operation: whoever waits binds a Unix datagram socket in DATA/bells; whoever has news
sends one datagram to every socket there of that kind. A bell carries no truth. It says "look
again", and everything that matters stands in the database; so a bell that is lost (a full
buffer, another machine, a reader that is just being born) costs only the time until the waiter
looks by itself, and a waiter always has a time-out. Sockets left by killed processes refuse
connections, and are removed by whoever notices.

The path of a Unix socket has at most 107 bytes, which a data folder can exceed. All paths here
therefore go through an open descriptor of the folder: /proc/self/fd/N/name.
"""

import asyncio
import os
import secrets
import select
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

FOLDER = "bells"
_WORKER, _WEB = "worker-", "web-"
_MESSAGE_BYTES = 256
# A web process may be busy for a moment with its buffer full (ten datagrams by default): worth
# a short wait. A worker with a full buffer will look at the queue anyway.
_WEB_PATIENCE_S = 0.05
# A socket file is there an instant before it can receive; only old ones that refuse are stale.
_STALE_AFTER_S = 60.0


def ring_workers(data: Path) -> None:
    """Tell every worker that there is a job. Never raises, never waits."""
    _ring(data, _WORKER, b"job", patience_s=0.0)


def ring_webs(data: Path, submission_id: str, state: str) -> None:
    """Tell every web process that a submission is now `state`. Never raises."""
    _ring(data, _WEB, f"{submission_id} {state}".encode(), patience_s=_WEB_PATIENCE_S)


def workers_listen(data: Path) -> bool:
    """Say whether some worker of this machine waits for jobs, or works on one. Never raises."""
    with suppress(OSError), _open_folder(data) as folder:
        return any(_is_heard(folder, name) for name in os.listdir(folder) if name.startswith(_WORKER))  # noqa: PTH208
    return False


class Waiting(AbstractContextManager["Waiting"], Protocol):
    """A slot's end of the bells."""

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as it rings, or has rung since the last wait; False after `timeout_s`."""


class Bells(Protocol):
    """What processes wake each other by."""

    def ring_workers(self) -> None:
        """Tell workers that there is a job. Call it after the commit."""

    def ring_webs(self, submission_id: str, state: str) -> None:
        """Tell every web process that a submission is now `state`. Call it after the commit."""

    def worker_bell(self) -> Waiting:
        """Return a slot's end, to be used in `with`."""

    def web_bell(self) -> "Tickets":
        """Return a web process's end, to be used in `async with`."""

    def workers_listen(self) -> bool:
        """Say whether some worker waits for jobs, or works on one, as far as one can know."""

    def close(self) -> None:
        """Let go of what all slots of this process share."""


class FolderBells:
    """The bells of one machine, in its data folder."""

    def __init__(self, data: Path) -> None:
        """Prepare; nothing is opened yet."""
        self._data = data

    def ring_workers(self) -> None:
        """Tell every worker that there is a job. Never raises, never waits."""
        ring_workers(self._data)

    def ring_webs(self, submission_id: str, state: str) -> None:
        """Tell every web process that a submission is now `state`. Never raises."""
        ring_webs(self._data, submission_id, state)

    def worker_bell(self) -> "WorkerBell":
        """Return a socket that listens from now on."""
        return WorkerBell(self._data)

    def web_bell(self) -> "WebBell":
        """Return a socket that listens once it is opened."""
        return WebBell(self._data)

    def workers_listen(self) -> bool:
        """Say whether some worker of this machine waits for jobs, or works on one. Never raises."""
        return workers_listen(self._data)

    def close(self) -> None:
        """Do nothing: each end closes its own socket."""


class WorkerBell:
    """A worker's end: a place to wait until there may be a job. Close it, or use it in `with`."""

    def __init__(self, data: Path) -> None:
        """Listen from now on: what rings before `wait` is not missed."""
        self._socket = _Listening(data, _WORKER)

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as it rings, or has rung since the last wait; False after `timeout_s`."""
        readable, _, _ = select.select([self._socket.fileno()], [], [], timeout_s)
        return bool(readable) and bool(self._socket.drain())

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Ticket:
    """One waiter's interest in one submission."""

    def __init__(self) -> None:
        """Start without news."""
        self._rung = asyncio.Event()
        self._state: str | None = None

    async def wait(self, timeout_s: float) -> str | None:
        """Return the newest state that was rung since the last wait; None after `timeout_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._rung.wait(), timeout_s)
        self._rung.clear()
        state, self._state = self._state, None
        return state

    def ring(self, state: str) -> None:
        """Wake the waiter."""
        self._state = state
        self._rung.set()


class Tickets:
    """Those who wait in one web process, each for news of one submission. Used in the event loop only."""

    def __init__(self) -> None:
        """Start with nobody."""
        self._tickets: dict[str, set[Ticket]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @contextmanager
    def subscribe(self, submission_id: str) -> Iterator[Ticket]:
        """Be told about a submission. Subscribe first and read the database then: nothing slips by."""
        ticket = Ticket()
        self._tickets.setdefault(submission_id, set()).add(ticket)
        try:
            yield ticket
        finally:
            tickets = self._tickets[submission_id]
            tickets.discard(ticket)
            if not tickets:
                del self._tickets[submission_id]

    def hand_out(self, message: str) -> None:
        """Wake those who wait for a submission. The message: its id, a space, its new state."""
        submission_id, _, state = message.partition(" ")
        for ticket in self._tickets.get(submission_id, ()):
            ticket.ring(state)

    def ring_all(self, state: str) -> None:
        """Wake everyone: something may have been missed."""
        for tickets in self._tickets.values():
            for ticket in tickets:
                ticket.ring(state)


class WebBell(Tickets):
    """
    A web process's end: hands what rings to the waiters of that submission.

    Open it in the event loop (`async with`), and use it only there: five hundred waiters cost
    one descriptor and no thread.
    """

    def __init__(self, data: Path) -> None:
        """Prepare; nothing is opened yet."""
        super().__init__()
        self._data = data
        self._socket: _Listening | None = None

    async def __aenter__(self) -> Self:
        self._socket = _Listening(self._data, _WEB)
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._receive)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _receive(self) -> None:
        for message in self._socket.drain() if self._socket else ():
            self.hand_out(message.decode("ascii", "replace"))


class _Listening:
    """A bound socket in the folder of bells."""

    def __init__(self, data: Path, kind: str) -> None:
        with _open_folder(data) as folder:
            self._path = data / FOLDER / f"{kind}{os.getpid()}-{secrets.token_hex(4)}"
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.settimeout(0)
            self._socket.bind(_short(folder, self._path.name))

    def fileno(self) -> int:
        return self._socket.fileno()

    def drain(self) -> list[bytes]:
        """Take all that has arrived."""
        messages: list[bytes] = []
        with suppress(BlockingIOError):
            while True:
                messages.append(self._socket.recv(_MESSAGE_BYTES))
        return messages

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


def _ring(data: Path, kind: str, message: bytes, *, patience_s: float) -> None:
    with ExitStack() as stack:
        # A disk that is full, or descriptors that have run out, must not undo what the caller
        # has just committed: the waiters look by themselves.
        stack.enter_context(suppress(OSError))
        folder = stack.enter_context(_open_folder(data))
        sender = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        sender.settimeout(patience_s)
        for name in os.listdir(folder):  # noqa: PTH208  by descriptor, which a Path cannot be
            if name.startswith(kind):
                _send(sender, folder, name, message)


def _is_heard(folder: int, name: str) -> bool:
    """Say whether a socket has a process behind it. To connect sends nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as caller:
        try:
            caller.connect(_short(folder, name))
        except OSError:
            return False
    return True


def _send(sender: socket.socket, folder: int, name: str, message: bytes) -> None:
    try:
        sender.sendto(message, _short(folder, name))
    except ConnectionRefusedError:
        with suppress(FileNotFoundError):
            if time.time() - os.stat(name, dir_fd=folder).st_mtime > _STALE_AFTER_S:
                os.unlink(name, dir_fd=folder)
    except OSError:
        # Full, or gone since the folder was read.
        return


@contextmanager
def _open_folder(data: Path) -> Iterator[int]:
    path = data / FOLDER
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _short(folder: int, name: str) -> str:
    return f"/proc/self/fd/{folder}/{name}"
