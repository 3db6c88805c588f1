"""`kelolo migrate` and `kelolo import`: what the database must hold before anyone comes."""

import argparse
from pathlib import Path

from app import authoring
from app.cli.configuration import open_database, settings_from
from app.db import Database
from app.db.migrate import upgrade
from app.errors import AppError
from app.services.exercises import catalogue
from app.services.exercises.catalogue import ImportSummary

COURSE_FILE = "course.yaml"


class NoCourses(AppError):
    """A folder was named in which there is no course."""

    title = "There is no course"
    message = "There is no course in {folder}: neither it nor a folder in it has a " + COURSE_FILE + "."


def describe(parser: argparse.ArgumentParser, command: str) -> None:
    """Say what one of the commands takes."""
    if command == "migrate":
        parser.set_defaults(handler=migrate_database)
        return
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.set_defaults(handler=import_folder)


def migrate_database(args: argparse.Namespace) -> int:
    """Apply the missing steps."""
    upgrade(Database(settings_from(args).database_url))
    print("The database is up to date.")
    return 0


def import_folder(args: argparse.Namespace) -> int:
    """Import what is there, and say what was new."""
    for summary in import_courses(open_database(args), args.folder):
        print(described(summary))
    return 0


def import_courses(database: Database, folder: Path) -> list[ImportSummary]:
    """
    Import every course of a folder, all or none.

    Raises:
        NoCourses: there is none.
        ExerciseFaults: a file of a course cannot be read; names each fault and its place.
    """
    folders = [folder] if (folder / COURSE_FILE).is_file() else _course_folders(folder)
    if not folders:
        raise NoCourses(folder=folder)
    files = [authoring.CourseFiles(folder) for _ in folders]  # each course is bounded by itself
    courses = [authoring.load_course(*one) for one in zip(folders, files, strict=True)]
    with database.write() as session:
        return [catalogue.import_course(session, course) for course in courses]


def described(summary: ImportSummary) -> str:
    """Say in a line what an import has done."""
    news = f"new versions of {', '.join(summary.new_versions)}" if summary.new_versions else "nothing new"
    return f"Course {summary.course}: lessons: {summary.lessons}, exercises: {summary.exercises}; {news}."


def _course_folders(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob(f"*/{COURSE_FILE}"))
