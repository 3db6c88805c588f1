"""A report is small enough to be stored and shown, whatever was printed, raised or said."""

import json

import pytest

from graders.report import CheckResult, CheckStatus, Misconception, Report, StudentError, TensorShape, Timing, Verdict
from graders.reporting.assembly import MAX_MESSAGE_CHARS, MAX_REPORT_BYTES, bounded


def report(text: str, *, output: str = "", checks: int = 3) -> Report:
    """A report with this text in every place that has one."""
    return Report(
        exercise="e",
        version=1,
        verdict=Verdict.FAILED,
        checks=tuple(CheckResult(f"id{n}", text, CheckStatus.FAILED, text) for n in range(checks)),
        misconception=Misconception("tag", text),
        error=StudentError(text, text, 1, text),
        report=text[:8000],
        output=output,
        output_truncated=False,
        tensors=(TensorShape("h", (text,), (1,), (1,), text),),
        timing_ms=Timing(),
        seed="1",
    )


@pytest.mark.parametrize("text", ["x" * 100_000, "\ud7ff" * 50_000, "\U0001f600" * 50_000, '"\\' * 50_000])
@pytest.mark.parametrize("checks", [1, 100])
def test_no_report_is_over_its_bound(text: str, checks: int) -> None:
    """Long texts in many places, of characters that take twelve bytes each, are cut until the whole fits."""
    found = bounded(report(text, output=text, checks=checks))
    assert len(json.dumps(found.to_json())) <= MAX_REPORT_BYTES
    assert max(len(one.message) for one in found.checks) <= MAX_MESSAGE_CHARS
    assert [one.id for one in found.checks] == [f"id{n}" for n in range(checks)]
    assert found.output_truncated


def test_what_was_printed_is_cut_before_anything_that_is_said() -> None:
    """A program that prints as much as it may loses the end of that, and no word of its checks."""
    found = bounded(report("Look at row 3.", output="é" * 65_536))
    assert found.checks == report("Look at row 3.").checks
    assert 8_000 < len(found.output) < 65_536
    assert found.output_truncated


def test_report_within_its_bounds_stays_as_it_is() -> None:
    """Ordinary reports pass through."""
    ordinary = report("Look at row 3.", output="printed\n")
    assert bounded(ordinary) == ordinary
