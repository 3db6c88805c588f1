"""Courses come in from files: once, however often they are read; and anew when they change."""

import pytest
from sqlalchemy import func, select, update

from app.authoring import CodeExercise, CourseContent, LessonContent, Question
from app.db import Database
from app.errors import NotFound
from app.models import ExerciseVersion
from app.services.exercises.catalogue import current_version, import_course, lesson_of, list_lessons
from graders.task import Task
from tests.conftest import first_course

EXERCISE = "token-and-position-embeddings"


@pytest.fixture(scope="module")
def course() -> CourseContent:
    """Return the course that comes with Kelolo, with its first exercise only."""
    return first_course()


def with_exercises(course: CourseContent, *exercises: CodeExercise | Question) -> CourseContent:
    """Return the course with other exercises in its lesson."""
    (lesson,) = course.lessons
    return course.model_copy(update={"lessons": [lesson.model_copy(update={"exercises": list(exercises)})]})


def retitled(course: CourseContent, title: str) -> CourseContent:
    """Return the course with another title for its exercise."""
    return with_exercises(course, course.lessons[0].exercises[0].model_copy(update={"title": title}))


def versions(database: Database) -> int:
    """Return how many versions are stored."""
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(ExerciseVersion)) or 0


def test_imported_course_is_listed(database: Database, course: CourseContent) -> None:
    """Lessons stand there in order, with their text and their exercises."""
    with database.write() as session:
        summary = import_course(session, course)
    assert summary.new_versions == (EXERCISE,)
    with database.read() as session:
        (lesson,) = list_lessons(session)
        assert lesson_of(session, EXERCISE) == lesson
    assert (lesson.id, lesson.markdown) == (course.lessons[0].id, course.lessons[0].markdown)
    assert lesson.course_title == course.title
    assert [(one.id, one.version) for one in lesson.exercises] == [(EXERCISE, 1)]


def test_importing_twice_changes_nothing(database: Database, course: CourseContent) -> None:
    """Every start of the server imports; that makes no versions."""
    for expected in ((EXERCISE,), (), ()):
        with database.write() as session:
            assert import_course(session, course).new_versions == expected
    assert versions(database) == 1


def test_changed_exercise_gets_a_new_version(database: Database, course: CourseContent) -> None:
    """The old version stays, for what was submitted to it."""
    with database.write() as session:
        import_course(session, course)
        assert import_course(session, retitled(course, "Another title")).new_versions == (EXERCISE,)
    with database.read() as session:
        version = current_version(session, EXERCISE)
        assert (version.number, version.content["title"]) == (2, "Another title")
        assert list_lessons(session)[0].exercises[0].title == "Another title"
    assert versions(database) == 2


def test_exercise_changed_back_is_its_old_version(database: Database, course: CourseContent) -> None:
    """Undoing a change makes no third version."""
    with database.write() as session:
        for one in (course, retitled(course, "Another title"), course):
            import_course(session, one)
        assert current_version(session, EXERCISE).number == 1
    assert versions(database) == 2


def test_stored_task_is_what_the_exercise_says(database: Database, course: CourseContent) -> None:
    """A worker grades from the database alone."""
    with database.write() as session:
        import_course(session, course)
        stored = Task.from_json(current_version(session, EXERCISE).task)
    assert stored.to_json() == course.lessons[0].exercises[0].task(1).to_json()


def test_task_is_derived_anew_by_a_newer_kelolo(database: Database, course: CourseContent) -> None:
    """What an older version derived from the same content is replaced, without a new version."""
    with database.write() as session:
        import_course(session, course)
        session.execute(update(ExerciseVersion).values(task={"from": "an older version"}))
    with database.write() as session:
        assert import_course(session, course).new_versions == ()
        assert current_version(session, EXERCISE).task["exercise"] == EXERCISE


def test_exercise_taken_off_a_lesson_can_still_be_found(database: Database, course: CourseContent) -> None:
    """It is no longer listed, but what was submitted to it stays readable; it may come back."""
    with database.write() as session:
        import_course(session, course)
        import_course(session, with_exercises(course))
    with database.read() as session:
        assert list_lessons(session)[0].exercises == ()
        assert lesson_of(session, EXERCISE) is None
        assert current_version(session, EXERCISE).number == 1
    with database.write() as session:
        import_course(session, course)
        assert len(list_lessons(session)[0].exercises) == 1


def test_lesson_taken_off_a_course_is_not_listed(database: Database, course: CourseContent) -> None:
    """Another lesson in its place is."""
    other = LessonContent(id="other", title="Other", markdown="Text", exercises=[])
    with database.write() as session:
        import_course(session, course)
        import_course(session, course.model_copy(update={"lessons": [other]}))
    with database.read() as session:
        assert [lesson.id for lesson in list_lessons(session)] == ["other"]


def test_exercise_may_move_to_another_lesson(database: Database, course: CourseContent) -> None:
    """Wherever it stands now is where it is listed, and only there."""
    (lesson,) = course.lessons
    emptied = lesson.model_copy(update={"exercises": []})
    other = LessonContent(id="other", title="Other", markdown="Text", exercises=lesson.exercises)
    for lessons in ([emptied, other], [other, emptied], [lesson]):
        with database.write() as session:
            import_course(session, course.model_copy(update={"lessons": lessons}))
        with database.read() as session:
            found = {one.id: [exercise.id for exercise in one.exercises] for one in list_lessons(session)}
        assert found == {one.id: [exercise.id for exercise in one.exercises] for one in lessons}


def test_unknown_exercise_is_not_found(database: Database) -> None:
    """In an empty database as in any other."""
    with pytest.raises(NotFound), database.read() as session:
        current_version(session, EXERCISE)
