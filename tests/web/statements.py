"""Counting the statements that a request sends to the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from app.db import Database

_TRANSACTION = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")


@contextmanager
def counted_statements(database: Database) -> Iterator[list[str]]:
    """Collect the statements that are sent while this is open, but for those that only begin and end transactions."""
    sent: list[str] = []

    def collect(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:  # noqa: ANN401  SQLAlchemy's own
        if not statement.startswith(_TRANSACTION):
            sent.append(statement)

    event.listen(database.engine, "before_cursor_execute", collect)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", collect)
