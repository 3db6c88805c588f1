"""Transactions keep what they promise, and values come back as they went in."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select
from sqlalchemy.exc import StatementError

from app.db import Database
from app.models import Account, Course, Role


def test_failed_transaction_leaves_nothing(database: Database) -> None:
    """What was written before the exception is undone."""

    def fail() -> None:
        with database.write() as session:
            session.add(Account(role=Role.GUEST))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.read() as session:
        assert session.scalar(select(Account)) is None


def test_writers_wait_for_each_other(database: Database) -> None:
    """Many that read and then write at the same moment all succeed, and none of them is lost."""
    with database.write() as session:
        session.add(Course(id="course", title="", summary="", position=0))

    def count_up(_: int) -> None:
        with database.write() as session:
            course = session.scalars(select(Course).with_for_update()).one()
            course.position += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_up, range(40)))
    with database.read() as session:
        assert session.get_one(Course, "course").position == 40


def test_reader_does_not_wait_for_a_writer(database: Database) -> None:
    """Whoever reads while another writes sees what was there before."""
    with database.write() as writing:
        writing.add(Account(role=Role.GUEST))
        writing.flush()
        with database.read() as session:
            assert session.scalar(select(Account)) is None


def test_change_in_a_reading_transaction_is_refused(database: Database) -> None:
    """It would be lost without a word."""
    with pytest.raises(RuntimeError, match=r"Database\.write"), database.read() as session:
        session.add(Account(role=Role.GUEST))


def test_times_come_back_in_utc(database: Database) -> None:
    """Whatever the zone they were given in."""
    given = datetime(2026, 3, 1, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    with database.write() as session:
        session.add(Account(role=Role.GUEST, created_at=given))
    with database.read() as session:
        found = session.scalars(select(Account)).one().created_at
    assert found == given
    assert found.tzinfo is UTC


def test_time_without_a_zone_is_refused(database: Database) -> None:
    """It could mean any of many moments."""
    account = Account(role=Role.GUEST, created_at=datetime(2026, 3, 1))  # noqa: DTZ001
    with pytest.raises(StatementError, match="no time zone"), database.write() as session:
        session.add(account)


@pytest.mark.parametrize("url", ["postgres://host/name", "postgresql://host/name", "postgresql+psycopg://host/name"])
def test_postgresql_goes_by_several_names(url: str) -> None:
    """The short forms that hosting services hand out work as they are."""
    assert Database(url).url.drivername == "postgresql+psycopg"
