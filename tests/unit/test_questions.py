"""Answers in a line are read as a person would read them, and never run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.authoring import Question as AuthoredQuestion
from app.authoring import load_exercise
from app.settings import ROOT
from graders.question import QuestionTask, WrongAnswer, assignment
from graders.report import Verdict

MEMORY = QuestionTask("memory", 1, "number", 154.389504, unit="MB", tolerance=0.01)
COUNT = QuestionTask(
    "count",
    1,
    "number",
    864,
    wrong=(WrongAnswer("tables-multiplied", 19 * 32 * 8 * 32, "You multiplied the two tables."),),
)
SHAPE = QuestionTask("shape", 1, "shape", [4, 6, 16])
CHOICE = QuestionTask("choice", 1, "choice", ["b"], options={"a": "Nothing", "b": "Rows 10 and 58"})
SEVERAL = QuestionTask("several", 1, "choice", ["a", "c"], options={"a": "one", "b": "two", "c": "three"})


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (MEMORY, "154.389504"),
        (MEMORY, " 154.4 MB "),
        (MEMORY, "154,4"),
        (MEMORY, "147.2 MiB"),
        (MEMORY, "154,389,504 bytes"),
        (MEMORY, "154,39"),
        (MEMORY, "154,3895"),
        (MEMORY, "154,389"),
        (MEMORY, "154,389 MB"),
        (MEMORY, "1,544e2"),
        (MEMORY, "1.544E+2 MB"),
        (MEMORY, "15440e\u22122"),
        (MEMORY, "+154.39"),
        (MEMORY, "154\u202f389\u202f504\u202fB"),
        (MEMORY, "154\u00a0389\u00a0504 bytes"),
        (MEMORY, "154\u2009389,504 kB"),
        (MEMORY, "154'389'504 B"),
        (MEMORY, "154\u2019389\u2019504 B"),
        (MEMORY, "154.389.504 B"),
        (MEMORY, "154.389,504 kB"),
        (MEMORY, "15,43,89,504 B"),
        (MEMORY, "200 \u2212 45,61"),
        (MEMORY, "1,544 \u00b7 10\u00b2"),
        (MEMORY, "50,257 x 768 x 4 B"),
        (MEMORY, "\uff11\uff15\uff14.\uff14"),
        (MEMORY, "\u2248 154.39 MB."),
        (MEMORY, "50257 * 768 * 4 B"),
        (MEMORY, "50_257 × 768 × 4 / 10^6"),
        (COUNT, "19 * 32 + 8 * 32"),
        (COUNT, "(19 + 8) * 32"),
        (COUNT, "8.64e2"),
        (SHAPE, "[4, 6, 16]"),
        (SHAPE, "(4,6,16)"),
        (SHAPE, "4 x 6 x 16"),
        (SHAPE, "torch.Size([4, 6, 16])"),
        (CHOICE, "b"),
        (CHOICE, "B"),
        (CHOICE, "rows 10  and 58"),
        (SEVERAL, "c, a"),
    ],
)
def test_a_right_answer_is_right_however_it_is_written(question: QuestionTask, answer: str) -> None:
    """Units, thousands, decimal commas, sums and several spellings of a shape are understood."""
    assert question.grade(answer).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        (MEMORY, "161.9 MB", "1024"),
        (COUNT, "155648", "multiplied"),
        (COUNT, "865", ""),
        (COUNT, "1,234", "read as 1234 or as 1.234"),
        (COUNT, "155 648", "multiplied"),
        (COUNT, "0,864", "read as 0.864."),
        (MEMORY, "154389504", "right number in bytes"),
        (MEMORY, "154 389 504", "right number in bytes"),
        (MEMORY, "154389.504", "right number in kB"),
        (MEMORY, "0,154", "right number in GB"),
        (MEMORY, "147.24", "right number in MiB"),
        (MEMORY, "-154,39", "read as -154.39"),
        (SHAPE, "[16, 6, 4]", "another order"),
        (SHAPE, "[4, 6]", "2 axes"),
        (CHOICE, "a", ""),
        (SEVERAL, "a", ""),
    ],
)
def test_a_wrong_answer_is_wrong_and_its_slip_is_named(question: QuestionTask, answer: str, words: str) -> None:
    """A known wrong idea, or the kind of slip, is told where it can be seen."""
    report = question.grade(answer)
    assert report.verdict is Verdict.FAILED
    assert words in report.checks[0].message


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (MEMORY, ""),
        (MEMORY, "a lot"),
        (MEMORY, "154 km"),
        (MEMORY, "__import__('os').getpid()"),
        (MEMORY, "1e999"),
        (MEMORY, "9 ** 9 ** 9 ** 9"),
        (MEMORY, "154 38"),
        (MEMORY, "1,54,38"),
        (MEMORY, "154'39,5'1"),
        (MEMORY, "154,,39"),
        (MEMORY, "- + *"),
        (MEMORY, "1 / 0"),
        (COUNT, "864 MB"),
        (SHAPE, "eight by four"),
        (SHAPE, "[4, -6]"),
        (CHOICE, "z"),
        (CHOICE, ""),
    ],
)
def test_what_cannot_be_read_gets_a_sentence_and_not_a_mark(question: QuestionTask, answer: str) -> None:
    """It is an error that says what would be understood."""
    report = question.grade(answer)
    assert report.verdict is Verdict.ERROR
    assert report.error is not None
    assert len(report.error.explanation) > 20


@pytest.fixture(scope="module")
def memory_of_a_table() -> QuestionTask:
    """Return the question that is shipped: 154.389504 MB, to half a percent."""
    question = load_exercise(ROOT / "exercises/embeddings/ids-to-vectors/memory-of-a-table")
    assert isinstance(question, AuthoredQuestion)
    return question.task(1)


@pytest.mark.parametrize(
    "answer",
    ["154,39", "154,3895", "154,389", "154,389 MB", "1,544e2", "+154.39", "154\u202f389\u202f504 B"],
)
def test_a_number_is_right_in_whatever_country_it_is_written(memory_of_a_table: QuestionTask, answer: str) -> None:
    """Decimal commas, groups of digits by any space, signs and exponents: each is 154.389504 MB."""
    assert memory_of_a_table.grade(answer).verdict is Verdict.PASSED


@pytest.mark.parametrize("answer", ["154389504", "154,389,504", "154\u202f389\u202f504", "1.54389504e8"])
def test_a_right_number_in_another_unit_is_said_to_be_that(answer: str) -> None:
    """Nobody is asked how many numbers there are who has counted every byte."""
    report = MEMORY.grade(answer)
    assert report.verdict is Verdict.FAILED
    assert "right number in bytes" in report.checks[0].message
    assert "asked for in MB" in report.checks[0].message


@given(st.text(max_size=80) | st.text("0123456789.,_' eE+-*()xMB\u2212\u202f\u00b2", max_size=40))
def test_any_text_is_an_answer_or_refused(answer: str) -> None:
    """No text raises, and the report is JSON."""
    for question in (MEMORY, SHAPE, CHOICE):
        json.dumps(question.grade(answer).to_json(), allow_nan=False)


def test_a_question_comes_back_from_json_as_it_was() -> None:
    """Stored and read, it is the same question."""
    assert assignment(json.loads(json.dumps(COUNT.to_json()))) == COUNT
