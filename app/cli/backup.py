"""`kelolo backup` and `kelolo restore`: all that lasts, in one file."""

import argparse
import sys
from pathlib import Path

from sqlalchemy import make_url

from app.cli.configuration import settings_from
from app.clients.backups import BackupRefused
from app.db import Database
from app.services import backups

_MIB = 1024 * 1024


def describe(parser: argparse.ArgumentParser, command: str) -> None:
    """Say what one of the commands takes."""
    restores = command == "restore"
    forced = "even if the database holds something; it is kept beside" if restores else "replace a file that is there"
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--force", action="store_true", help=forced)
    parser.set_defaults(handler=put_back if restores else write_backup)


def write_backup(args: argparse.Namespace) -> int:
    """Write it and say how large it is."""
    url = settings_from(args).database_url
    _require_file(url)
    size_bytes = backups.backup(Database(url), args.file.absolute(), force=args.force)
    print(f"{args.file}: {size_bytes / _MIB:.1f} MiB, checked. Its SHA-256 is beside it.")
    return 0


def put_back(args: argparse.Namespace) -> int:
    """Put it back and say where the old one is."""
    database = Database(settings_from(args).database_url)
    try:
        done = backups.restore(database, args.file.absolute(), force=args.force)
    finally:
        database.dispose()
    if not done.compared:
        sys.stderr.write(f"There is no {args.file.name}.sha256 beside {args.file}, so its sum was not compared.\n")
    print(f"The database is what it was in {args.file}{', brought up to date' if done.migrated else ''}.")
    if done.kept:
        print(f"The one before is kept as {done.kept}.")
    return 0


def _require_file(url: str) -> None:
    """Refuse a database that is not there, which opening would make. Raises BackupRefused."""
    place = make_url(url)
    if place.get_backend_name() == "sqlite" and not Path(str(place.database)).is_file():
        raise BackupRefused(reason=f"There is no database at {place.database}. Say where it is with --data DIR.")
