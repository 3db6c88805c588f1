"""From files to a CodeExercise or a CourseContent, with every fault told at its place."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.authoring.course import CourseContent, CourseFile, LessonContent, LessonEntry
from app.authoring.document import Document, SourceLocation, read_document
from app.authoring.exercise import CodeExercise
from app.authoring.faults import ExerciseFaults, FileFault
from app.authoring.files import CourseFiles, FileRefused
from app.authoring.question import Question
from app.authoring.self_test.consistency import check_consistency

EXERCISE_FILE, COURSE_FILE, LESSON_FILE = "exercise.yaml", "course.yaml", "lesson.md"
_Model = TypeVar("_Model", bound=BaseModel)


def load_exercise(folder: Path, files: CourseFiles | None = None) -> CodeExercise | Question:
    """
    Read one exercise.

    Args:
        folder: holds `exercise.yaml`.
        files: of the course that it belongs to; those of its folder if it is read by itself.

    Raises:
        ExerciseFaults: everything that is wrong, each with file, line and column.
    """
    document = read_document(folder / EXERCISE_FILE, files)
    if document.value.get("kind") == "question":
        return _validated(document, Question)
    exercise = _validated(document, CodeExercise)
    check_consistency(document, exercise)
    document.refuse_faults()
    return exercise


def load_code_exercise(folder: Path) -> CodeExercise:
    """Read an exercise that is solved by writing code. Raises ExerciseFaults, also for a question."""
    exercise = load_exercise(folder)
    if isinstance(exercise, Question):
        fault = FileFault(str(folder / EXERCISE_FILE), 1, 1, "This is a question; code was expected.")
        raise ExerciseFaults([fault])
    return exercise


def stored_exercise(content: dict[str, object]) -> CodeExercise | Question:
    """An exercise from its stored content. Raises pydantic's ValidationError if it is not one."""
    model = Question if content.get("kind") == "question" else CodeExercise
    return model.model_validate(content)


def load_course(folder: Path, files: CourseFiles | None = None) -> CourseContent:
    """
    Read a course with its lessons and exercises. Raises ExerciseFaults with those of all its files.

    Args:
        folder: holds `course.yaml`, a folder for each lesson with `lesson.md`, and in that one for each exercise.
        files: of the folder of courses that it was found in; those of its own folder if it was named.
    """
    files = files or CourseFiles(folder)
    document = read_document(folder / COURSE_FILE, files)
    parts = _validated(document, CourseFile)
    faults: list[FileFault] = []
    lessons = [_lesson(folder / one.id, one, files=files, faults=faults) for one in parts.lessons]
    seen: set[str] = set()
    for exercise in (exercise for lesson in lessons for exercise in lesson.exercises):
        if exercise.id in seen:
            faults.append(FileFault(str(document.path), 1, 1, f"The exercise id `{exercise.id}` is used twice."))
        seen.add(exercise.id)
    if faults:
        raise ExerciseFaults(faults)
    return CourseContent(id=parts.id, title=parts.title, summary=parts.summary, lessons=lessons)


def _lesson(folder: Path, entry: LessonEntry, *, files: CourseFiles, faults: list[FileFault]) -> LessonContent:
    text = folder / LESSON_FILE
    try:
        markdown = files.read(text)
    except FileRefused as fault:
        message = f"There must be a lesson here, as UTF-8 text; this file {fault.reason}."
        faults.append(FileFault(str(text), fault.line, 1, message))
        markdown = ""
    found = []
    for name in entry.exercises:
        try:
            found.append(load_exercise(folder / name, files))
        except ExerciseFaults as wrong:
            faults.extend(wrong.faults)
    return LessonContent(id=folder.name, title=entry.title, markdown=markdown, exercises=found)


def _validated(document: Document, model: type[_Model]) -> _Model:
    try:
        return model.model_validate(document.value)
    except ValidationError as wrong:
        for error in wrong.errors(include_url=False):
            document.fault(_location(document, error["loc"]), _sentence(error, document.value))
        document.refuse_faults()
        raise


def _location(document: Document, loc: tuple[str | int, ...]) -> SourceLocation:
    """The place of a pydantic fault; names of union members are no keys of the file."""
    location: SourceLocation = ()
    for part in loc:
        if (*location, part) in document.locations:
            location = (*location, part)
    return location


def _sentence(error: Any, value: Any) -> str:  # noqa: ANN401  pydantic's own mapping; any content of a file
    name = _named(error["loc"], value)
    match error["type"]:
        case "extra_forbidden":
            return f"`{name}` is not a key that is known here."
        case "missing":
            return f"`{name}` is missing."
        case _:
            return f"`{name}`: {error['msg'].removeprefix('Value error, ')}."


def _named(loc: tuple[str | int, ...], value: Any) -> str:  # noqa: ANN401  any content of a file
    """A place in words, such as `checks.probabilities.given`: parts of a list by their id, tag or name."""
    words = []
    for part in loc:
        value = value[part] if _is_in(part, value) else value
        names = [value.get(key) for key in ("id", "tag", "name")] if isinstance(value, dict) else []
        own = next((one for one in names if isinstance(one, str)), None)
        words.append(own if own and isinstance(part, int) else str(part))
    return ".".join(words)


def _is_in(part: str | int, value: Any) -> bool:  # noqa: ANN401  any content of a file
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)
