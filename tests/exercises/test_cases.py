"""The labelled student submissions get the verdict and the checks that a good teacher would give."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graders.report import CheckStatus, Report, Verdict

CASES = Path(__file__).parent.parent / "cases" / "token-and-position-embeddings"
LABELS: list[dict[str, Any]] = json.loads((CASES / "labels.json").read_text())


def ids(names: list[str]) -> set[str]:
    """Labels write spaces where ids have hyphens."""
    return {name.replace(" ", "-") for name in names}


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_a_labelled_submission_is_judged_as_its_label_says(grade: Callable[..., Report], label: dict[str, Any]) -> None:
    """The verdict is right, what must fail has failed, and nothing else that a teacher would not mark."""
    report = grade((CASES / label["file"]).read_text())
    failed = {check.id for check in report.checks if check.status is CheckStatus.FAILED}
    assert (report.verdict is Verdict.PASSED) == (label["verdict"] == "pass")
    assert ids(label["failing"]) <= failed <= ids(label["failing"]) | ids(label["also_ok"])


@pytest.mark.parametrize("label", [one for one in LABELS if one["error"]], ids=lambda label: label["file"])
def test_an_error_is_told_with_type_line_and_explanation(grade: Callable[..., Report], label: dict[str, Any]) -> None:
    """A submission that raises gets its own error back, with its own line and words that explain it."""
    source = (CASES / label["file"]).read_text()
    report = grade(source)
    assert report.verdict is Verdict.ERROR
    assert report.error is not None
    assert label["error"].startswith(report.error.type)
    assert 1 <= (report.error.line or 0) <= len(source.splitlines())
    assert len(report.error.explanation) > 30


def test_token_ids_in_the_position_table_are_named(grade: Callable[..., Report]) -> None:
    """`pos = pos_emb(x)` is told what is wrong, not only that something is."""
    report = grade((CASES / "s055_tokens_as_positions.py").read_text())
    assert report.misconception is not None
    assert report.misconception.tag == "token-ids-into-position-table"
    assert report.error is not None
    assert "8 rows" in report.error.explanation
    assert "18" in report.error.explanation
