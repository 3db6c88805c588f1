"""Sections of lessons and tasks: keeping them, and finding those that fit a question."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from sqlalchemy import ColumnElement, Select, column, delete, func, literal_column, or_, select, table
from sqlalchemy.orm import Session

from app import authoring
from app.clients.tutor.port import Passage
from app.models import Exercise, PassageRow
from app.services.exercises.headings import sections
from app.services.exercises.stop_words import STOP_WORDS

TASK_TITLE = "Your task"
TASK_ANCHOR = "task-title"  # of the heading above the task, on every exercise's page

_QUESTION_CHARS = 2_000
_MOST_WORDS = 40
_WORD = re.compile(r"\w{1,40}")
_TITLE_COUNTS = 4.0  # as much as a word in the text


@dataclass(frozen=True)
class _StoredPassage:
    """A section and its anchor; what a row is made of."""

    exercise_id: str | None
    title: str
    anchor: str
    text: str


def store_passages(session: Session, lesson: authoring.LessonContent) -> None:
    """Keep the sections of a lesson and the tasks of its exercises, in place of those kept before."""
    wanted = _passages_of(lesson)
    kept = session.execute(
        select(PassageRow.exercise_id, PassageRow.title, PassageRow.anchor, PassageRow.text)
        .where(PassageRow.lesson_id == lesson.id)
        .order_by(PassageRow.position)
    )
    if [_StoredPassage(*row) for row in kept] == wanted:
        return  # as at nearly every start
    moved = [one.id for one in lesson.exercises]
    session.execute(delete(PassageRow).where(or_(PassageRow.lesson_id == lesson.id, PassageRow.exercise_id.in_(moved))))
    session.add_all(
        PassageRow(
            lesson_id=lesson.id,
            exercise_id=one.exercise_id,
            position=position,
            title=one.title,
            anchor=one.anchor,
            text=one.text,
        )
        for position, one in enumerate(wanted)
    )
    session.flush()


def search_passages(session: Session, *, exercise_id: str, question: str, limit: int = 4) -> list[Passage]:
    """
    Return the sections that fit a question best, the best first.

    Looked through are the lesson that the exercise belongs to and the exercise's own task. The question may be any
    text at all: only its words count, and one that has none finds nothing.
    """
    words = searchable(question)
    if not words or limit < 1:
        return []
    match = _match_sqlite(words) if session.get_bind().dialect.name == "sqlite" else _match_postgresql(words)
    found = session.execute(
        match.join(Exercise, Exercise.lesson_id == PassageRow.lesson_id)
        .where(Exercise.id == exercise_id, or_(PassageRow.exercise_id.is_(None), PassageRow.exercise_id == exercise_id))
        .limit(limit)
    )
    return [Passage(title=row.title, text=row.text, address=_address(exercise_id, row.anchor)) for row in found]


def searchable(question: str) -> list[str]:
    """Return the words of a question that are worth looking for, each once. Operators and quotes are no words."""
    words = dict.fromkeys(_WORD.findall(question[:_QUESTION_CHARS].lower()))
    return [word for word in words if word not in STOP_WORDS and word.strip("_")][:_MOST_WORDS]


def _passages_of(lesson: authoring.LessonContent) -> list[_StoredPassage]:
    of_text = [
        _StoredPassage(None, one.title or lesson.title, one.anchor, one.text) for one in sections(lesson.markdown)
    ]
    return of_text + [_StoredPassage(one.id, TASK_TITLE, TASK_ANCHOR, one.statement) for one in lesson.exercises]


def _match_sqlite(words: list[str]) -> Select[str, str, str]:
    search = table("passage_search", column("rowid"))
    # Each word in quotes: FTS5 then reads it as text, whatever it would mean in a query.
    query = " OR ".join(f'"{word}"' for word in words)
    rank: ColumnElement[float] = func.bm25(literal_column("passage_search"), _TITLE_COUNTS, 1.0)  # smaller is better
    return (
        _columns()
        .join(search, search.c.rowid == PassageRow.id)
        .where(literal_column("passage_search").op("MATCH")(query))
        .order_by(rank, PassageRow.position)
    )


def _match_postgresql(words: list[str]) -> Select[str, str, str]:
    known: ColumnElement[str] = literal_column("passage.words")
    query = func.to_tsquery(literal_column("'english'::regconfig"), " | ".join(f"'{word}'" for word in words))
    weights: ColumnElement[str] = literal_column(
        f"'{{{1 / _TITLE_COUNTS}, 0, 0, 1}}'::float4[]"
    )  # of D, C, B and A; none above 1
    long_texts_count_less = 1
    rank: ColumnElement[float] = func.ts_rank_cd(weights, known, query, long_texts_count_less)
    return _columns().where(known.op("@@")(query)).order_by(rank.desc(), PassageRow.position)


def _columns() -> Select[str, str, str]:
    return select(PassageRow.title, PassageRow.text, PassageRow.anchor)


def _address(exercise_id: str, anchor: str) -> str:
    return f"/exercises/{exercise_id}#{quote(anchor)}" if anchor else f"/exercises/{exercise_id}"
