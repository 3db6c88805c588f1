"""Sections of lessons are kept at import, and found by the words of a question, on both kinds of database."""

import pytest
from sqlalchemy import func, select, update

from app.authoring import CourseContent
from app.clients.tutor.port import Passage
from app.db import Database
from app.models import PassageRow
from app.services.exercises.catalogue import import_course
from app.services.exercises.passage_search import search_passages, store_passages
from tests.conftest import first_course

EXERCISE = "token-and-position-embeddings"
PAGE = f"/exercises/{EXERCISE}"


@pytest.fixture(scope="module")
def course() -> CourseContent:
    """Return the course that comes with Kelolo, with its first exercise only."""
    return first_course()


@pytest.fixture
def stored(database: Database, course: CourseContent) -> Database:
    """Give a database with the course in it."""
    with database.write() as session:
        import_course(session, course)
    return database


def found(database: Database, question: str, *, exercise_id: str = EXERCISE, limit: int = 4) -> list[Passage]:
    """Return what a question finds."""
    with database.read() as session:
        return search_passages(session, exercise_id=exercise_id, question=question, limit=limit)


def rewritten(course: CourseContent, markdown: str) -> CourseContent:
    """Return the course with another text for its lesson."""
    (lesson,) = course.lessons
    return course.model_copy(update={"lessons": [lesson.model_copy(update={"markdown": markdown})]})


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("Where does a character stand?", "where-does-a-character-stand"),
        ("what is broadcasting", "where-does-a-character-stand"),
        ("how many names are in the data", "the-data-here"),
        ("does an id give the same rows of the table", "a-table-of-rows"),
        ("what does `n_embd` mean in the task", "task-title"),
    ],
)
def test_question_finds_its_section(stored: Database, question: str, anchor: str) -> None:
    """The best comes first, with the address under which the page shows it."""
    assert found(stored, question)[0].address == f"{PAGE}#{anchor}"


def test_words_are_found_in_other_forms(stored: Database) -> None:
    """Who asks about learning finds what learns."""
    assert {one.title for one in found(stored, "broadcasts")} == {one.title for one in found(stored, "broadcasting")}
    assert found(stored, "broadcasts")


def test_word_in_a_heading_counts_more(database: Database, course: CourseContent) -> None:
    """A section about something comes before one that mentions it."""
    with database.write() as session:
        import_course(
            session, rewritten(course, "## Apples\n\nA pear and a pear.\n\n## A pear\n\nRound, green, sweet.")
        )
    assert [one.title for one in found(database, "pears")] == ["A pear", "Apples"]


def test_only_so_many_are_given(stored: Database) -> None:
    """The limit holds, and none is none."""
    assert len(found(stored, "row table position character", limit=2)) == 2
    assert found(stored, "row table position character", limit=0) == []


@pytest.mark.parametrize(
    "question",
    [
        "",
        "???",
        "what is the",
        "\"unclosed AND (NOT *^ 'row\\",
        "title:row OR text:* NEAR(row, 2) -row ^row {row} row:row",
        "row' | !table & <-> '); DROP TABLE passage; --",
        "nul \x00 in \x00row",
        "\ud800 half an emoji",
        "🙂🙂🙂",
        "列 ряд шок ﷽ ª ² _ __ ___",
        "row " * 2_500,
        "x" * 10_000,
        "%s %(row)s :row ? {0}",
    ],
)
def test_no_question_is_an_error(stored: Database, question: str) -> None:
    """Whatever is typed is looked for as words, or finds nothing."""
    assert isinstance(found(stored, question), list)


def test_other_lessons_stay_out(stored: Database) -> None:
    """An exercise that no lesson has finds nothing."""
    assert found(stored, "row", exercise_id="no-such-exercise") == []


def test_changed_text_is_found_and_the_old_one_is_gone(stored: Database, course: CourseContent) -> None:
    """A new import leaves the search in step with the lessons."""
    with stored.write() as session:
        import_course(session, rewritten(course, "## Zebras\n\nStriped."))
    assert [one.title for one in found(stored, "zebra")] == ["Zebras"]
    assert [one for one in found(stored, "broadcasting kelolo newline") if one.title != "Your task"] == []


def test_changed_row_is_found_by_its_new_words(stored: Database) -> None:
    """The search follows a row that is changed in its place, too."""
    with stored.write() as session:
        session.execute(update(PassageRow).where(PassageRow.anchor == "the-data-here").values(text="Okapi."))
    assert [one.text for one in found(stored, "okapis")] == ["Okapi."]


def test_importing_again_writes_nothing(stored: Database, course: CourseContent) -> None:
    """Rows stay the same ones: every start imports."""
    with stored.read() as session:
        before = session.scalars(select(PassageRow.id).order_by(PassageRow.id)).all()
    with stored.write() as session:
        import_course(session, course)
        assert session.scalars(select(PassageRow.id).order_by(PassageRow.id)).all() == before


def test_exercise_that_moves_takes_its_task_along(stored: Database, course: CourseContent) -> None:
    """Its task is there once, in the lesson it now belongs to."""
    (lesson,) = course.lessons
    with stored.write() as session:
        import_course(
            session,
            course.model_copy(
                update={"lessons": [lesson.model_copy(update={"id": "elsewhere", "title": "Elsewhere"})]}
            ),
        )
        store_passages(session, lesson.model_copy(update={"exercises": []}))
        counted = select(func.count()).select_from(PassageRow).where(PassageRow.exercise_id == EXERCISE)
        assert session.scalar(counted) == 1
