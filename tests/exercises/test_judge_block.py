"""A judge block says what an expression cannot, and what it cannot work out is held against nobody."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.authoring import CodeExercise, load_exercise
from app.authoring.self_test import findings as gate
from app.authoring.self_test import runner
from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Task

TEXT = """\
format: 1
id: ordered
title: Order
statement: Make `order`, the places of `x` from its smallest number to its largest, and `largest`.
setup: |
  import torch

  count = 5
  x = torch.randn(count, generator=torch.Generator().manual_seed(0))
solution: |
  order = x.argsort()
  largest = x.max()
wrong:
  - tag: from-the-largest
    code: |
      order = x.argsort(descending=True)
      largest = x.max()
    failing: [order]
    message: Which one comes first?
  - tag: the-numbers
    code: |
      order = x.sort().values
      largest = x.max()
    failing: [kind]
    message: Are these places?
params:
  count: {lesson: 5, integer: [4, 9]}
inputs:
  - name: x
outputs:
  - {name: order, dims: [place], dtype: whole}
  - {name: largest}
checks:
  - id: kind
    title: "`order` holds places"
    holds: is_places
  - id: order
    title: "`order` goes upwards"
    holds: rises(sorted_x)
  - id: largest
    title: "`largest` is the largest"
    equal: largest
    accept: [last]
judge: |
  is_places = not order.is_floating_point()
  sorted_x = x[order] if is_places else x
  last = sorted_x[-1]

  def rises(numbers):
      for one, other in zip(numbers, numbers[1:]):
          if one > other:
              return False
      return True
report: |
  print(last.item() == largest.item())
equivalent_mutants:
  - {line: order = x.argsort().long(), why: they are whole already}
  - {line: largest = x.max().flip(0), why: it is one number}
licence: CC-BY-4.0
"""
RIGHT = "order = x.argsort()\nlargest = x.max()"
Make = Callable[..., CodeExercise]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Give a function that makes the exercise above after some replacements of its text."""

    def made(*replaced: tuple[str, str]) -> CodeExercise:
        text = TEXT
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "exercise.yaml").write_text(text, encoding="utf-8")
        exercise = load_exercise(tmp_path)
        assert isinstance(exercise, CodeExercise)
        return exercise

    return made


def statuses(report: Report) -> dict[str, str]:
    """Say what became of each check."""
    return {one.id: one.status.value for one in report.checks}


def findings(exercise: CodeExercise, grader: Grader) -> list[str]:
    """Say what testing the exercise finds."""
    tested: gate.Tested = runner.SelfTest(exercise, grader, seeds=1, progress=lambda *_: None).run()
    return [f"{one.subject} {one.problem}" for one in tested.findings]


def test_exercise_with_a_judge_block_is_publishable(grader: Grader, make: Make) -> None:
    """Its checks fail what is wrong and pass what is right, and its report prints its names."""
    exercise = make()
    assert not findings(exercise, grader)
    report = grader.grade(exercise.task(1), RIGHT, seed="1")
    assert report.verdict is Verdict.PASSED
    assert report.report == "True\n"


def test_checks_about_a_missing_output_are_not_run(grader: Grader, make: Make) -> None:
    """And those about others are; no name of the block's is told."""
    report = grader.grade(make().task(1), "largest = x.max()", seed="1")
    assert statuses(report)["kind"] == statuses(report)["order"] == "not_run"
    assert statuses(report)["largest"] == "passed"
    assert not any(name in one.message for one in report.checks for name in ("is_places", "sorted_x", "rises"))


def test_right_value_that_cannot_be_worked_out_fails_nobody(grader: Grader, make: Make) -> None:
    """Where `accept` asks for a name that waits for an output, the check is not run."""
    report = grader.grade(make().task(1), "largest = x.min()", seed="1")
    assert statuses(report)["largest"] == "not_run"
    assert (
        statuses(grader.grade(make().task(1), "order = x.argsort()\nlargest = x.min()", seed="1"))["largest"]
        == "failed"
    )


def test_students_numbers_are_not_changed_by_the_block(grader: Grader, make: Make) -> None:
    """What it does to outputs, inputs and facts is done to copies, on the lesson's data and on fresh ones."""
    careless = ("judge: |\n", "judge: |\n  largest.zero_(); order.zero_(); x.zero_(); left('x').zero_()\n")
    task = make(("  last = sorted_x[-1]\n", "  last = sorted_x[-1]\n"), careless).task(1)
    found = statuses(grader.grade(task, RIGHT, seed="1"))
    assert found["largest"] == "passed"
    assert statuses(grader.grade(task, RIGHT.replace("max", "min"), seed="1"))["largest"] == "failed"


def test_block_that_raises_on_right_answers_is_told_with_line_and_values(grader: Grader, make: Make) -> None:
    """Once, although it does so on every draw with more than six numbers."""
    found = findings(make(("last = sorted_x[-1]", "last = sorted_x[-1] / (len(x) <= 6 or int('no'))")), grader)
    told = [one for one in found if one.startswith("`judge` raises ValueError on its line 3: ")]
    assert len(told) == 1
    assert "(drawn: count = " in told[0]


def test_block_that_raises_on_a_wrong_variant_is_named(grader: Grader, make: Make) -> None:
    """An index of floating-point numbers is none."""
    found = findings(make(("x[order] if is_places else x", "x[order]")), grader)
    assert [one for one in found if one.startswith("`judge` raises for the wrong variant “the-numbers”")]


def test_raising_on_a_wrong_answer_leaves_checks_not_run(grader: Grader, make: Make) -> None:
    """Neither failed nor crashed: what the block could make is judged."""
    task = make(("x[order] if is_places else x", "x[order]")).task(1)
    report = grader.grade(task, "order = x.sort().values\nlargest = x.max()", seed="1")
    assert report.verdict is Verdict.FAILED
    assert statuses(report) == {"kind": "failed", "order": "not_run", "largest": "passed", "other-data": "not_run"}


def test_raising_on_fresh_data_only_fails_no_line(grader: Grader, make: Make) -> None:
    """Not even the one about other data: it is the exercise that does not fit them."""
    task = make(("last = sorted_x[-1]", "last = sorted_x[-1] / (len(x) == 5 or int('no'))")).task(1)
    wrong = RIGHT.replace("x.max()", "x.max() if count == 5 else x.max() + 1")
    found = statuses(grader.grade(task, wrong, seed="1"))
    assert found["largest"] == "not_run"
    assert found["other-data"] == "not_run"


@pytest.mark.parametrize(
    "changed",
    [
        {"judge": "is_places = sorted_x = last = exit()"},
        {"judge": "class Gone(BaseException): pass\ndef gone(): raise Gone\nis_places = sorted_x = last = gone()"},
        {"report": "exit()"},
        {"report": "import sys\nsys.stdout.close()"},
        {"setup": "import torch\ncount = 5\nx = torch.arange(5.)\ndef rises(numbers): exit()"},
        {"setup": "import torch\ncount = 5\nx = torch.arange(5.)\ndef rises(numbers): raise KeyboardInterrupt"},
    ],
)
def test_no_exception_of_the_authors_makes_a_wrong_answer_crash(
    grader: Grader, make: Make, changed: dict[str, str]
) -> None:
    """Whatever its class, and in whichever text: the lines about other things are judged."""
    parts: dict[str, object] = dict(changed)
    if "setup" in changed:
        parts["judge"] = "is_places = True\nsorted_x = x"
    task: Task = replace(make().task(1), **parts)  # type: ignore[arg-type]
    report = grader.grade(task, RIGHT.replace("max", "min"), seed="1")
    assert report.verdict is Verdict.FAILED
    assert statuses(report)["largest"] == ("not_run" if "judge" in changed else "failed")


def test_endless_block_is_bounded(grader: Grader, make: Make) -> None:
    """A loop that what a student made keeps going ends with the computing time of a verdict."""
    endless = ("is_places = not", "while not is_whole(order): pass\n  is_places = not")
    text = ("judge: |\n", "judge: |\n  def is_whole(one): return not one.is_floating_point()\n")
    task = make(endless, text).task(1)
    assert grader.grade(task, RIGHT, seed="1").verdict is Verdict.PASSED
    report = grader.grade(task, "order = x.sort().values\nlargest = x.max()", seed="1")
    assert report.verdict is Verdict.TIME_LIMIT
