"""The steps lead from nothing to the models' tables and back, on both kinds of database."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, make_url, text

from app.db import Database
from app.db.migrate import downgrade, is_current, is_modelled, upgrade
from app.models import Base


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
    """Return the names of all tables, apart from those in which SQLite keeps its index of words."""
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
        context = MigrationContext.configure(
            session.connection(), opts={"compare_type": True, "include_name": is_modelled}
        )
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
