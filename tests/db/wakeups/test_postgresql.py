"""PostgreSQL's notifications wake whoever waits, in any process, and come back when the database does."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from app.clients.wakeups.postgresql import LOOK_AGAIN, WEBS, PostgresWakeups, notify
from app.db import Database
from app.models import Submission

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

LONG_S = 20.0
LISTENING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()"

Finish = Callable[[Coroutine[Any, Any, Any]], Any]
Send = Callable[..., Submission]


@pytest.fixture
def wakeups(database: Database) -> Iterator[PostgresWakeups]:
    """Give the wakeups of one process."""
    wakeups = PostgresWakeups(database.url)
    yield wakeups
    wakeups.close()


def listening(database: Database) -> list[int]:
    """Return the server's processes behind connections that listen."""
    with database.read() as session:
        return list(session.scalars(text(LISTENING)))


def tell(database: Database, message: str) -> None:
    """Tell all webs something."""
    with database.write() as session:
        notify(session, WEBS, message)


def cut_off(database: Database) -> None:
    """Cut all connections that listen."""
    with database.write() as session:
        session.execute(text(f"SELECT pg_terminate_backend(pid) FROM ({LISTENING}) AS listening"))  # noqa: S608


def test_every_slot_is_woken_by_a_new_job(wakeups: PostgresWakeups, send: Send) -> None:
    """Any of them may be free; and the job was committed before they look."""
    with wakeups.worker_wakeup() as one, wakeups.worker_wakeup() as other:
        assert one.wait(LONG_S)  # the connection stands: something may have been missed before
        other.wait(0)
        send()
        assert one.wait(LONG_S)
        assert other.wait(LONG_S)
        assert not one.wait(0)


def test_slots_of_a_process_share_one_connection(database: Database, wakeups: PostgresWakeups) -> None:
    """However many slots there are, the database has one more connection to bear."""
    with wakeups.worker_wakeup() as first:
        assert first.wait(LONG_S)
        others = [wakeups.worker_wakeup() for _ in range(20)]
        assert len(others) == 20
        assert len(listening(database)) == 1


def test_slots_are_woken_again_after_the_connection_was_lost(
    database: Database, wakeups: PostgresWakeups, send: Send
) -> None:
    """When it stands again everybody looks, because meanwhile anything may have happened."""
    with wakeups.worker_wakeup() as wakeup:
        assert wakeup.wait(LONG_S)
        cut_off(database)
        assert wakeup.wait(LONG_S)
        send()
        assert wakeup.wait(LONG_S)


def test_web_waiters_learn_of_their_own_submission_only(
    database: Database, wakeups: PostgresWakeups, finish: Finish
) -> None:
    """Two tabs on one submission get the same news; a third on another gets none."""

    async def story() -> list[str | None]:
        async with wakeups.subscriptions() as webs:
            with (
                webs.subscribe("a") as one,
                webs.subscribe("a") as two,
                webs.subscribe("b") as other,
            ):
                for subscription in (one, two, other):
                    assert await subscription.wait(LONG_S) == LOOK_AGAIN
                await asyncio.to_thread(tell, database, "a running")
                received = [await one.wait(LONG_S), await two.wait(LONG_S)]
                return [*received, await other.wait(0.01)]

    assert finish(story()) == ["running", "running", None]


def test_web_waiters_look_again_after_the_connection_was_lost(
    database: Database, wakeups: PostgresWakeups, finish: Finish
) -> None:
    """A verdict that came while nobody listened is found at once, not at the next look."""

    async def story() -> list[str | None]:
        async with wakeups.subscriptions() as webs:
            with webs.subscribe("a") as subscription:
                first = await subscription.wait(LONG_S)
                await asyncio.to_thread(cut_off, database)
                return [first, await subscription.wait(LONG_S)]

    assert finish(story()) == [LOOK_AGAIN, LOOK_AGAIN]


def test_hundreds_of_waiters_share_one_connection_and_one_thread(
    database: Database, wakeups: PostgresWakeups, finish: Finish
) -> None:
    """Five hundred browsers cost a web process one connection and one thread."""

    async def story() -> tuple[int, int]:
        before = threading.active_count()
        async with wakeups.subscriptions() as webs:
            subscribed = [webs.subscribe(str(number)) for number in range(500)]
            waiting = [subscription.__enter__() for subscription in subscribed]
            assert await waiting[0].wait(LONG_S) == LOOK_AGAIN
            more = threading.active_count() - before
            return more, len(await asyncio.to_thread(listening, database))

    more, connections = finish(story())
    assert connections == 1
    assert more <= 1


def test_closed_wakeups_leave_no_connection(database: Database, wakeups: PostgresWakeups) -> None:
    """A process that ends in good order says goodbye."""
    with wakeups.worker_wakeup() as wakeup:
        assert wakeup.wait(LONG_S)
    wakeups.close()
    deadline_s = time.monotonic() + LONG_S
    while listening(database) and time.monotonic() < deadline_s:
        pass
    assert listening(database) == []
