"""
Notices: how processes on several machines wake each other, by PostgreSQL's LISTEN and NOTIFY.

Theory of operation: as with the bells of one machine, a notice carries no truth. It says "look again", and
everything that matters stands in the database. It is sent inside a transaction and delivered at its commit.
Each process has one connection that listens, in one thread, however many wait in it; when that connection is
lost, the thread makes another, and then wakes everyone, because meanwhile anything may have happened.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

import psycopg
import structlog
from procrastinate.manager import get_channel_for_queues
from psycopg.sql import SQL, Identifier
from sqlalchemy import URL, func, select
from sqlalchemy.orm import Session

from app.clients.wakeups.local_sockets import Tickets
from app.db.database import PEER

GRADING = "grading"
"""Procrastinate's name of the queue of what is to be graded; it tells of new jobs on a channel of its own."""
GRADING_OF_GUESTS = "grading-of-guests"
"""The same of what guests have sent, so that a slot can leave it to others."""
WEBS, WORKERS = "kelolo_webs", "kelolo_workers"
"""Our channels: to the browsers that wait; and to workers, of jobs that have become free again."""
LOOK_AGAIN = "look-again"
"""What waiters of a web process are told when the connection that listens was away."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_CLOSE_WITHIN_S = 0.5

log = structlog.get_logger()


def notify(session: Session, channel: str, message: str) -> None:
    """Tell everyone who listens, once the transaction is committed."""
    session.execute(select(func.pg_notify(channel, message)))


class Listener:
    """A connection that listens, in a thread of its own, and comes back when the database does."""

    def __init__(
        self,
        url: URL,
        channels: list[str],
        *,
        hear: Callable[[str], None],
        look_again: Callable[[], None],
    ) -> None:
        """
        Listen from now on.

        Args:
            url: of the database.
            channels: to listen on.
            hear: called in the thread with each message.
            look_again: called in the thread each time the connection stands, also the first.
        """
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._channels = channels
        self._hear, self._look_again = hear, look_again
        self._closed = Event()
        self._thread = Thread(target=self._keep_listening, name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no longer."""
        self._closed.set()
        self._thread.join()

    def _keep_listening(self) -> None:
        pause_s = _FIRST_PAUSE_S
        peer: dict[str, Any] = {**PEER}
        while not self._closed.is_set():
            try:
                with psycopg.connect(self._address, autocommit=True, **peer) as connection:
                    for channel in self._channels:
                        connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
                    self._look_again()
                    pause_s = _FIRST_PAUSE_S
                    self._listen(connection)
            except (psycopg.Error, OSError) as error:
                log.warning("database is not listened to", error=str(error), again_in_s=pause_s)
                self._closed.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _listen(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        while not self._closed.is_set():
            for notice in connection.notifies(timeout=_CLOSE_WITHIN_S):
                self._hear(notice.payload)


class NoticeWebBell(Tickets):
    """A web process's end. Open it in the event loop (`async with`), and use it only there."""

    def __init__(self, url: URL) -> None:
        """Prepare; nothing is opened yet."""
        super().__init__()
        self._url = url
        self._listener: Listener | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._listener = Listener(
            self._url,
            [WEBS],
            hear=lambda message: _told(loop, self.hand_out, message),
            look_again=lambda: _told(loop, self.ring_all, LOOK_AGAIN),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            await asyncio.to_thread(self._listener.close)
            self._listener = None


class NoticeBells:
    """The bells on PostgreSQL. What is to be told is told by the queue, from inside its transactions."""

    def __init__(self, url: URL) -> None:
        """Prepare; nothing is opened yet."""
        self._url = url
        self._lock = Lock()
        self._slots: set[NoticeWorkerBell] = set()
        self._listener: Listener | None = None

    def ring_workers(self) -> None:
        """Wake the slots of this process. Others have heard of a job from the database."""
        with self._lock:
            slots = list(self._slots)
        for bell in slots:
            bell.ring()

    def ring_webs(self, submission_id: str, state: str) -> None:
        """Do nothing: the notice is part of what was committed."""

    def worker_bell(self) -> "NoticeWorkerBell":
        """Return a bell that rings from now on. All slots of a process share one connection."""
        with self._lock:
            bell = NoticeWorkerBell(self._forget)
            self._slots.add(bell)
            if self._listener is None:
                channels = [*get_channel_for_queues([GRADING, GRADING_OF_GUESTS]), WORKERS]
                wake = self.ring_workers
                self._listener = Listener(self._url, channels, hear=lambda _message: wake(), look_again=wake)
            return bell

    def web_bell(self) -> NoticeWebBell:
        """Return the end of a web process."""
        return NoticeWebBell(self._url)

    def workers_listen(self) -> bool:
        """Say yes: of workers on other machines nothing is known."""
        return True

    def close(self) -> None:
        """Listen to no more jobs."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _forget(self, bell: "NoticeWorkerBell") -> None:
        with self._lock:
            self._slots.discard(bell)


class NoticeWorkerBell:
    """A slot's end: a place to wait until there may be a job. Use it in `with`."""

    def __init__(self, forget: Callable[["NoticeWorkerBell"], None]) -> None:
        """Start without news. `forget` is called at the end."""
        self._rung = Event()
        self._forget = forget

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as it rings, or has rung since the last wait; False after `timeout_s`."""
        rung = self._rung.wait(timeout_s)
        self._rung.clear()
        return rung

    def ring(self) -> None:
        """Wake the waiter."""
        self._rung.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget(self)


def _told(loop: asyncio.AbstractEventLoop, tell: Callable[[str], None], message: str) -> None:
    with suppress(RuntimeError):  # the loop has ended meanwhile
        loop.call_soon_threadsafe(tell, message)
