"""The labelled student submissions get the verdict, the checks and the words that a good teacher would give."""

from collections.abc import Callable
from functools import cache

import pytest

from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Task
from tools.exercises import task_of
from tools.labelled_cases import CASES, Case, cases, checks_as_labelled, naming

ALL = list(cases())
GradeCase = Callable[[Case], Report]


def named(one: Case) -> str:
    """Return a case's name, for the list of tests."""
    return one.name


@cache
def task_of_case(exercise: str) -> Task:
    """Read an exercise once."""
    return task_of(exercise)


@pytest.fixture
def grade_case(grader: Grader) -> GradeCase:
    """Give a function that grades a submission against its own exercise."""

    def graded(case: Case) -> Report:
        # The same draw each time: whether another names the mix-up as well is what `benchmarks/accuracy.py` measures.
        return grader.grade(task_of_case(case.exercise), case.path.read_text(encoding="utf-8"), seed=named(case))

    return graded


def test_no_submission_is_without_a_label() -> None:
    """A file that nobody has judged shows nothing."""
    files = {path for path in CASES.rglob("*.py") if path.name != "starter.py" and path.parent.name != "reports"}
    assert files == {case.path for case in ALL}


@pytest.mark.parametrize("case", ALL, ids=named)
def test_a_labelled_submission_is_judged_as_its_label_says(grade_case: GradeCase, case: Case) -> None:
    """The verdict is right, what must fail has failed, and nothing else that a teacher would not mark."""
    report = grade_case(case)
    assert (report.verdict is Verdict.PASSED) == case.right
    assert checks_as_labelled(case, report)
    assert naming(case, report) != "on a right solution"


@pytest.mark.parametrize("case", [one for one in ALL if one.tag], ids=named)
def test_a_known_misconception_is_named(grade_case: GradeCase, case: Case) -> None:
    """What the label says the student has in mind is what the report says."""
    if case.tag not in {"syntax", *(variant.tag for variant in task_of_case(case.exercise).wrong)}:
        pytest.skip("no variant of the exercise has this tag")
    assert naming(case, grade_case(case)) == "right"


@pytest.mark.parametrize("case", [one for one in ALL if "Error" in one.label["error"]], ids=named)
def test_an_error_is_told_with_type_line_and_explanation(grade_case: GradeCase, case: Case) -> None:
    """A submission that raises gets its own error back, with its own line and words that explain it."""
    report = grade_case(case)
    assert report.error is not None
    assert case.label["error"].startswith(report.error.type)
    assert 1 <= (report.error.line or 0) <= len(case.path.read_text(encoding="utf-8").splitlines())
    assert len(report.error.explanation) > 30


def test_token_ids_in_the_position_table_are_named(grade_case: GradeCase) -> None:
    """`pos = pos_emb(x)` is told what is wrong, not only that something is."""
    (case,) = (one for one in ALL if one.path.name == "s055_tokens_as_positions.py")
    report = grade_case(case)
    assert report.misconception is not None
    assert report.misconception.tag == "token-ids-into-position-table"
    assert report.error is not None
    assert "8 rows" in report.error.explanation
    assert "18" in report.error.explanation
