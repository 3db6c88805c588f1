"""A check of kind `calls` looks at the operations that really ran, whatever they were called by."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.authoring import CodeExercise, load_exercise
from graders.grader import Grader
from graders.operations import operation, operations
from graders.protocol.frames import Frame, FrameType
from graders.protocol.observation_schema import ObservationRefused, ObservationSchema
from graders.report import Report
from graders.task import StudentPart, Task

TEXT = """\
format: 1
id: by-hand
title: A softmax by hand
statement: Make `shares` of `scores`, each row summing to one.
setup: |
  import torch
  import torch.nn as nn
  import torch.nn.functional as F

  rows = 3
  scores = torch.randn(rows, 4, generator=torch.Generator().manual_seed(0))
solution: |
  shares = scores.exp() / scores.exp().sum(dim=1, keepdim=True)
wrong:
  - tag: not-by-hand
    when: called("torch.softmax")
    code: |
      shares = torch.softmax(scores, dim=1)
    failing: [by-hand]
    message: What does softmax do, step by step?
params:
  rows: {lesson: 3, integer: [5, 9]}
inputs:
  - name: scores
outputs:
  - {name: shares, dims: [row, class]}
checks:
  - id: shares
    title: Shares
    equal: shares
  - id: by-hand
    title: By hand
    calls: [CALLS]
    message: Write it out.
licence: CC-BY-4.0
"""
Status = Callable[..., tuple[str, str]]


@pytest.fixture
def status(grader: Grader, tmp_path: Path) -> Status:
    """Give a function that says what became of the check `by-hand`, and with which words."""

    def found(source: str, calls: str = "not torch.softmax", **changed: str) -> tuple[str, str]:
        (tmp_path / "exercise.yaml").write_text(TEXT.replace("CALLS", calls), encoding="utf-8")
        exercise = load_exercise(tmp_path)
        assert isinstance(exercise, CodeExercise)
        task = replace(exercise.task(1), **changed)  # type: ignore[arg-type]
        report = grader.grade(task, source, seed="calls")
        (check,) = (one for one in report.checks if one.id == "by-hand")
        return check.status.value, check.message

    return found


WAYS = {
    "torch": "shares = torch.softmax(scores, dim=1)",
    "method": "shares = scores.softmax(1)",
    "special": "shares = torch.special.softmax(scores, 1)",
    "functional": "shares = F.softmax(scores, dim=1)",
    "layer": "shares = nn.Softmax(dim=1)(scores)",
    "operator": "shares = torch.ops.aten.softmax(scores, 1)",
    "kernel": "shares = torch.ops.aten._softmax.default(scores, 1, False)",
    "built string": "shares = getattr(torch, 'soft' + 'max')(scores, 1)",
    "without gradients": "with torch.inference_mode():\n    shares = torch.softmax(scores, 1)\nshares = shares.clone()",
    "into a tensor": "shares = torch.softmax(scores, 1, out=torch.empty(rows, 4))",
    "scripted": "shares = torch.jit.script(nn.Softmax(dim=1))(scores)",
    "mapped": "shares = torch.vmap(lambda row: torch.softmax(row, 0))(scores)",
    "within attention": "q = torch.eye(rows)[None]\nF.scaled_dot_product_attention(q, q, q)\n"
    "shares = scores.exp() / scores.exp().sum(1, True)",
    "in a thread": "import threading\nmade = []\n"
    "one = threading.Thread(target=lambda: made.append(torch.softmax(scores, 1)))\none.start()\none.join()\n"
    "shares = made[0]",
    "on other data only": "shares = torch.softmax(scores, 1) if rows != 3 else scores.exp() / "
    "scores.exp().sum(1, True)",
}


@pytest.mark.parametrize("way", WAYS)
def test_operation_is_seen_whatever_it_is_called_by(status: Status, way: str) -> None:
    """A softmax that is ruled out fails the check, by any name, in any trial."""
    found, told = status(WAYS[way])
    assert found == "failed"
    assert "without `torch.softmax`" in told
    assert "Write it out." in told


def test_code_that_does_without_passes(status: Status) -> None:
    """The exponentials, and what the way back through a graph runs, are no softmax; nor is a name in the text."""
    by_hand = "shares = scores.exp() / scores.exp().sum(1, True)"
    for source in (by_hand, f"softmax = 'torch.softmax'\n{by_hand}", f"w = scores.clone().requires_grad_()\n{by_hand}"):
        assert status(source)[0] == "passed"


def test_operation_that_is_asked_for_must_run(status: Status) -> None:
    """It is missing where it is only written down, and not judged where the code stopped before it."""
    by_hand = "shares = scores.exp() / scores.exp().sum(1, True)"
    assert status(WAYS["layer"], "torch.softmax")[0] == "passed"
    assert status(f"{by_hand}\nunused = lambda: torch.softmax(scores, 1)", "torch.softmax")[0] == "failed"
    assert status(f"{by_hand}\nraise ValueError", "torch.softmax")[0] == "not_run"
    assert status("shares = (", "torch.softmax, not torch.exp")[0] == "not_run"
    assert status("shares = scores @ torch.eye(4)", "torch.matmul")[0] == "passed"
    assert status("shares = scores @ torch.eye(4)", "torch.nn.functional.linear")[0] == "failed"


def test_one_name_of_an_operation_can_be_asked_for_and_another_ruled_out(status: Status) -> None:
    """Then the one that is ruled out is looked for as it was called."""
    calls = "torch.softmax, not torch.nn.functional.softmax"
    assert status(WAYS["torch"], calls)[0] == "passed"
    assert status(WAYS["method"], calls)[0] == "passed"
    assert status(WAYS["functional"], calls)[0] == "failed"
    assert status(WAYS["layer"], calls)[0] == "failed"


def test_functions_that_the_author_calls_are_recorded_too(status: Status) -> None:
    """What is defined only runs in the probe."""
    source = "def make(x):\n    return x.softmax(1)"
    solution = "def make(x):\n    return x.exp() / x.exp().sum(1, True)"
    assert status(source, solution=solution, probe="shares = make(scores)")[0] == "failed"
    assert status(solution, solution=solution, probe="shares = make(scores)")[0] == "passed"


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (("torch.nn.LogSoftmax", "torch.log_softmax", "aten::_log_softmax"), "logsoftmax"),
        (("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy", "aten.cross_entropy_loss"), "crossentropy"),
        (("torch.nn.LayerNorm", "aten::native_layer_norm", "torch.nn.functional.layer_norm"), "layernorm"),
        (("torch.nn.ReLU", "torch.relu", "torch.Tensor.relu_", "aten::relu_"), "relu"),
        (("torch.special.expit", "torch.sigmoid"), "sigmoid"),
        (("aten::_scaled_dot_product_flash_attention_for_cpu",), "scaleddotproductattention"),
    ],
)
def test_names_of_one_operation_are_one(names: tuple[str, ...], known: str) -> None:
    """Layers, functions, methods, in-place ones and kernels."""
    assert {operation(name) for name in names} == {known}


def test_ways_back_and_products_of_matrices() -> None:
    """A backward kernel is no operation of the program's, but `backward` is; every product is a `matmul`."""
    assert not operations("aten::_softmax_backward_data")
    assert operation("torch.Tensor.backward") == "backward"
    assert all("matmul" in operations(name) for name in ("aten::mm", "torch.bmm", "torch.Tensor.__matmul__"))
    assert operation("torch.mm") == "mm"


def test_nothing_is_recorded_unless_it_is_asked_for(task: Task) -> None:
    """An exercise without the check has no such field, and a student's process that hands one over has forged it."""
    assert task.student_part().calls is False
    body: Mapping[str, object] = {
        "outputs": {},
        "inputs": {},
        "fault": None,
        "probed": {},
        "exited": None,
        "printed": "",
        "defined": [],
    }
    asked, unasked = ObservationSchema(StudentPart(calls=True)), ObservationSchema(StudentPart())
    unasked.check_observation(Frame(FrameType.OBSERVATION, dict(body)))
    asked.check_observation(Frame(FrameType.OBSERVATION, {**body, "calls": ["aten::mm"]}))
    for schema, calls in ((unasked, []), (asked, ["x"] * 600), (asked, ["x" * 200]), (asked, [1]), (asked, "aten::mm")):
        with pytest.raises(ObservationRefused):
            schema.check_observation(Frame(FrameType.OBSERVATION, {**body, "calls": calls}))


def test_grading_says_nothing_else_for_it(grader: Grader, tmp_path: Path) -> None:
    """The wrong way is named by what was called, and the solution passes."""
    (tmp_path / "exercise.yaml").write_text(TEXT.replace("CALLS", "not torch.softmax"), encoding="utf-8")
    exercise = load_exercise(tmp_path)
    assert isinstance(exercise, CodeExercise)

    def graded(source: str) -> Report:
        return grader.grade(exercise.task(1), source, seed="calls")

    assert graded(exercise.solution).verdict.value == "passed"
    wrong = graded(WAYS["layer"])
    assert wrong.misconception is not None
    assert wrong.misconception.tag == "not-by-hand"
