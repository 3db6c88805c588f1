"""
A PostgreSQL database into one file and back, by PostgreSQL's own programs.

The password is handed to them in their environment, which only the same user can read, and never as an argument,
which everyone on the machine can.
"""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL

from app.clients.backups.errors import BackupRefused
from app.clients.backups.files import require_room

MAGIC = b"PGDMP"
MAINTENANCE = "postgres"
"""The database to be connected to while another is renamed; every server has it."""
_SAID_LINES = 5
_LOOKS = 10
_SIZE = """
SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_LIKE = "SELECT pg_encoding_to_char(encoding), datcollate, datctype FROM pg_database WHERE datname = %s"


def dump(url: URL, draft: Path) -> None:
    """
    Write a database, which may be in use, as it is at this moment. Raises BackupRefused.

    Args:
        url: where it is.
        draft: an empty file.
    """
    with _connected(url) as connection:
        require_room(draft.parent, _number(connection, _SIZE))
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--file={draft}", f"--dbname={_conninfo(url)}"]
    _run("pg_dump", options, url)
    require_sound(draft)


def require_sound(path: Path) -> None:
    """Read a file from end to end, as if it were to be put back. Raises BackupRefused if that cannot be done."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise BackupRefused(reason=f"{path} is not a backup of PostgreSQL. Nothing was changed.")
    _run("pg_restore", [f"--file={os.devnull}", str(path)])


def revision_in(path: Path) -> str | None:
    """Return the migration step that a backup stands at. Raises BackupRefused if it cannot be read."""
    text = _run("pg_restore", ["--data-only", "--table=alembic_version", "--file=-", str(path)])
    found = re.search(r"^COPY [^\n]{0,100}?alembic_version[^\n]{0,200}\n(\w+)$", text, flags=re.MULTILINE)
    return found[1] if found else None


def require_unused(url: URL) -> None:
    """Raise BackupRefused if anyone but us is connected."""
    with _connected(url) as connection:
        others = 0
        for _ in range(_LOOKS):
            others = _number(connection, _OTHERS)
            if not others:
                return
            connection.execute("SELECT pg_sleep(0.1)")  # one that was just closed is counted a moment longer
    raise BackupRefused(
        reason=f"The database is in use ({others} connections). Stop all servers and workers first; "
        "nothing was changed."
    )


@contextmanager
def rebuilt(url: URL, source: Path) -> Iterator[URL]:
    """
    Make a database from a backup beside the one at `url`; it is dropped at the end if it still has its first name.

    Raises:
        BackupRefused: it could not be made, most often because the role may not create databases.
    """
    draft = url.set(database=f"{url.database}_restoring_{secrets.token_hex(4)}")
    with _connected(url.set(database=MAINTENANCE)) as server:
        encoding, collate, ctype = server.execute(_LIKE, (url.database,)).fetchone() or ("UTF8", "C", "C")
        try:
            server.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}").format(
                    sql.Identifier(str(draft.database)), sql.Literal(encoding), sql.Literal(collate), sql.Literal(ctype)
                )
            )
        except psycopg.errors.InsufficientPrivilege:
            raise BackupRefused(
                reason=f"The role {url.username} may not create databases, and restoring needs a second one. "
                f'Give it the right for so long: ALTER ROLE "{url.username}" CREATEDB. Nothing was changed.'
            ) from None
    try:
        options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
        _run("pg_restore", [*options, f"--dbname={_conninfo(draft)}", str(source)], draft)
        yield draft
    finally:
        with _connected(url.set(database=MAINTENANCE)) as server:
            # nothing to drop where it has got the old one's name
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(str(draft.database))))


def exchange(url: URL, draft: URL, *, now: datetime) -> str:
    """
    Give a rebuilt database the name of the old one, and the old one another, both or neither.

    Returns:
        The name under which the old one is kept.

    Raises:
        BackupRefused: somebody has connected meanwhile.
    """
    kept = f"{url.database}_before_{now:%Y%m%d_%H%M%S_%f}"
    with _connected(url.set(database=MAINTENANCE)) as server, _in_use_is_told(), server.transaction():
        for old, new in ((url.database, kept), (draft.database, url.database)):
            server.execute(
                sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(str(old)), sql.Identifier(str(new)))
            )
    return kept


def drop(url: URL, name: str) -> None:
    """Remove a database of the same server."""
    with _connected(url.set(database=MAINTENANCE)) as server:
        server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


@contextmanager
def _in_use_is_told() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.ObjectInUse:
        raise BackupRefused(
            reason="Somebody has connected to the database meanwhile. Stop all servers and workers first; "
            "nothing was changed."
        ) from None


@contextmanager
def _connected(url: URL) -> Iterator[psycopg.Connection]:
    try:
        connection = psycopg.connect(_conninfo(url), password=_password(url), autocommit=True)
    except psycopg.OperationalError as fault:
        raise BackupRefused(reason=f"The database cannot be used: {str(fault).strip()}") from None
    with connection:
        yield connection


def _number(connection: psycopg.Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    return int(row[0]) if row else 0


def _conninfo(url: URL) -> str:
    """Return where a database is, as PostgreSQL's programs take it, without the password."""
    parameters = {"user": url.username, "host": url.host, "port": url.port, "dbname": url.database}
    given: dict[str, Any] = {name: value for name, value in parameters.items() if value is not None}
    return make_conninfo(**given | {name: value for name, value in url.query.items() if name != "password"})


def _password(url: URL) -> str | None:
    hidden = url.query.get("password")
    return url.password or (hidden if isinstance(hidden, str) else None)


def _run(program: str, options: Sequence[str], url: URL | None = None) -> str:
    """Run one of PostgreSQL's programs, and return what it prints. Raises BackupRefused."""
    found = shutil.which(program)
    if found is None:
        raise BackupRefused(reason=f"{program} is not on the PATH. On Debian and Ubuntu, postgresql-client brings it.")
    password = _password(url) if url is not None else None
    secret = {"PGPASSWORD": password} if password else {}
    ended = subprocess.run(
        [found, *options], env=os.environ | secret, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-_SAID_LINES:]
        raise BackupRefused(reason=f"{program} has failed, and nothing was changed. It says: {' '.join(said)}")
    return ended.stdout.decode("utf-8", "replace")
