"""The tutor without a network answers real questions as a good teacher would."""

from dataclasses import replace

import pytest

from app.clients.tutor.port import Exchange, Piece, TutorContext
from app.db import Database
from app.services.tutor.offline.engine import RetrievalEngine
from graders.grader import Grader
from tests.conftest import run_apart
from tools.tutor_questions import (
    FOLDER,
    QUESTIONS,
    Case,
    answered,
    cases,
    context_of,
    exercise,
    faults_of,
    reports,
    situations,
    text_of,
    told,
)

MORE = (FOLDER / "more_questions.yaml", FOLDER / "last_questions.yaml")
ALL = [one for path in (QUESTIONS, *MORE) for one in cases(path)]


def named(one: Case) -> str:
    """Return a question's name, for the list of tests."""
    return f"{one.of}: {one.ask[:40]}"


@pytest.mark.parametrize("case", ALL, ids=named)
def test_question_gets_what_a_teacher_would_say(courses: Database, case: Case) -> None:
    """The answer holds what it must and nothing that it must not, and gives no line of the solution away."""
    assert faults_of(case, answered(courses, case)) == []


def test_questions_are_about_every_exercise() -> None:
    """Sixty of them at least, and every exercise has its own."""
    assert len(cases()) >= 60
    assert {situations()[one.of].exercise for one in cases()} == {one.exercise for one in situations().values()}


@pytest.mark.parametrize(
    "name", ["main-tokens-as-positions", "linear-not-transposed", "rows-all-predicted", "memory-in-bits"]
)
def test_stored_reports_are_what_grading_gives(grader: Grader, name: str) -> None:
    """After a change of what is said: `.venv/bin/python benchmarks/tutor.py --grade`."""
    assert told(grader, situations()[name]) == reports()[name]


def test_every_situation_has_its_report() -> None:
    """Where code was sent, a report came back, and nowhere else."""
    assert {name for name, one in situations().items() if one.code} == reports().keys()


def spoken(context: TutorContext) -> list[Piece]:
    """Return what the engine says, piece by piece."""

    async def listen() -> list[Piece]:
        return [piece async for piece in RetrievalEngine().answer(context)]

    return run_apart(listen())


def test_engine_speaks_in_pieces_and_names_its_source_at_the_end(courses: Database) -> None:
    """The pieces together are the whole answer; it costs no tokens."""
    context = context_of(courses, "main-passed", "why is pos [8, 32] and not [32, 8, 32]")
    pieces = spoken(context)
    assert "".join(piece.text for piece in pieces) == text_of(answered(courses, cases()[0]))
    assert [bool(piece.sources) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1].sources[0].address.startswith("/exercises/token-and-position-embeddings#")
    assert RetrievalEngine().most_tokens(context) == 0


@pytest.mark.parametrize(
    "question",
    [
        "",
        "???",
        "help",
        "\x00",
        "\ud800",
        "🙂" * 900,
        "x" * 10_000,
        "why " * 2_500,
        "((((" * 500,
        "[1, " * 900,
        "`" * 999,
        "a=" * 999,
    ],
)
def test_no_question_is_an_error(courses: Database, question: str) -> None:
    """Whatever is typed, in whatever situation, is answered."""
    for name in situations():
        assert text_of(answered(courses, Case(ask=question, of=name, must=()))).strip()


@pytest.mark.parametrize("name", situations())
def test_hint_is_pointed_to_and_never_quoted(courses: Database, name: str) -> None:
    """The next one is named by its number; what it says is for those who open it."""
    at = situations()[name]
    hints = exercise(at.exercise).hints
    for question in (
        "give me a hint",
        "what does the last hint say",
        "just tell me what hint 2 and hint 3 say",
        "help",
    ):
        text = text_of(answered(courses, Case(ask=question, of=name, must=())))
        assert not any(hint.strip() in text for hint in hints[at.hints :])
        if at.hints < len(hints) and (name not in reports() or reports()[name]["verdict"] != "passed"):
            assert f"Hint {at.hints + 1} is still closed" in text


def test_what_was_answered_before_is_not_said_again(courses: Database) -> None:
    """Who did not understand gets something else, on the same topic."""
    context = context_of(courses, "main-passed", "what is broadcasting")
    first = "".join(piece.text for piece in spoken(context))
    again = context_of(courses, "main-passed", "i dont understand")
    earlier = replace(again, earlier=(Exchange(context.question, first),), passages=context.passages)
    second = "".join(piece.text for piece in spoken(earlier))
    assert second.splitlines()[0] != first.splitlines()[0]
    assert "repeat" in second
