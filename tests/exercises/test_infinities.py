"""Truth values, infinities and numbers that are not: judged as they are, and told so that a student understands."""

from collections.abc import Callable

import pytest

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict

MASK = "mask = torch.tril(torch.ones(T, T, dtype=torch.bool))\n"
MASKED = "masked = scores.masked_fill(~mask, float('-inf'))\n"
WEIGHTS = "weights = torch.softmax(masked, dim=-1)\n"


@pytest.fixture(scope="module")
def said(grader: Grader) -> Callable[[str], dict[str, tuple[str, str]]]:
    """Give a function from code to (status, message) by check."""
    task = load_code_exercise(ROOT / "tests/courses/attention/causal-attention-mask").task(1)

    def graded(source: str) -> dict[str, tuple[str, str]]:
        report: Report = grader.grade(task, source, seed="infinities")
        return {one.id: (one.status.value, one.message) for one in report.checks} | {"": (report.verdict.value, "")}

    return graded


Said = Callable[[str], dict[str, tuple[str, str]]]


def test_minus_infinity_can_be_right(said: Said) -> None:
    """What the solution makes infinite must be so."""
    assert said(MASK + MASKED + WEIGHTS)[""][0] == Verdict.PASSED.value


def test_truth_values_are_told_as_such(said: Said) -> None:
    """Not as 0.000 and 1.000."""
    found = said("mask = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)\n" + MASKED + WEIGHTS)
    assert "`mask[0, 0]` is False and should be True" in found["mask"][1]


@pytest.mark.parametrize(
    ("masked", "told"),
    [
        ("scores.masked_fill(~mask, float('inf'))", "is inf and should be -inf"),
        ("scores * mask + (~mask) * float('-inf')", "is nan, which is not a finite number"),
        ("scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "is -3.4e+38 and should be -inf"),
    ],
)
def test_number_beside_an_infinite_one_is_told_in_few_digits(said: Said, masked: str, told: str) -> None:
    """Both are shown, short enough to be read."""
    assert told in said(f"{MASK}masked = {masked}\n{WEIGHTS}")["masked"][1]


def test_what_follows_from_nan_is_not_called_right(said: Said) -> None:
    """Weights that are all nan, made of a `masked` that is: that one has failed, and these cannot be judged."""
    found = said(f"{MASK}masked = scores * mask + (~mask) * float('-inf')\n{WEIGHTS}")
    assert found["masked"][0] == CheckStatus.FAILED.value
    assert found["weights"][0] == CheckStatus.NOT_RUN.value
    assert "nan" in found["weights"][1]


def test_input_changed_in_place_is_told_by_its_numbers(said: Said) -> None:
    """Its shape is the same, so that is not what the message speaks of."""
    found = said(f"{MASK}masked = scores.masked_fill_(~mask, float('-inf'))\n{WEIGHTS}")
    assert "its numbers are no longer those it had" in found["masked"][1]
