"""Whatever a student lets tables start with, however coarse numbers are: wrong stays wrong and right stays right."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from app.authoring import load_code_exercise
from app.authoring.exercise import CodeExercise
from app.authoring.self_test.disguises import DISGUISES, Disguise
from app.authoring.self_test.runner import variant_source
from app.settings import ROOT
from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Check, Output, Task

CODE = sorted(
    path.parent
    for path in (ROOT / "exercises").rglob("exercise.yaml")
    if "kind: question" not in path.read_text(encoding="utf-8")
)
EVERY = 11
"""Each wrong variant is tried in one disguise, the next in the next; all in all: `benchmarks/disguises.py`."""


@cache
def exercise_in(folder: Path) -> CodeExercise:
    """Read an exercise once."""
    return load_code_exercise(folder)


def in_disguise() -> list[tuple[Path, int, Disguise]]:
    """Return which wrong variant of which exercise is tried in which disguise."""
    return [
        (folder, number, disguise)
        for folder in CODE
        for number in range(len(exercise_in(folder).wrong))
        for place, disguise in enumerate(DISGUISES)
        if (number + place) % EVERY == 0
    ]


@pytest.mark.parametrize("folder", CODE, ids=lambda folder: folder.name)
def test_wrong_variants_stay_wrong_in_disguise(grader: Grader, folder: Path) -> None:
    """No start value, number format or broken gradient lets one through."""
    exercise = exercise_in(folder)
    tried = [(number, disguise) for one, number, disguise in in_disguise() if one == folder]
    for number, disguise in tried:
        wrong = exercise.wrong[number]
        report = grader.grade(
            exercise.task(1), disguise.on(exercise, variant_source(exercise, wrong)), seed=f"{number}"
        )
        assert report.verdict is not Verdict.PASSED, f"{wrong.tag} with {disguise.name}"
    assert tried


@pytest.mark.parametrize("folder", CODE, ids=lambda folder: folder.name)
def test_the_solution_may_start_with_any_numbers(grader: Grader, folder: Path) -> None:
    """Zeros, equal rows, tiny, huge: what a table starts with is the student's own affair."""
    exercise = exercise_in(folder)
    for disguise in DISGUISES:
        if disguise.is_start:
            report = grader.grade(exercise.task(1), disguise.on(exercise, exercise.solution), seed="start")
            assert report.verdict is Verdict.PASSED, disguise.name


MODEL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(vocab_size, n_embd)
        self.places = nn.Embedding(block_size, n_embd)
        nn.init.zeros_(self.places.weight)

    def forward(self, x):
        tok, pos = self.letters(x), self.places(torch.arange(block_size))
        return tok, pos, tok SIGN pos

model = Model()
tok, pos, h = model(x)
token_emb, pos_emb = model.letters, model.places
"""


@pytest.mark.parametrize(("sign", "verdict"), [("+", Verdict.PASSED), ("-", Verdict.FAILED)])
def test_tables_inside_a_model_may_start_at_zero(grade: Callable[..., Report], sign: str, verdict: Verdict) -> None:
    """They get their names after they are used, and are found in the model before that."""
    assert grade(MODEL.replace("SIGN", sign)).verdict is verdict


def test_start_that_hides_all_and_cannot_be_replaced_is_told(grade: Callable[..., Report]) -> None:
    """Tables made and used in one function, and handed out at the end: the report asks for another start."""
    source = (
        "def make():\n    a, b = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)\n"
        "    nn.init.zeros_(b.weight)\n    t, p = a(x), b(torch.arange(block_size))\n    return a, b, t, p, t + p\n"
        "token_emb, pos_emb, tok, pos, h = make()\n"
    )
    report = grade(source)
    said = {check.id: check.message for check in report.checks if check.status.value == "failed"}
    assert list(said) == ["position-table"]
    assert "let it start at random" in said["position-table"]


LEAF = Task(
    exercise="leaf",
    version=1,
    setup="import torch\nn = 6\ntorch.manual_seed(n)\nweights = torch.rand(4, n)\n"
    "v = torch.randn(n, 3, requires_grad=True)",
    params={"n": {"kind": "integer", "low": 7, "high": 12, "lesson": 6}},
    solution="out = weights @ v",
    outputs=(Output("out", dims=("row", "number")), Output("v", "table", ("column", "number"))),
    checks=(
        Check("out", "", "equal", of="out", given=((),)),
        Check("learns", "", "gradient", of="out", to="v"),
        Check("sizes", "", "other_sizes"),
    ),
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("out = weights @ (v.detach() * 2 - v)", "points the other way"),
        ("out = weights @ (v.detach() * 0.99 + v * 0.01)", "0.01 times as large"),
        ("out = weights @ v\nout = torch.cat([out[:2], out[2:].detach()])", "another one than should"),
        ("out = weights @ v\nout.register_hook(lambda g: g.flip(0))", "another one than should"),
    ],
)
def test_gradient_to_a_tensor_of_the_starting_code_is_judged_by_value(grader: Grader, line: str, told: str) -> None:
    """Turned round, too small, of half the batch, misplaced: none of it is what comes back from a product."""
    assert grader.grade(LEAF, LEAF.solution, seed="leaf").verdict is Verdict.PASSED
    report = grader.grade(LEAF, line, seed="leaf")
    assert {check.id: check.status.value for check in report.checks}["learns"] == "failed"
    assert told in next(check.message for check in report.checks if check.id == "learns")


PRINTS = Task(
    exercise="prints",
    version=1,
    setup="n = 6",
    params={"n": {"kind": "integer", "low": 7, "high": 40, "lesson": 6}},
    solution="print(n * n)",
    outputs=(Output("n", "value"),),
    checks=(Check("prints", "", "prints", expression="n * n"), Check("sizes", "", "other_sizes")),
)


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("print(n * n)", Verdict.PASSED),
        ("print('looking at', n)\nprint('square:', n ** 2)\nprint('done')", Verdict.PASSED),
        ("for i in range(n): print('step', i)\nprint(n * n)", Verdict.PASSED),
        ("for i in range(2000): print(i)", Verdict.FAILED),
        ("print(*range(2000))", Verdict.FAILED),
        ("for i in range(2000): print(i, 'x' * i, sep='\\n')", Verdict.FAILED),
        ("for i in range(2000): print('w' * (i % 7), i)", Verdict.FAILED),
        ("print(36)", Verdict.FAILED),
    ],
)
def test_printing_everything_prints_no_answer(grader: Grader, source: str, verdict: Verdict) -> None:
    """Of all lines that look like an answer the last one counts."""
    assert grader.grade(PRINTS, source, seed="prints").verdict is verdict


def test_code_that_raises_on_fresh_data_never_passes(grader: Grader) -> None:
    """Where an author asks for no other sizes, it is asked for all the same."""
    folder = ROOT / "exercises/tensor-basics/softmax/softmax-with-temperature"
    whole = exercise_in(folder)
    checks = [one for one in whole.checks if one.other_sizes is None]
    exercise = whole.model_copy(update={"checks": checks})
    guarded = f"assert rows == 4\n{whole.solution}"
    report = grader.grade(exercise.task(1), guarded, seed="guard")
    assert report.verdict is Verdict.FAILED
    assert grader.grade(exercise.task(1), whole.solution, seed="guard").verdict is Verdict.PASSED
