"""
Backups of all that lasts, and databases put back from them.

A restored database is first built and checked beside the one that is there, brought to the newest tables, and only then
exchanged for it. The old one is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, inspect, text
from sqlalchemy.exc import DatabaseError

from app.clients.backups import BackupRefused, postgresql, sqlite
from app.clients.backups.files import require_sum, temporary, whole_file
from app.clock import Clock, utc_now
from app.db import Database
from app.db.migrate import is_current, is_known, is_modelled, revision_of, upgrade
from app.services.grading import workers
from app.services.process_identity import dead_among

FILLED_BY_MIGRATIONS = {"alembic_version", "plan", "plan_limit", "tutor_policy"}
"""Tables in which a new database has rows already."""
_TELLS_NOTHING = {"worker"}


@dataclass(frozen=True)
class Restored:
    """What came of putting a backup back."""

    kept: str | None
    """Where the database is that was there before; None if it held nothing."""
    migrated: bool
    """It was older than this Kelolo, and has been brought up to date."""
    compared: bool
    """Its sum stood beside it, and was right."""


def backup(database: Database, target: Path, *, force: bool = False) -> int:
    """
    Write a backup while everything goes on.

    Args:
        database: any; it may be in use, and may be older than this Kelolo.
        target: the file to be made; its folder must be there.
        force: replace a file that is there.

    Returns:
        The backup's size in bytes.

    Raises:
        BackupRefused: it could not be made; nothing is at `target` that was not there before.
    """
    if database.is_sqlite and target.exists() and target.samefile(_file_of(database.url)):
        raise BackupRefused(reason=f"{target} is the database itself. Name another file.")
    with whole_file(target, force=force) as draft:
        if database.is_sqlite:
            sqlite.dump(_file_of(database.url), draft)
        else:
            postgresql.dump(database.url, draft)
        return draft.stat().st_size


def restore(database: Database, source: Path, *, force: bool = False, clock: Clock = utc_now) -> Restored:
    """
    Put a backup in the place of a database that nobody uses.

    Args:
        database: what is there now.
        source: a file that `backup` wrote, from the same kind of database.
        force: do so even if the database holds something.
        clock: for the name under which the old one is kept.

    Raises:
        BackupRefused: the backup is broken or too new, or the database is in use or not empty. Nothing was changed.
    """
    if not source.is_file():
        raise BackupRefused(reason=f"There is no file {source}.")
    _require_kind(database, source)
    compared = require_sum(source)
    filled = _holds_something(database)
    if filled and not force:
        raise BackupRefused(
            reason="The database is not empty, and restoring would replace it. If that is what you want, say --force: "
            "the old one is kept beside it."
        )
    _require_no_workers(database)
    database.dispose()  # or we would be in our own way
    with _rebuilt(database.url, source) as draft:
        migrated = _bring_up_to_date(draft, source)
        kept = _exchange(database, draft.url, clock=clock)
    if not filled:
        _discard(database, kept)
    return Restored(kept if filled else None, migrated=migrated, compared=compared)


def _require_kind(database: Database, source: Path) -> None:
    with source.open("rb") as file:
        is_sqlite = file.read(len(sqlite.MAGIC)) == sqlite.MAGIC
        file.seek(0)
        is_postgresql = file.read(len(postgresql.MAGIC)) == postgresql.MAGIC
    if is_sqlite if database.is_sqlite else is_postgresql:
        return
    here = "SQLite" if database.is_sqlite else "PostgreSQL"
    finding = "is no whole backup of any" if not (is_sqlite or is_postgresql) else "is a backup of the other kind"
    raise BackupRefused(reason=f"The database is {here}, and {source} {finding}. Nothing was changed.")


def _holds_something(database: Database) -> bool:
    try:
        with database.read() as session:
            there = set(inspect(session.connection()).get_table_names()) - FILLED_BY_MIGRATIONS - _TELLS_NOTHING
            names = {name for name in there if is_modelled(name, "table", {})}
            quote = session.connection().dialect.identifier_preparer.quote
            return any(session.scalar(text(f"SELECT 1 FROM {quote(name)} LIMIT 1")) for name in sorted(names))  # noqa: S608
    except DatabaseError:
        if database.is_sqlite:
            return True  # it cannot be read: then it held something
        raise


def _require_no_workers(database: Database) -> None:
    try:
        with database.read() as session:
            if not inspect(session.connection()).has_table("worker"):
                return
            there = [one.owner for one in workers.present(session)]
    except DatabaseError:
        if database.is_sqlite:
            return  # it cannot be read, and so it cannot be worked on
        raise
    if alive := sorted(set(there) - set(dead_among(there))):
        raise BackupRefused(
            reason=f"Workers are using the database, or were a minute ago: {', '.join(alive)}. Stop them first; "
            "nothing was changed."
        )


@contextmanager
def _rebuilt(url: URL, source: Path) -> Iterator[Database]:
    """Give the database that a backup holds, beside the one that it is for."""
    if url.get_backend_name() != "sqlite":
        postgresql.require_sound(source)
        _require_not_newer(postgresql.revision_in(source), source)
        postgresql.require_unused(url)
        with postgresql.rebuilt(url, source) as draft_url, _opened(draft_url) as draft:
            yield draft
        return
    with temporary(_file_of(url)) as path:
        sqlite.fetch(source, path)
        sqlite.require_sound(path)
        with _opened(URL.create("sqlite", database=str(path))) as draft:
            yield draft


@contextmanager
def _opened(url: URL) -> Iterator[Database]:
    database = Database(url.render_as_string(hide_password=False))
    try:
        yield database
    finally:
        database.dispose()


def _bring_up_to_date(draft: Database, source: Path) -> bool:
    """Migrate what is older. Raises BackupRefused if it is newer, or no Kelolo's."""
    _require_not_newer(revision_of(draft), source)
    migrated = not is_current(draft)
    upgrade(draft)
    with draft.write() as session:
        workers.forget_all(session)
    draft.dispose()
    return migrated


def _require_not_newer(revision: str | None, source: Path) -> None:
    if revision is None:
        raise BackupRefused(reason=f"{source} holds no database of Kelolo's. Nothing was changed.")
    if not is_known(revision):
        raise BackupRefused(
            reason=f"{source} comes from a newer Kelolo (its tables are at step {revision}). Use that version to "
            "restore it; nothing was changed."
        )


def _exchange(database: Database, draft: URL, *, clock: Clock) -> str:
    database.dispose()
    if not database.is_sqlite:
        return postgresql.exchange(database.url, draft, now=clock())
    with sqlite.alone_with(_file_of(draft)):
        pass  # all of it is in the one file now
    path = _file_of(database.url)
    with sqlite.alone_with(path):
        return str(sqlite.exchange(path, _file_of(draft), now=clock()))


def _discard(database: Database, kept: str) -> None:
    if database.is_sqlite:
        Path(kept).unlink()
    else:
        postgresql.drop(database.url, kept)


def _file_of(url: URL) -> Path:
    return Path(str(url.database)).absolute()
