"""The gate for publishing lets good exercises through, and refuses each fault with the sentence its author needs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.authoring import CodeExercise, ExerciseFaults, Question, load_exercise
from app.authoring.self_test import findings as gate
from app.authoring.self_test import runner
from app.settings import ROOT
from graders.grader import Grader

SHIPPED = sorted(path.parent for path in (ROOT / "exercises").rglob("exercise.yaml"))
SMALL = """\
format: 1
id: small
title: A small exercise
statement: Scale `x` by `factor`, and keep the sums of its rows.
setup: |
  import torch

  rows = 3
  columns = 4
  factor = 2.0
  x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(0))
solution: |
  scaled = x * factor
  total = scaled.sum(dim=1)
equivalents:
  - why: the sum first
    code: |
      total = x.sum(dim=1) * factor
      scaled = factor * x
wrong:
  - tag: sum-of-columns
    code: |
      scaled = x * factor
      total = scaled.sum(dim=0)
    failing: [total]
    message: Which axis is gone after the sum?
params:
  rows: {lesson: 3, integer: [2, 6]}
  columns: {lesson: 4, integer: [2, 6]}
  factor: {number: [0.3, 0.7]}
require: rows + columns > 5
inputs:
  - name: x
outputs:
  - {name: scaled, dims: [row, column]}
  - {name: total, dims: [row]}
checks:
  - id: scaled
    title: "`scaled` is `x` times the factor"
    equal: scaled
  - id: total
    title: "`total` has a sum for each row"
    equal: total
    given: [[], [scaled]]
  - id: other-sizes
    title: It works for other data
    other_sizes: true
report: |
  print(total.tolist())
licence: CC-BY-4.0
"""
Test = Callable[..., gate.Tested]


@pytest.fixture
def test(grader: Grader, tmp_path: Path) -> Test:
    """Give a function that tests the small exercise after some replacements of its text."""

    def tested(*replaced: tuple[str, str], seeds: int = 1) -> gate.Tested:
        text = SMALL
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "exercise.yaml").write_text(text, encoding="utf-8")
        exercise = load_exercise(tmp_path)
        assert isinstance(exercise, CodeExercise)
        return runner.SelfTest(exercise, grader, seeds=seeds, progress=lambda *_: None).run()

    return tested


def findings(tested: gate.Tested) -> list[str]:
    """Return what was found, a sentence each."""
    return [f"{one.subject} {one.problem}" for one in tested.findings]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_what_is_shipped_may_be_published(grader: Grader, folder: Path) -> None:
    """Every exercise passes its own gate, with one seed."""
    exercise = load_exercise(folder)
    tested = (
        runner.tested_question(exercise)
        if isinstance(exercise, Question)
        else runner.SelfTest(exercise, grader, seeds=1, progress=lambda *_: None).run()
    )
    assert not findings(tested)


def test_good_exercise_is_publishable(test: Test) -> None:
    """The one that the faults below are planted in has none itself, and all that was measured is there."""
    tested = test(seeds=2)
    assert not findings(tested)
    assert tested.publishable
    assert tested.passes == {"sum-of-columns": (0, 2)}
    assert 0.5 < tested.accepted_share < 1
    assert tested.killed == tested.mutants > 10
    assert tested.to_json()["mutation_score"] == 1.0


FAULTS = {
    "a wrong solution": (
        [("total = scaled.sum(dim=1)", "total = scaled.sum(dim=0)")],
        "the equivalent “the sum first” must pass, but is failed with seed self-test-0: total: ",
    ),
    "a weak check": (
        [("equal: total\n    given: [[], [scaled]]", 'holds: "total.dim() == 1 and len(total) == len(x)"')],
        "a mutant that scales passes: add a check that it fails",
    ),
    "an always-true holds": (
        [("  - id: other-sizes", '  - id: always\n    title: Always\n    holds: "True"\n  - id: other-sizes')],
        "the check “always” is failed by no wrong variant and no mutant, so it may hold whatever is written",
    ),
    "a check that nothing exercises": (
        [("  - id: other-sizes", "  - id: kept\n    title: Kept\n    unchanged: [x]\n  - id: other-sizes")],
        "the check “kept” is failed by no wrong variant and no mutant",
    ),
    "sizes that may be equal": (
        [
            ("rows: {lesson: 3, integer: [2, 6]}", "rows: {choice: [3, 4, 5]}"),
            ("columns: {lesson: 4, integer: [2, 6]}", "columns: {choice: [4, 5, 6]}"),
        ],
        "the parameters `rows` and `columns` are sizes, and can be equal (both ",
    ),
    "a mutant that is not found out": (
        [("{name: scaled, dims: [row, column]}", "{name: scaled, dims: [row, column], tolerance: 0.5, atol: 9}")],
        "a mutant that shifts passes",
    ),
    "a requirement that cannot hold": (
        [("require: rows + columns > 5", "require: rows > columns + 9")],
        "the exercise cannot be used: `require: rows > columns + 9` does not hold for any of ",
    ),
    "a requirement that hardly ever holds": (
        [("require: rows + columns > 5", "require: factor < 0.302")],
        "`require` lets ",
    ),
    "a report that raises": (
        [("print(total.tolist())", "print(1)\n  print(totals.tolist())")],
        "`report` raises NameError on its line 2: name 'totals' is not defined",
    ),
    "a variant that passes": (
        [("total = scaled.sum(dim=0)\n    failing", "total = scaled.sum(dim=1)\n    failing")],
        "the wrong variant “sum-of-columns” passes; add a check that it fails",
    ),
    "a starter that passes": (
        [("solution: |", "starter: |\n  scaled = x * factor\n  total = scaled.sum(dim=1)\nsolution: |")],
        "the starter passes as it is",
    ),
    "data that never change": (
        [
            ("x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(0))", "x = torch.eye(4)[:3]"),
            ("require: rows + columns > 5\n", ""),
        ],
        "the input `x` is the lesson's own in every fresh trial, so that code with its numbers typed in is right",
    ),
    "data that nobody can repeat": (
        [(", generator=torch.Generator().manual_seed(0)", "")],
        "the input `x` is another one each time the starting code is run",
    ),
    "an input that is no tensor": (
        [("- name: x\n", "- name: x\n  - name: width\n"), ("  factor = 2.0\n", "  factor = 2.0\n  width = (rows)\n")],
        "the exercise cannot be used: `width` stands under `inputs`, and is no tensor but of type int; take it out",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_refused_with_a_sentence(test: Test, fault: str) -> None:
    """What an author has overlooked is named, and the exercise is not publishable."""
    replaced, sentence = FAULTS[fault]
    tested = test(*replaced)
    assert not tested.publishable
    assert any(one.startswith(sentence) or sentence in one for one in findings(tested)), findings(tested)


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        (
            [("  x = torch", "  if rows == 5:\n      raise ValueError('five')\n  x = torch")],
            "the starting code raises ValueError on its line 7: five (drawn: rows = 5, columns = ",
        ),
        ([("  scaled = x * factor", "  scaled = x * factor * [1, 1, 1, 1, 1][rows - 1]")], "own solution fails"),
        ([("require: rows + columns > 5", "require: rows / (rows - 5) != 0")], "`require` raises ZeroDivisionError"),
    ],
    ids=["setup", "solution", "require"],
)
def test_fault_on_some_draws_is_told_once(test: Test, replaced: list[tuple[str, str]], sentence: str) -> None:
    """As the fault of the text that raised, with its line and the values drawn, and not once for every answer."""
    (told,) = findings(test(*replaced))
    assert sentence in told
    assert "(drawn: rows = " in told


def test_share_of_seeds_that_let_a_wrong_variant_pass_is_measured(test: Test) -> None:
    """What is right by chance is not recognised as wrong on every seed: how often that is, is told, and refused."""
    lucky = "total = scaled.sum(dim=1 if float(x[0, 0]) > -0.7 else 0)\n    failing"
    tested = test(("total = scaled.sum(dim=0)\n    failing", lucky), seeds=12)
    passed, runs = tested.passes["sum-of-columns"]
    assert 0 < passed < runs == 12
    assert any(f"passes with {passed} of 12 seeds ({passed / 12:.1%})" in one for one in findings(tested))


@pytest.mark.parametrize("name", ["rows", "factor", "listed", "counted"])
def test_input_that_is_plainly_no_tensor_is_one_sentence(tmp_path: Path, name: str) -> None:
    """A whole number under `inputs` is told when the file is read, at its place."""
    text = SMALL.replace("- name: x\n", f"- name: {name}\n").replace(
        "  factor = 2.0\n", "  factor = 2.0\n  listed = [1, 2]\n  counted = len(listed)\n"
    )
    (tmp_path / "exercise.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ExerciseFaults) as caught:
        load_exercise(tmp_path)
    (fault,) = caught.value.faults
    assert f"`{name}` is no tensor" in fault.message
    assert text.splitlines()[fault.line - 1].strip() == f"- name: {name}"
