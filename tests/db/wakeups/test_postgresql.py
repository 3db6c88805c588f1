"""Notices of PostgreSQL wake whoever waits, in any process, and come back when the database does."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from app.clients.wakeups.postgresql import LOOK_AGAIN, WEBS, NoticeBells, notify
from app.db import Database
from app.models import Submission

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

LONG_S = 20.0
LISTENING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()"

Finish = Callable[[Coroutine[Any, Any, Any]], Any]
Send = Callable[..., Submission]


@pytest.fixture
def bells(database: Database) -> Iterator[NoticeBells]:
    """Give the bells of one process."""
    bells = NoticeBells(database.url)
    yield bells
    bells.close()


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


def test_every_slot_is_woken_by_a_new_job(bells: NoticeBells, send: Send) -> None:
    """Any of them may be free; and the job was committed before they look."""
    with bells.worker_bell() as one, bells.worker_bell() as other:
        assert one.wait(LONG_S)  # the connection stands: something may have been missed before
        other.wait(0)
        send()
        assert one.wait(LONG_S)
        assert other.wait(LONG_S)
        assert not one.wait(0)


def test_slots_of_a_process_share_one_connection(database: Database, bells: NoticeBells) -> None:
    """However many slots there are, the database has one more connection to bear."""
    with bells.worker_bell() as first:
        assert first.wait(LONG_S)
        others = [bells.worker_bell() for _ in range(20)]
        assert len(others) == 20
        assert len(listening(database)) == 1


def test_slots_hear_again_after_the_connection_was_lost(database: Database, bells: NoticeBells, send: Send) -> None:
    """When it stands again everybody looks, because meanwhile anything may have happened."""
    with bells.worker_bell() as bell:
        assert bell.wait(LONG_S)
        cut_off(database)
        assert bell.wait(LONG_S)
        send()
        assert bell.wait(LONG_S)


def test_web_waiters_hear_of_their_own_submission_only(database: Database, bells: NoticeBells, finish: Finish) -> None:
    """Two tabs on one submission hear the same; a third on another hears nothing."""

    async def story() -> list[str | None]:
        async with bells.web_bell() as bell:
            with bell.subscribe("a") as one, bell.subscribe("a") as two, bell.subscribe("b") as other:
                for ticket in (one, two, other):
                    assert await ticket.wait(LONG_S) == LOOK_AGAIN
                await asyncio.to_thread(tell, database, "a running")
                heard = [await one.wait(LONG_S), await two.wait(LONG_S)]
                return [*heard, await other.wait(0.01)]

    assert finish(story()) == ["running", "running", None]


def test_web_waiters_look_again_after_the_connection_was_lost(
    database: Database, bells: NoticeBells, finish: Finish
) -> None:
    """A verdict that came while nobody listened is found at once, not at the next look."""

    async def story() -> list[str | None]:
        async with bells.web_bell() as bell:
            with bell.subscribe("a") as ticket:
                first = await ticket.wait(LONG_S)
                await asyncio.to_thread(cut_off, database)
                return [first, await ticket.wait(LONG_S)]

    assert finish(story()) == [LOOK_AGAIN, LOOK_AGAIN]


def test_hundreds_of_waiters_share_one_connection_and_one_thread(
    database: Database, bells: NoticeBells, finish: Finish
) -> None:
    """Five hundred browsers cost a web process one connection and one thread."""

    async def story() -> tuple[int, int]:
        before = threading.active_count()
        async with bells.web_bell() as bell:
            tickets = [bell.subscribe(str(number)) for number in range(500)]
            waiting = [ticket.__enter__() for ticket in tickets]
            assert await waiting[0].wait(LONG_S) == LOOK_AGAIN
            more = threading.active_count() - before
            return more, len(await asyncio.to_thread(listening, database))

    more, connections = finish(story())
    assert connections == 1
    assert more <= 1


def test_closed_bells_leave_no_connection(database: Database, bells: NoticeBells) -> None:
    """A process that ends in good order says goodbye."""
    with bells.worker_bell() as bell:
        assert bell.wait(LONG_S)
    bells.close()
    deadline_s = time.monotonic() + LONG_S
    while listening(database) and time.monotonic() < deadline_s:
        pass
    assert listening(database) == []
