"""
Wakeups on one machine: how its processes wake each other without asking the database in turn.

Theory of operation: whoever waits binds a Unix datagram socket in DATA/wakeups; whoever has news
sends one datagram to every socket there of that kind. One that is lost (a full buffer, another
machine, a reader that is just starting) costs no more than the time until the waiter looks by
itself. Sockets left by killed processes refuse connections, and are removed by whoever notices.

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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from app.clients.wakeups.port import Subscriptions

FOLDER = "wakeups"
"""In the data folder. The name is older than this module, and stays: folders that are in use have it."""
_WORKER, _WEB = "worker-", "web-"
_MESSAGE_BYTES = 256
# A web process may be busy for a moment with its buffer full (ten datagrams by default): worth
# a short wait. A worker with a full buffer will look at the queue anyway.
_WEB_PATIENCE_S = 0.05
# A socket file exists for a moment before it can receive; only old ones that refuse are stale.
_STALE_AFTER_S = 60.0


class LocalWakeups:
    """The wakeups of one machine, through sockets in its data folder."""

    def __init__(self, data: Path) -> None:
        """Prepare; nothing is opened yet."""
        self._data = data

    def notify_workers(self) -> None:
        """Tell every worker that there is a job. Never raises, never waits."""
        _send_to_all(self._data, _WORKER, b"job", patience_s=0.0)

    def notify_webs(self, submission_id: str, state: str) -> None:
        """Tell every web process that a submission is now `state`. Never raises."""
        _send_to_all(self._data, _WEB, f"{submission_id} {state}".encode(), patience_s=_WEB_PATIENCE_S)

    def worker_wakeup(self) -> "LocalWorkerWakeup":
        """Return a socket that listens from now on."""
        return LocalWorkerWakeup(self._data)

    def subscriptions(self) -> "LocalSubscriptions":
        """Return a socket that listens once it is opened."""
        return LocalSubscriptions(self._data)

    def workers_listen(self) -> bool:
        """Say whether some worker of this machine waits for jobs, or works on one. Never raises."""
        with suppress(OSError), _open_folder(self._data) as folder:
            names = os.listdir(folder)  # noqa: PTH208  by descriptor, which a Path cannot be
            return any(_is_listening(folder, name) for name in names if name.startswith(_WORKER))
        return False

    def close(self) -> None:
        """Do nothing: each end closes its own socket."""


class LocalWorkerWakeup:
    """What one slot waits on. Close it, or use it in `with`."""

    def __init__(self, data: Path) -> None:
        """Listen from now on: what is sent before `wait` is not missed."""
        self._socket = _ListeningSocket(data, _WORKER)

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as it is notified, or was since the last wait; False after `timeout_s`."""
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


class LocalSubscriptions(Subscriptions):
    """
    A web process's subscriptions, fed by one socket.

    Open it in the event loop (`async with`), and use it only there: five hundred waiters cost
    one descriptor and no thread.
    """

    def __init__(self, data: Path) -> None:
        """Prepare; nothing is opened yet."""
        super().__init__()
        self._data = data
        self._socket: _ListeningSocket | None = None

    async def __aenter__(self) -> Self:
        self._socket = _ListeningSocket(self._data, _WEB)
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
            self.deliver(message.decode("ascii", "replace"))


class _ListeningSocket:
    """A bound socket in the folder of wakeups."""

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


def _send_to_all(data: Path, kind: str, message: bytes, *, patience_s: float) -> None:
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


def _is_listening(folder: int, name: str) -> bool:
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
