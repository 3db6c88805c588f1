"""A database that is away for a moment costs a worker that moment, and not what it has found out."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from app.db import Database
from app.worker.database_retry import is_away, retry_while_away


def test_action_is_done_when_the_database_is_back() -> None:
    """It fails twice, as during a restart, and then succeeds: that is all that is seen of it."""
    answers = [OperationalError("", None, Exception()), OperationalError("", None, Exception()), "done"]

    def action() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    assert retry_while_away(action) == "done"
    assert answers == []


def test_other_errors_are_not_retried() -> None:
    """What the database refuses it will refuse again."""
    tries = []

    def action() -> None:
        tries.append(1)
        raise IntegrityError("", None, Exception())

    with pytest.raises(IntegrityError):
        retry_while_away(action)
    assert len(tries) == 1


def test_patience_ends() -> None:
    """A database that stays away is told of in the end."""

    def action() -> None:
        raise OperationalError("", None, Exception())

    with pytest.raises(OperationalError):
        retry_while_away(action, patience_s=0.01)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_killed_connection_is_a_database_that_is_away(database: Database) -> None:
    """What PostgreSQL says to those whose connection it ends is known as what passes."""
    with pytest.raises(OperationalError) as ended:
        _end_own_connection(database)
    assert is_away(ended.value)
    with database.read() as session:
        assert session.scalar(text("SELECT 1")) == 1


def _end_own_connection(database: Database) -> None:
    with database.read() as session:
        session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        session.execute(text("SELECT 1"))
