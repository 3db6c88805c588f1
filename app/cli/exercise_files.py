"""What commands about exercises need: an exercise's folder by its name, a student's file as text, and walls."""

from pathlib import Path

from app.errors import AppError, BadRequest, NotFound
from app.services.submissions.source_checks import checked_source
from graders.task import MAX_SOURCE_BYTES

EXERCISE_FILE = "exercise.yaml"


class WallsMissing(AppError):
    """This machine lacks a wall without which no student's code may run."""

    title = "This machine cannot run students' code safely"
    message = "A wall is missing on this machine, so nothing was run. {advice}"


def find_exercise(name: str, exercises: Path) -> Path:
    """
    Return the folder of an exercise.

    Args:
        name: a folder, an `exercise.yaml`, or an id.
        exercises: where ids are looked for.

    Raises:
        NotFound: there is none.
    """
    path = Path(name)
    if path.name == EXERCISE_FILE and path.is_file():
        return path.parent
    if (path / EXERCISE_FILE).is_file():
        return path
    for found in sorted(exercises.rglob(EXERCISE_FILE)):
        if found.parent.name == name:
            return found.parent
    raise NotFound(what="exercise", name=name)


def read_source(path: Path) -> str:
    """Return a student's file as text. Raises BadRequest, SourceTooLarge or SourceNotText."""
    if path.exists() and not path.is_file():
        raise BadRequest(reason=f"{path} is not a file.")
    try:
        with path.open("rb") as file:
            raw = file.read(4 * MAX_SOURCE_BYTES)
    except OSError as fault:
        raise BadRequest(reason=f"{path} cannot be read: {fault.strerror}.") from None
    try:
        return checked_source(raw.decode("utf-8"))
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise BadRequest(reason=f"{path} is not UTF-8 text (line {line}). Save it as UTF-8.") from None
