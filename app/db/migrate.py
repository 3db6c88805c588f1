"""Bringing a database to the newest tables, or back. The steps stand in `migrations/`."""

from collections.abc import MutableMapping
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.db.database import Database
from app.settings import ROOT


def upgrade(database: Database, revision: str = "head") -> None:
    """Apply every step that is missing, all or none. Harmless when there is none."""
    with database.write() as session:
        command.upgrade(_config(session.connection()), revision)


def downgrade(database: Database, revision: str) -> None:
    """Undo every step behind `revision` ("base" undoes all), and with it what those tables held."""
    with database.write() as session:
        command.downgrade(_config(session.connection()), revision)


def _config(connection: object) -> Config:
    config = Config(toml_file=ROOT / "pyproject.toml")
    config.attributes["connection"] = connection
    return config


def is_current(database: Database) -> bool:
    """Say whether no step is missing."""
    script = ScriptDirectory.from_config(_config(None))
    with database.read() as session:
        context = MigrationContext.configure(session.connection())
        return set(context.get_current_heads()) == set(script.get_heads())


def revision_of(database: Database) -> str | None:
    """Return the step that a database stands at; None where none was applied."""
    with database.read() as session:
        return MigrationContext.configure(session.connection()).get_current_revision()


def is_known(revision: str) -> bool:
    """Say whether a step is one of those in `migrations/`, and not of a newer Kelolo."""
    script = ScriptDirectory.from_config(_config(None))
    return any(step.revision == revision for step in script.walk_revisions())


def is_modelled(name: str | None, kind: str, parents: MutableMapping[Any, str | None]) -> bool:
    """
    Say whether the models are to know of something in the database.

    Procrastinate's tables are its own.
    What only serves the full-text search is different in each kind of database, so it stands in the steps alone:
    in SQLite a table of its own with the tables behind it, in PostgreSQL a column that is worked out, and its index.
    """
    if kind == "table":
        return not str(name).startswith(("passage_search", "procrastinate_"))
    return parents.get("table_name") != "passage" or name not in {"words", "ix_passage_words"}
