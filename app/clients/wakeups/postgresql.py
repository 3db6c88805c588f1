"""
Wakeups of processes on several machines, by PostgreSQL's LISTEN and NOTIFY.

Theory of operation: a notification is sent inside a transaction and delivered at its commit. Each process has one
connection that listens, in one thread, however many wait in it; when that connection is lost, the thread makes
another, and then wakes everyone, because meanwhile anything may have happened.
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

from app.clients.wakeups.port import Subscriptions
from app.db.database import PEER

GRADING = "grading"
"""Procrastinate's name of the queue of what is to be graded; it notifies of new jobs on a channel of its own."""
GRADING_OF_GUESTS = "grading-of-guests"
"""The same of what guests have sent, so that a slot can leave it to others."""
WEBS, WORKERS = "kelolo_webs", "kelolo_workers"
"""Our channels: to the browsers that wait; and to workers, of jobs that have become free again."""
LOOK_AGAIN = "look-again"
"""What waiters of a web process receive when the connection that listens was away."""

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
        on_message: Callable[[str], None],
        on_connect: Callable[[], None],
    ) -> None:
        """
        Listen from now on.

        Args:
            url: of the database.
            channels: to listen on.
            on_message: called in the thread with each message.
            on_connect: called in the thread each time the connection stands, also the first.
        """
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._channels = channels
        self._on_message, self._on_connect = on_message, on_connect
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
                    self._on_connect()
                    pause_s = _FIRST_PAUSE_S
                    self._listen(connection)
            except (psycopg.Error, OSError) as error:
                log.warning("database is not listened to", error=str(error), again_in_s=pause_s)
                self._closed.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _listen(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        while not self._closed.is_set():
            for notification in connection.notifies(timeout=_CLOSE_WITHIN_S):
                self._on_message(notification.payload)


class PostgresSubscriptions(Subscriptions):
    """A web process's subscriptions, fed by one connection. Use it in the event loop only."""

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
            on_message=lambda message: _call_in(loop, self.deliver, message),
            on_connect=lambda: _call_in(loop, self.notify_all, LOOK_AGAIN),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            await asyncio.to_thread(self._listener.close)
            self._listener = None


class PostgresWakeups:
    """The wakeups on PostgreSQL. The queue sends most of them, from inside its transactions."""

    def __init__(self, url: URL) -> None:
        """Prepare; nothing is opened yet."""
        self._url = url
        self._lock = Lock()
        self._slots: set[PostgresWorkerWakeup] = set()
        self._listener: Listener | None = None

    def notify_workers(self) -> None:
        """Wake the slots of this process. Others have heard of a job from the database."""
        with self._lock:
            slots = list(self._slots)
        for slot in slots:
            slot.notify()

    def notify_webs(self, submission_id: str, state: str) -> None:
        """Do nothing: the notification is part of what was committed."""

    def worker_wakeup(self) -> "PostgresWorkerWakeup":
        """Return one that is notified from now on. All slots of a process share one connection."""
        with self._lock:
            slot = PostgresWorkerWakeup(self._forget)
            self._slots.add(slot)
            if self._listener is None:
                channels = [*get_channel_for_queues([GRADING, GRADING_OF_GUESTS]), WORKERS]
                wake = self.notify_workers
                self._listener = Listener(self._url, channels, on_message=lambda _message: wake(), on_connect=wake)
            return slot

    def subscriptions(self) -> PostgresSubscriptions:
        """Return the subscriptions of a web process."""
        return PostgresSubscriptions(self._url)

    def workers_listen(self) -> bool:
        """Say yes: of workers on other machines nothing is known."""
        return True

    def close(self) -> None:
        """Listen to no more jobs."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _forget(self, slot: "PostgresWorkerWakeup") -> None:
        with self._lock:
            self._slots.discard(slot)


class PostgresWorkerWakeup:
    """What one slot waits on. Use it in `with`."""

    def __init__(self, forget: Callable[["PostgresWorkerWakeup"], None]) -> None:
        """Start without news. `forget` is called at the end."""
        self._notified = Event()
        self._forget = forget

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as it is notified, or was since the last wait; False after `timeout_s`."""
        notified = self._notified.wait(timeout_s)
        self._notified.clear()
        return notified

    def notify(self) -> None:
        """Wake the waiter."""
        self._notified.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget(self)


def _call_in(loop: asyncio.AbstractEventLoop, action: Callable[[str], None], message: str) -> None:
    with suppress(RuntimeError):  # the loop has ended meanwhile
        loop.call_soon_threadsafe(action, message)
