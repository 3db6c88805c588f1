"""An SQLite database into one file and back."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from app.clients.backups.errors import BackupRefused
from app.clients.backups.files import flush, require_room

MAGIC = b"SQLite format 3\0"
BUSY_S = 10.0
_FAULTS_SHOWN = 3


def dump(database: Path, draft: Path) -> None:
    """
    Copy a database, which may be in use, as it is at this moment: what was committed is in the copy, and nothing else.

    Args:
        database: read in one transaction, which with the write-ahead log stops no writer.
        draft: an empty file.

    Raises:
        BackupRefused: no room, or what was read is not sound.
    """
    with closing(sqlite3.connect(database, timeout=BUSY_S, isolation_level=None)) as connection:
        pages, page_bytes = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        require_room(draft.parent, pages * page_bytes)
        try:
            connection.execute("VACUUM INTO ?", (str(draft),))
        except sqlite3.DatabaseError as fault:
            raise BackupRefused(reason=f"The database could not be copied: {fault}. No backup was written.") from None
    require_sound(draft)


def require_sound(path: Path) -> None:
    """Look at every page and every reference of a file. Raises BackupRefused if anything is not as it must be."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise _broken(path, "it does not begin as one")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            lost = [f"{row[0]} refers to a {row[2]} that is not there" for row in connection.execute(_FOREIGN_KEYS)]
    except sqlite3.DatabaseError as fault:
        raise _broken(path, str(fault)) from None
    faults = [one for one in said if one != "ok"] + lost
    if faults:
        raise _broken(path, "; ".join(faults[:_FAULTS_SHOWN]))


def fetch(source: Path, draft: Path) -> None:
    """Copy a backup to where it is to be used. Raises BackupRefused if there is no room."""
    require_room(draft.parent, source.stat().st_size)
    shutil.copyfile(source, draft)
    draft.chmod(0o600)


@contextmanager
def alone_with(database: Path) -> Iterator[None]:
    """
    Hold a database that nobody else has open, with all that was written in its one file.

    Only who is alone can turn the write-ahead log off. Raises BackupRefused.
    """
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as fault:
            if fault.sqlite_errorcode & _PRIMARY in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise BackupRefused(
                    reason="A server or a worker is using the database. Stop it first; nothing was changed."
                ) from None
            # Anything else: it is broken, which is when a backup is wanted most.
        yield


def exchange(database: Path, draft: Path, *, now: datetime) -> Path:
    """
    Put a finished file in a database's place, in one step, and keep the old one beside it.

    Returns:
        Where the old one is.
    """
    kept = database.with_name(f"{database.name}.before-{now:%Y%m%d-%H%M%S-%f}")
    try:
        kept.hardlink_to(database)
    except OSError:  # a file system without links
        require_room(database.parent, database.stat().st_size)
        shutil.copyfile(database, kept)
        flush(kept)
    kept.chmod(0o600)
    flush(draft)
    draft.replace(database)
    flush(database.parent)
    return kept


_FOREIGN_KEYS = "PRAGMA foreign_key_check"
_PRIMARY = 0xFF  # of SQLite's result codes; the rest says more of the same


def _broken(path: Path, why: str) -> BackupRefused:
    return BackupRefused(reason=f"{path} is not a whole SQLite database ({why}). Nothing was changed.")
