"""
Connections to SQLite or PostgreSQL, and the two kinds of transaction on them.

Theory of operation: SQLite has one writer at a time. A transaction that reads first and
writes later can find another writer in its way, and then fails at once whatever the busy
timeout. So one that means to write says so when it opens (`Database.write`, BEGIN
IMMEDIATE) and waits its turn; one that only reads (`Database.read`) never waits, thanks to
the write-ahead log. On PostgreSQL both are ordinary transactions, the second read-only.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Any, cast

from sqlalchemy import (
    URL,
    Connection,
    CursorResult,
    Delete,
    Engine,
    Update,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from app.db.base import Base

BUSY_TIMEOUT_MS = 10_000
POOL_SIZE = 10
POOL_OVERFLOW = 40
PEER: dict[str, int] = {"connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""For PostgreSQL: a server that has vanished without a word is noticed in half a minute, not in two hours."""
# `hide_parameters` below: an error that is logged names its statement, and never what students sent.


class Database:
    """One database with its pool of connections. Safe to share between threads."""

    def __init__(self, url: str, *, connections: int = POOL_SIZE) -> None:
        """
        Prepare to connect to `url`; nothing is opened until a transaction is.

        Args:
            url: as SQLAlchemy writes it.
            connections: PostgreSQL only, which allows so many in all: no more than these are opened, and whoever
                wants one more waits for it.
        """
        self.url = _with_driver(make_url(url))
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite_engine(self.url) if self.is_sqlite else _postgresql_engine(self.url, connections)
        self._reader = self.engine.execution_options(**({} if self.is_sqlite else {"postgresql_readonly": True}))
        self._writer = self.engine.execution_options(sqlite_begin="BEGIN IMMEDIATE")

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that writes: committed at the end, undone by any exception."""
        with Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a transaction that only reads. What it loaded can still be used afterwards."""
        with Session(self._reader, expire_on_commit=False, autoflush=False) as session:
            yield session
            if session.new or session.dirty or session.deleted:
                error = "a reading transaction has changes that would be lost; use Database.write"
                raise RuntimeError(error)

    def dispose(self) -> None:
        """Close all idle connections."""
        self.engine.dispose()


def _with_driver(url: URL) -> URL:
    """Name psycopg 3 where the URL leaves the driver open; `postgres:` is a common short form."""
    if url.drivername in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    return url


def _postgresql_engine(url: URL, connections: int) -> Engine:
    return create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args=PEER,
        hide_parameters=True,
        json_serializer=_to_json,
    )


def _sqlite_engine(url: URL) -> Engine:
    if url.database and url.database != ":memory:":
        # Others may pass through the folder (the scratch folders of runs are below it), but
        # neither list it nor read the database; SQLite gives its log files the same mode.
        path = Path(url.database)
        path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    engine = create_engine(
        url, pool_size=POOL_SIZE, max_overflow=POOL_OVERFLOW, hide_parameters=True, json_serializer=_to_json
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: SqliteConnection, _entry: ConnectionPoolEntry) -> None:
    # The driver would otherwise open transactions by its own rules, behind SQLAlchemy's back.
    connection.isolation_level = None
    cursor = connection.cursor()
    # First, because turning the write-ahead log on may itself have to wait for a lock.
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # FULL, so that an accepted submission survives a power cut: it costs one fsync a commit.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))


def upsert(session: Session, model: type[Base]) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that can say what to do about rows that are there already: each database has its own."""
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(model)
    return postgresql.insert(model)


def updated_rows(session: Session, statement: Update | Delete) -> int:
    """
    Change or delete rows by one statement, and return how many there were.

    Objects that are loaded already keep what they had: read them anew where that matters.
    """
    result = session.execute(statement.execution_options(synchronize_session=False))
    return cast("CursorResult[Any]", result).rowcount


# NaN is not JSON: better refused here, loudly, than by every reader later.
_to_json = partial(json.dumps, allow_nan=False)
