"""From arguments and environment to settings and a database that is ready."""

import argparse

from pydantic import ValidationError

from app import logs
from app.db import Database
from app.db.migrate import is_current
from app.errors import AppError
from app.settings import Settings

_FROM_ARGUMENTS = ("data", "host", "port", "workers", "unsafe")


class SettingRefused(AppError):
    """A setting has a value that it cannot have."""

    title = "That setting cannot be used"
    message = "{problems}"


class NotMigrated(AppError):
    """The database lacks tables that this version of Kelolo needs."""

    title = "The database is not up to date"
    message = "The database is not up to date. Run `kelolo migrate` first."


def settings_from(args: argparse.Namespace) -> Settings:
    """
    Build the settings; what was given as an argument goes before the environment.

    Raises:
        SettingRefused: with a line for each value that will not do.
    """
    given = {name: getattr(args, name, None) for name in _FROM_ARGUMENTS}
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        lines = [_line(str(one["loc"][0] if one["loc"] else one["type"]), one["msg"]) for one in error.errors()]
        raise SettingRefused(problems="\n".join(lines)) from None
    logs.configure(settings.log_format)  # until here nobody could know
    return settings


def open_database(args: argparse.Namespace) -> Database:
    """Return the database that the arguments mean. Raises NotMigrated, SettingRefused."""
    database = Database(settings_from(args).database_url)
    require_current(database)
    return database


def require_current(database: Database) -> None:
    """Raise NotMigrated if tables are missing."""
    if not is_current(database):
        raise NotMigrated


def _line(name: str, problem: str) -> str:
    # A rule about several settings stands at none of them: it has the name of the one to change.
    variable = f"KELOLO_{name.upper()}"
    return f"--{name} or {variable}: {problem}" if name in _FROM_ARGUMENTS else f"{variable}: {problem}"
