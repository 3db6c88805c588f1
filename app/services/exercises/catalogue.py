"""Courses, lessons and exercises: taking them in from files, and finding them."""

from dataclasses import dataclass

from sqlalchemy import JSON, ColumnElement, func, select, type_coerce, update
from sqlalchemy.orm import Session

from app import authoring
from app.errors import NotFound
from app.models import Course, Exercise, ExerciseKind, ExerciseVersion, Lesson
from app.services.exercises.passage_search import store_passages


@dataclass(frozen=True)
class ImportSummary:
    """What an import has done."""

    course: str
    lessons: int
    exercises: int
    new_versions: tuple[str, ...]
    """Ids of the exercises that got a new version; empty when nothing had changed."""


@dataclass(frozen=True)
class ExerciseView:
    """An exercise as a line of the contents."""

    id: str
    title: str
    kind: ExerciseKind
    version: int
    lesson_id: str


@dataclass(frozen=True)
class Current:
    """Which version of an exercise is to be done now, without what it says."""

    version_id: str
    kind: ExerciseKind
    number: int


@dataclass(frozen=True)
class LessonView:
    """A lesson with its exercises, in order."""

    id: str
    title: str
    markdown: str
    course_id: str
    course_title: str
    course_summary: str
    exercises: tuple[ExerciseView, ...]


def _said(key: str) -> ColumnElement[str]:
    """Select one text out of the content, which is large as a whole."""
    text: ColumnElement[str] = type_coerce(ExerciseVersion.content, JSON)[key].as_string()
    return text


CURRENT = (ExerciseVersion.id, _said("kind"), ExerciseVersion.number)
"""The columns of which `current_of` makes a value."""


def import_course(session: Session, course: authoring.CourseContent) -> ImportSummary:
    """
    Take in a course with its lessons and exercises. Doing so twice changes nothing.

    An exercise whose content has changed gets a new version, which becomes the current one;
    what was submitted to earlier versions stays with them. Lessons and exercises that the
    course no longer has are taken off the contents, and kept.
    """
    _store_course(session, course)
    session.execute(update(Lesson).where(Lesson.course_id == course.id).values(course_id=None))
    changed: list[str] = []
    for position, lesson in enumerate(course.lessons):
        _store_lesson(session, lesson, course_id=course.id, position=position)
        for position_in_lesson, exercise in enumerate(lesson.exercises):
            row = _exercise_row(session, exercise.id)
            row.lesson_id, row.position = lesson.id, position_in_lesson
            if _store_version(session, row, exercise):
                changed.append(exercise.id)
        store_passages(session, lesson)
    session.flush()
    return ImportSummary(
        course=course.id,
        lessons=len(course.lessons),
        exercises=sum(len(lesson.exercises) for lesson in course.lessons),
        new_versions=tuple(changed),
    )


def list_lessons(session: Session) -> list[LessonView]:
    """Return every lesson that a course has, in the order of courses and lessons."""
    rows = session.execute(
        select(Lesson, Course)
        .join(Course, Course.id == Lesson.course_id)
        .order_by(Course.position, Course.id, Lesson.position)
    ).all()
    listed = outline(session)
    return [_lesson_view(lesson, course, listed) for lesson, course in rows]


def lesson_of(session: Session, exercise_id: str, *, listed: list[ExerciseView] | None = None) -> LessonView | None:
    """Return the lesson of an exercise; None if no course has it any more. `listed`: the outline, if it is known."""
    found = session.execute(
        select(Lesson, Course)
        .join(Course, Course.id == Lesson.course_id)
        .join(Exercise, Exercise.lesson_id == Lesson.id)
        .where(Exercise.id == exercise_id)
    ).one_or_none()
    if found is None:
        return None
    lesson, course = found
    return _lesson_view(lesson, course, outline(session) if listed is None else listed)


def outline(session: Session) -> list[ExerciseView]:
    """Return every exercise that a lesson has, in the order of courses, lessons and exercises."""
    rows = session.execute(
        select(Exercise.id, _said("title"), _said("kind"), ExerciseVersion.number, Lesson.id)
        .join(ExerciseVersion, ExerciseVersion.id == Exercise.current_version_id)
        .join(Lesson, Lesson.id == Exercise.lesson_id)
        .join(Course, Course.id == Lesson.course_id)
        .order_by(Course.position, Course.id, Lesson.position, Exercise.position)
    )
    return [
        ExerciseView(id=name, title=title, kind=_kind(kind), version=number, lesson_id=lesson_id)
        for name, title, kind, number, lesson_id in rows
    ]


def current(session: Session, exercise_id: str) -> Current:
    """
    Return which version of an exercise is to be done now.

    Raises:
        NotFound: there is no such exercise.
    """
    found = session.execute(
        select(*CURRENT)
        .join(Exercise, Exercise.current_version_id == ExerciseVersion.id)
        .where(Exercise.id == exercise_id)
    ).one_or_none()
    if found is None:
        raise NotFound(what="exercise", name=exercise_id)
    return current_of(*found)


def current_of(version_id: str, kind: str | None, number: int) -> Current:
    """Make a value of the columns `CURRENT`."""
    return Current(version_id=version_id, kind=_kind(kind), number=number)


def current_version(session: Session, exercise_id: str) -> ExerciseVersion:
    """
    Return the version of an exercise that is to be done now, with all that it says.

    Raises:
        NotFound: there is no such exercise.
    """
    version = session.scalar(
        select(ExerciseVersion)
        .join(Exercise, Exercise.current_version_id == ExerciseVersion.id)
        .where(Exercise.id == exercise_id)
    )
    if version is None:
        raise NotFound(what="exercise", name=exercise_id)
    return version


def _store_course(session: Session, course: authoring.CourseContent) -> None:
    row = session.get(Course, course.id)
    if row is None:
        position = session.scalar(select(func.count()).select_from(Course)) or 0
        row = Course(id=course.id, position=position)
        session.add(row)
    row.title, row.summary = course.title, course.summary
    session.flush()


def _store_lesson(session: Session, lesson: authoring.LessonContent, *, course_id: str, position: int) -> None:
    row = session.get(Lesson, lesson.id, populate_existing=True)
    if row is None:
        row = Lesson(id=lesson.id)
        session.add(row)
    row.course_id, row.position = course_id, position
    row.title, row.markdown = lesson.title, lesson.markdown
    session.flush()
    session.execute(update(Exercise).where(Exercise.lesson_id == lesson.id).values(lesson_id=None))


def _exercise_row(session: Session, exercise_id: str) -> Exercise:
    row = session.get(Exercise, exercise_id, populate_existing=True)
    if row is None:
        row = Exercise(id=exercise_id, position=0)
        session.add(row)
    return row


def _store_version(session: Session, row: Exercise, exercise: authoring.CodeExercise | authoring.Question) -> bool:
    """Make the content current, and say whether this took a new version."""
    session.flush()
    fingerprint = exercise.fingerprint()
    of_exercise = select(ExerciseVersion).where(ExerciseVersion.exercise_id == row.id)
    version = session.scalar(of_exercise.where(ExerciseVersion.fingerprint == fingerprint))
    is_new = version is None
    if version is None:
        last = (
            session.scalar(select(func.max(ExerciseVersion.number)).where(ExerciseVersion.exercise_id == row.id)) or 0
        )
        version = ExerciseVersion(
            exercise_id=row.id, number=last + 1, fingerprint=fingerprint, content=exercise.content()
        )
        session.add(version)
    # Written anew each time: the content is the truth, and a newer Kelolo may derive more from it.
    version.task = exercise.task(version.number).to_json()
    session.flush()
    row.current_version_id = version.id
    return is_new


def _kind(said: str | None) -> ExerciseKind:
    return ExerciseKind(said) if said else ExerciseKind.CODE  # stored content leaves defaults out


def _lesson_view(lesson: Lesson, course: Course, listed: list[ExerciseView]) -> LessonView:
    return LessonView(
        id=lesson.id,
        title=lesson.title,
        markdown=lesson.markdown,
        course_id=course.id,
        course_title=course.title,
        course_summary=course.summary,
        exercises=tuple(one for one in listed if one.lesson_id == lesson.id),
    )
