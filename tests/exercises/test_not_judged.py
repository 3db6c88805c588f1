"""What was not judged is said to be that: a line never passes by default."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.authoring import CodeExercise, load_exercise
from graders.faults import GraderFault
from graders.grader import Grader
from graders.report import Report
from graders.task import Task

TEXT = """\
format: 1
id: kept
title: Double and keep
statement: Make `doubled` of `x`.
setup: |
  import torch

  rows = 3
  x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(0))
solution: |
  doubled = x * 2
  halved = x / 2
params:
  rows: {lesson: 3, integer: [5, 9]}
inputs:
  - name: x
outputs:
  - {name: doubled, dims: [row, column]}
  - {name: halved, dims: [row, column]}
checks:
  - id: everywhere
    title: Doubled, and for other data
    all:
      - equal: doubled
      - other_sizes: true
  - id: halved
    title: Halved
    equal: halved
  - id: kept
    title: Kept
    unchanged: [x]
licence: CC-BY-4.0
"""
RIGHT = "doubled = x + x\nhalved = x * 0.5"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Return the task of the exercise above."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "exercise.yaml").write_text(TEXT, encoding="utf-8")
    exercise = load_exercise(folder)
    assert isinstance(exercise, CodeExercise)
    return exercise.task(1)


@pytest.fixture
def said(grader: Grader, kept: Task) -> Callable[[str], dict[str, str]]:
    """Give a function that grades, and says what became of each check."""

    def statuses(source: str) -> dict[str, str]:
        report: Report = grader.grade(kept, source, seed="not-judged")
        return {one.id: one.status.value for one in report.checks}

    return statuses


@pytest.mark.parametrize("source", ["doubled = (", "", "# nothing yet", "missing + 1", "import nothing_of_this_name"])
def test_inputs_are_not_called_kept_by_code_that_has_done_nothing(
    said: Callable[[str], dict[str, str]], source: str
) -> None:
    """Whether it cannot be read, is empty, or stops before it has made anything."""
    assert said(source)["kept"] == "not_run"


def test_inputs_are_looked_at_once_something_is_made(said: Callable[[str], dict[str, str]]) -> None:
    """A right step stays right after an exception, and a spoilt input is spoilt."""
    assert said(RIGHT)["kept"] == "passed"
    assert said("doubled = x * 2\nmissing")["kept"] == "passed"
    assert said("x.zero_()\nmissing")["kept"] == "failed"


def test_line_about_other_data_passes_only_where_other_data_were_judged(said: Callable[[str], dict[str, str]]) -> None:
    """Also where that is one part of several, and where what fails comes later in the list."""
    assert said(RIGHT)["everywhere"] == "passed"
    assert said("doubled = x * 2\nhalved = x * 2")["everywhere"] == "not_run"
    assert said("doubled = x * 2")["everywhere"] == "not_run"
    assert said("doubled = x * 3\nhalved = x / 2")["everywhere"] == "failed"
    on_others = said("doubled = x * 2\nhalved = x / 2 if rows == 3 else x")
    assert on_others["halved"] == "failed"
    assert on_others["everywhere"] == "not_run"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"setup": "import torch\nrows = 3\nx = torch.ones(3, 4)[rows]"},
            "starting code raises IndexError on its line 3",
        ),
        ({"require": "rows > 40"}, "`require: rows > 40` does not hold for any of"),
    ],
)
def test_students_are_never_graded_on_data_that_cannot_be(
    grader: Grader, kept: Task, changed: dict[str, str], told: str
) -> None:
    """It is the exercise's fault, said with its line or its requirement."""
    with pytest.raises(GraderFault, match=told):
        grader.grade(replace(kept, **changed), RIGHT, seed="not-judged")  # type: ignore[arg-type]
