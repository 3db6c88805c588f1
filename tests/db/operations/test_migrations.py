"""The steps lead from nothing to the models' tables and back, on both kinds of database."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from procrastinate.schema import SchemaManager
from sqlalchemy import create_engine, inspect, make_url, text

from app.db import Database
from app.db.migrate import downgrade, is_current, is_modelled, upgrade
from app.models import Base
from app.services.grading.procrastinate_queue import ProcrastinateQueue
from app.settings import ROOT


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Give a database with nothing in it."""
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
        yield database
        database.dispose()
        return
    server = make_url(request.getfixturevalue("postgresql_server")).set(drivername="postgresql+psycopg")
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE empty"))
        database = Database(server.set(database="empty").render_as_string(hide_password=False))
        yield database
        database.dispose()
        connection.execute(text("DROP DATABASE empty WITH (FORCE)"))
    engine.dispose()


def tables(database: Database) -> set[str]:
    """Return the names of all tables of which the models know."""
    with database.read() as session:
        names = inspect(session.connection()).get_table_names()
    return {name for name in names if is_modelled(name, "table", {})}


def test_steps_lead_up_and_down_and_up_again(empty: Database) -> None:
    """Going back leaves nothing behind that would be in the way of going forward."""
    upgrade(empty)
    assert tables(empty) == {*Base.metadata.tables, "alembic_version"}
    downgrade(empty, "base")
    with empty.read() as session:
        assert inspect(session.connection()).get_table_names() == ["alembic_version"]
    upgrade(empty)
    assert tables(empty) == {*Base.metadata.tables, "alembic_version"}


def test_steps_end_at_what_the_models_say(empty: Database) -> None:
    """No column, key or index is in the one and not in the other."""
    upgrade(empty)
    with empty.write() as session:
        wishes = {"compare_type": True, "include_name": is_modelled}
        context = MigrationContext.configure(session.connection(), opts=wishes)
        assert compare_metadata(context, Base.metadata) == []


def test_database_knows_whether_it_is_up_to_date(empty: Database) -> None:
    """A server can refuse to start on tables that are too old."""
    assert not is_current(empty)
    upgrade(empty)
    assert is_current(empty)


MIGRATE = "import sys; from app.db.migrate import *; upgrade(Database(sys.argv[1]))"


def test_two_servers_may_migrate_at_once(empty: Database) -> None:
    """The second waits for the first, and finds nothing to do."""
    url = empty.url.render_as_string(hide_password=False)
    servers = [subprocess.Popen([sys.executable, "-c", MIGRATE, url]) for _ in range(3)]
    assert [server.wait(60) for server in servers] == [0, 0, 0]
    assert is_current(empty)


SCHEMA = ROOT / "migrations" / "procrastinate-3.10.sql"


def test_procrastinate_has_the_tables_of_its_own_version() -> None:
    """When procrastinate is updated and this fails, its own steps between the two versions belong in a step of ours."""
    ours = SCHEMA.read_text(encoding="utf-8").splitlines()
    assert ours[1:] == SchemaManager.get_schema().splitlines()[1:]


PROCRASTINATE_STEP = "c4e7a9d13b58"
A_JOB = """
INSERT INTO account (id, email, role, created_at) VALUES ('a', 'a@example.org', 'student', now());
INSERT INTO exercise (id, position) VALUES ('e', 0);
INSERT INTO exercise_version (id, exercise_id, number, fingerprint, content, task, created_at)
    VALUES ('v', 'e', 1, '0', '{}', '{}', now());
INSERT INTO submission (id, account_id, exercise_version_id, kind, source, created_at)
    VALUES ('s', 'a', 'v', 'check', '1', now());
INSERT INTO job (submission_id, kind, priority, state, attempts, lease_owner, lease_token, enqueued_at)
    VALUES ('s', 'live', 0, 'running', 1, 'old/0:1:1', '0', now());
"""


@pytest.mark.parametrize("empty", ["postgresql"], indirect=True)
def test_waiting_jobs_are_handed_to_procrastinate(empty: Database) -> None:
    """Whoever had pressed Check before the update gets a verdict after it; and going back loses nothing either."""
    before = ScriptDirectory(str(ROOT / "migrations")).get_revision(PROCRASTINATE_STEP).down_revision
    assert isinstance(before, str)
    upgrade(empty, before)
    with empty.write() as session:
        for statement in A_JOB.split(";")[:-1]:
            session.execute(text(statement))
    upgrade(empty, PROCRASTINATE_STEP)
    upgrade(empty)  # what hands out jobs knows the newest tables only
    with empty.write() as session:
        lease = ProcrastinateQueue().claim(session, owner="new/0:1:1")
    assert lease is not None
    assert (lease.submission_id, lease.tries) == ("s", 2)
    downgrade(empty, before)
    with empty.read() as session:
        assert session.scalar(text("SELECT count(*) FROM job")) == 1


FAIR_STEP = "a3f5d80c17e2"
WAITING = """
INSERT INTO account (id, role, created_at) VALUES ('g', 'guest', '2026-11-30 00:00:00');
INSERT INTO exercise (id, position) VALUES ('e', 0);
INSERT INTO exercise_version (id, exercise_id, number, fingerprint, content, task, created_at)
    VALUES ('v', 'e', 1, '0', '{}', '{}', '2026-11-30 00:00:00');
INSERT INTO submission (id, account_id, exercise_version_id, kind, source, created_at)
    VALUES ('s', 'g', 'v', 'check', '1', '2026-11-30 00:00:00');
INSERT INTO job (submission_id, kind, priority, state, attempts, enqueued_at)
    VALUES ('s', 'live', 3, 'queued', 0, '2026-11-30 00:00:00');
"""


def test_what_waits_is_in_a_network_of_its_own_after_the_update(empty: Database) -> None:
    """Whose network was not kept counts as one alone, a guest's as a guest's; and going back keeps the place."""
    before = ScriptDirectory(str(ROOT / "migrations")).get_revision(FAIR_STEP).down_revision
    assert isinstance(before, str)
    upgrade(empty, before)
    with empty.write() as session:
        for statement in WAITING.split(";")[:-1]:
            session.execute(text(statement))
    upgrade(empty, FAIR_STEP)
    with empty.read() as session:
        assert session.execute(text("SELECT network, is_guest, priority FROM job")).one() == ("g", True, 3)
    downgrade(empty, before)
    with empty.read() as session:
        assert session.scalar(text("SELECT priority FROM job")) == 3
