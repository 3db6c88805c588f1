"""Units, bounds and orders of an answer: what is read as what, to the last digit that counts."""

import pytest

from graders.question import QuestionTask, WrongAnswer
from graders.report import CheckStatus, Report, Verdict

SIZES = {
    "B": 1, "b": 1, "byte": 1, "bytes": 1, "Bytes": 1, "kB": 1000, "KB": 1000, "kb": 1000, "MB": 10**6, "mb": 10**6,
    "GB": 10**9, "gb": 10**9, "KiB": 1024, "kib": 1024, "MiB": 1024**2, "mib": 1024**2, "GiB": 1024**3, "gib": 1024**3,
}  # fmt: skip


def number(right: float, unit: str = "", *, tolerance: float = 0.0) -> QuestionTask:
    """Return a question for a number."""
    return QuestionTask("n", 1, "number", right, unit=unit, tolerance=tolerance, message="No.", explanation="Yes.")


def said(report: Report) -> str:
    """Return what the only check says."""
    (check,) = report.checks
    return check.message


@pytest.mark.parametrize(("unit", "size"), SIZES.items())
def test_each_spelling_of_a_unit_is_its_size(unit: str, size: int) -> None:
    """Decimal prefixes are powers of 1000 and binary ones of 1024, in small letters too."""
    assert number(3 * size, "B").grade(f"3 {unit}").verdict is Verdict.PASSED
    assert number(3.003 * size, "B").grade(f"3 {unit}").verdict is Verdict.FAILED


@pytest.mark.parametrize("unit", ["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"])
def test_answer_in_the_unit_that_is_asked_for_needs_none(unit: str) -> None:
    """With it or without, it is the same number."""
    for answer in ("5", f"5 {unit}"):
        assert number(5, unit).grade(answer).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("unit", "name"),
    [("B", "bytes"), ("kB", "kB"), ("MB", "MB"), ("GB", "GB"), ("KiB", "KiB"), ("MiB", "MiB"), ("GiB", "GiB")],
)
def test_right_number_in_another_unit_is_told_by_its_name(unit: str, name: str) -> None:
    """As long as no unit is written: with one, it would have been converted."""
    asked = "MB" if unit != "MB" else "kB"
    answer = 7e6 * SIZES[asked] / SIZES[unit]
    report = number(7e6, asked).grade(f"{answer:.12f}")
    assert said(report).endswith(f"That is the right number in {name}, and the answer is asked for in {asked}.")
    assert "right number" not in said(number(7e6, asked).grade(f"{answer:.12f} {asked}"))


@pytest.mark.parametrize("ratio", [1.024, 1.048576, 1.073741824])
def test_units_that_are_mixed_up_are_told(ratio: float) -> None:
    """Whichever was taken for the other, and only where the ratio is that of the two."""
    for factor in (ratio, 1 / ratio):
        assert "Nearly: MB counts millions" in said(number(100, "MB").grade(f"{100 * factor:.9f} MB"))
        assert "Nearly" not in said(number(100, "MB").grade(f"{100 * factor * 1.004:.9f} MB"))


@pytest.mark.parametrize("answer", ["0", "0 MB", "-100"])
def test_number_that_is_no_size_has_no_unit_mixed_up(answer: str) -> None:
    """It is wrong, and that is all."""
    report = number(100, "MB").grade(answer)
    assert (report.verdict, said(report)) == (Verdict.FAILED, "No.")


def test_question_for_nothing_has_no_hint_of_units() -> None:
    """Of nought every unit is nought."""
    assert said(number(0, "MB").grade("3")) == "No."


def test_plain_number_takes_no_unit() -> None:
    """And says so; where one is asked for, it names it."""
    for question, words in ((number(5), "a plain number"), (number(5, "s"), "in s")):
        report = question.grade("5 MB")
        assert report.verdict is Verdict.ERROR
        assert said(report) == f"The unit `MB` does not fit: the answer is {words}."
    assert number(5, "s").grade("5 s").verdict is Verdict.PASSED
    assert number(5, "KB").grade("5000 B").verdict is Verdict.PASSED
    assert number(5, "MB").grade("5 s").verdict is Verdict.ERROR


def test_number_without_a_tolerance_is_right_to_nine_digits() -> None:
    """Which is what a calculator shows; of nought, to what floating point leaves over."""
    assert number(1e9).grade("1000000000.9").verdict is Verdict.PASSED
    assert number(1e9).grade("1000000001.9").verdict is Verdict.FAILED
    assert number(0).grade("0.0000000000009").verdict is Verdict.PASSED
    assert number(0).grade("0.0000000000019").verdict is Verdict.FAILED


def test_tolerance_is_relative() -> None:
    """Of the larger of the two numbers."""
    question = number(200, tolerance=0.01)
    assert [question.grade(answer).verdict for answer in ("198.01", "197.9", "202", "202.1")] == [
        Verdict.PASSED,
        Verdict.FAILED,
        Verdict.PASSED,
        Verdict.FAILED,
    ]


def test_only_the_beginning_of_a_very_long_answer_is_read() -> None:
    """Five hundred characters, spaces around them not counted."""
    fits, cut_off = "864 " + "+0" * 248, "864" + "+0" * 249
    assert (len(fits), len(cut_off)) == (500, 501)
    assert number(864).grade(f"  {fits}  ").verdict is Verdict.PASSED
    assert number(864).grade(cut_off).verdict is Verdict.ERROR


def test_what_cannot_be_read_is_not_judged() -> None:
    """The check did not run, and the report says why in the same words everywhere."""
    report = number(864).grade("a lot")
    assert report.error is not None
    assert (report.error.type, report.checks[0].status) == ("AnswerRefused", CheckStatus.NOT_RUN)
    assert said(report) == report.error.message == report.error.explanation
    assert report.misconception is None


def test_verdict_and_check_agree() -> None:
    """A right answer is explained; a wrong one is told what it shows, or at least that it is not it."""
    right, wrong = number(3).grade("3"), number(3).grade("4")
    assert (right.verdict, right.checks[0].status, said(right)) == (Verdict.PASSED, CheckStatus.PASSED, "Yes.")
    assert (wrong.verdict, wrong.checks[0].status, said(wrong)) == (Verdict.FAILED, CheckStatus.FAILED, "No.")
    assert said(QuestionTask("n", 1, "number", 3).grade("4")) == "That is not it. Work it out once more."
    assert (right.checks[0].id, right.checks[0].title) == ("answer", "Your answer is right")
    assert (right.output_truncated, right.seed, right.version, right.exercise) == (False, "", 1, "n")


def test_known_wrong_idea_is_named_and_goes_before_any_hint() -> None:
    """With its tag; an answer that shows another is not given this one's name."""
    question = QuestionTask("n", 1, "number", 5, unit="MB", wrong=(WrongAnswer("bytes", 5e6, "Mega is a million."),))
    report = question.grade("5000000")
    assert report.misconception is not None
    assert (report.misconception.tag, said(report)) == ("bytes", "Mega is a million.")
    assert question.grade("6").misconception is None
    assert question.grade("5").misconception is None


@pytest.mark.parametrize(
    ("form", "right", "given", "is_right"),
    [
        ("number", 3, 3.0, True),
        ("number", 3, 4.0, False),
        ("choice", ["c", "a"], ["a", "c"], True),
        ("choice", ["c", "a"], ["a"], False),
        ("shape", [2, 3], [2, 3], True),
        ("shape", [2, 3], (2, 3), True),
        ("shape", [2, 3], [3, 2], False),
    ],
)
def test_value_is_right_or_not(form: str, right: object, given: object, is_right: bool) -> None:  # noqa: FBT001
    """The order of choices does not matter, and that of sizes does."""
    assert QuestionTask("q", 1, form, right).is_right(given) is is_right


def test_choices_are_named_by_key_or_text_in_any_order() -> None:
    """Once each, with commas, semicolons or spaces between them."""
    question = QuestionTask("q", 1, "choice", ["c", "a"], options={"a": "One", "b": "Two", "c": "Three or  more"})
    for answer in ("a, c", "C;A", "c a a", " a ,, c "):
        assert question.grade(answer).verdict is Verdict.PASSED, answer
    one = QuestionTask("q", 1, "choice", ["c"], options=question.options)
    assert one.grade("three OR more").verdict is Verdict.PASSED
    assert one.grade("three").verdict is Verdict.ERROR
    assert said(one.grade("c, d")) == "Choose from a, b, c; with several, put commas between them."
    assert said(one.grade(",")) == said(one.grade(""))


def test_shapes_have_sizes_of_up_to_eleven_digits() -> None:
    """A size that no tensor has is no shape; an empty shape is that of a single number."""
    assert QuestionTask("q", 1, "shape", [10**11 - 1]).grade(f"[{10**11 - 1}]").verdict is Verdict.PASSED
    assert QuestionTask("q", 1, "shape", [10**11]).grade(f"[{10**11}]").verdict is Verdict.ERROR
    assert QuestionTask("q", 1, "shape", []).grade("[]").verdict is Verdict.PASSED
    assert QuestionTask("q", 1, "shape", [2]).grade("[\u0662]").verdict is Verdict.ERROR


def test_slip_of_a_shape_is_told() -> None:
    """Another order, or another number of axes; otherwise what the author says."""
    question = QuestionTask("q", 1, "shape", [4, 6, 16], message="No.")
    assert said(question.grade("6 x 4 x 16")) == "These are the right sizes, but in another order."
    assert said(question.grade("4 x 6")) == "Your shape has 2 axes; how many does the result have?"
    assert said(question.grade("4 x 6 x 17")) == "No."


def test_reading_of_an_answer_is_told_only_where_it_could_be_another() -> None:
    """A number with groups of digits or a decimal comma may have been meant otherwise."""
    assert said(number(3).grade("1,234")) == "Your answer was read as 1234 or as 1.234. No."
    assert said(number(3).grade("1234")) == "No."


def test_number_too_large_in_the_unit_asked_for_is_refused() -> None:
    """As one that is too large by itself."""
    report = number(3, "B").grade("1e308 GB")
    assert (report.verdict, said(report)) == (Verdict.ERROR, "That number is too large to be looked at.")
    assert number(3, "GB").grade("1e308 B").verdict is Verdict.FAILED
