"""Nobody is told of a mix-up that never was: what a report names is what its student did."""

import dataclasses
from collections.abc import Callable

import pytest

from app.authoring import CodeExercise, load_code_exercise
from app.authoring.exercise import Wrong
from app.authoring.self_test.runner import SelfTest
from app.authoring.self_test.slip_catalogue import SLIPS
from app.settings import ROOT
from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict
from graders.trials import new_seed
from tools.exercises import code_exercises, task_of
from tools.labelled_cases import CASES

EXERCISES = {one.id: one for one in code_exercises("")}
REPORTED = {
    "33_float_ids.py": ("embedding-equals-linear", {"emb-out"}),
    "34_scatter_float_index.py": ("embedding-equals-linear", {"onehot"}),
    "35_positions_with_batch_axis.py": ("token-and-position-embeddings", {"position-table"}),
    "37_list_of_parameters.py": ("embedding-from-scratch", {"table"}),
    "40_bias_is_needed.py": ("embedding-equals-linear", set()),
    "40_error_after_backward.py": ("which-rows-learn", {"learned"}),
    "40_vectors_grad.py": ("which-rows-learn", {"learned"}),
}
SCRATCH = """
class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        {0}

    def forward(self, ids):
        {1}
"""
HELD = {
    "a list of rows": (
        "self.rows = [torch.randn(embedding_dim) for _ in range(num_embeddings)]",
        "torch.stack([self.rows[i] for i in ids.flatten().tolist()])",
    ),
    "a dictionary of rows": (
        "self.rows = {i: torch.randn(embedding_dim) for i in range(num_embeddings)}",
        "torch.stack([self.rows[i] for i in ids.flatten().tolist()])",
    ),
    "an array": (
        "self.rows = torch.randn(num_embeddings, embedding_dim).numpy()",
        "torch.tensor(self.rows[ids.flatten().numpy()])",
    ),
}
ROWS = """
predicted = {predicted}
table = {table}
vectors = table(ids)
{back}
learned = {learned}
"""
ROWS_RIGHT = {
    "predicted": "[0, 5, 8, 10]",
    "table": "nn.Embedding(num_embeddings, embedding_dim)",
    "back": "loss_of(vectors).backward()",
    "learned": "table.weight.grad.any(1)",
}
ROWS_WRONG = {
    "the ids instead of the gradient": ({"learned": "ids.unique()"}, "ids-instead-of-gradient"),
    "all that counts instead of the gradient": (
        {"learned": "ids[weights != 0].unique()"},
        "ids-instead-of-gradient",
    ),
    "the batch as a prediction": ({"predicted": "ids.tolist()"}, "copied-ids-predicted"),
    "no backward": ({"back": ""}, "backward-forgotten"),
    "no backward, and the gradient searched": (
        {"back": "", "learned": "(table.weight.grad != 0).any(dim=1).nonzero()"},
        "backward-forgotten",
    ),
    "a padded row": (
        {"table": "nn.Embedding(num_embeddings, embedding_dim, padding_idx=3)"},
        "padding-idx-stops-a-row",
    ),
}
POSITIONS = """
token_emb = {token}
pos_emb = {position}
tok = {tok}
pos = {pos}
h = tok + pos
"""
POSITIONS_RIGHT = {
    "token": "nn.Embedding(vocab_size, n_embd)",
    "position": "nn.Embedding(block_size, n_embd)",
    "tok": "token_emb(x)",
    "pos": "pos_emb(torch.arange(block_size))",
}
POSITIONS_TOLD = {
    "arguments of a look-up swapped": ({"tok": "nn.functional.embedding(token_emb.weight, x)"}, None),
    "ids as floating-point numbers": ({"tok": "token_emb(x.float())"}, "ids-not-whole-numbers"),
    "a linear layer": ({"token": "nn.Linear(vocab_size, n_embd)"}, "linear-as-table"),
    "a linear layer, swapped, and its weight": (
        {"token": "nn.Linear(n_embd, vocab_size, bias=False)", "tok": "token_emb.weight[x]"},
        "linear-as-table",
    ),
    "tables of chance": (
        {
            "token": "torch.rand(vocab_size, n_embd)",
            "position": "torch.rand(block_size, n_embd)",
            "tok": "token_emb[x]",
            "pos": "pos_emb[torch.arange(block_size)]",
        },
        "plain-tensor-table",
    ),
    "another answer on other sizes, with no size in it": (
        {"pos": "pos_emb(torch.arange(block_size)) * (batch_size == 32)"},
        None,
    ),
    "sizes typed in": ({"pos": "pos_emb(torch.arange(8))"}, "sizes-typed-in"),
    "a size typed in as a list": ({"pos": "pos_emb(torch.tensor([0, 1, 2, 3, 4, 5, 6, 7]))"}, "sizes-typed-in"),
    "another row that is padding": (
        {"token": "nn.Embedding(vocab_size, n_embd, padding_idx=3)"},
        "padding-idx-stops-a-row",
    ),
}
GradeSource = Callable[[str, str], Report]


@pytest.fixture
def grade_source(grader: Grader) -> GradeSource:
    """Give a function that grades a text against the shipped exercise of an id."""
    return lambda exercise, source: grader.grade(task_of(exercise), source, seed=new_seed())


def tag(report: Report) -> str | None:
    """Return what a report names."""
    return report.misconception.tag if report.misconception else None


@pytest.mark.parametrize("name", REPORTED)
def test_reported_slip_is_not_taken_for_another(grade_source: GradeSource, name: str) -> None:
    """Each public report fails where it went wrong, and is told of no mix-up that is not its own."""
    exercise, failing = REPORTED[name]
    report = grade_source(exercise, (CASES / "reports" / name).read_text(encoding="utf-8"))
    assert {one.id for one in report.checks if one.status is CheckStatus.FAILED} >= failing
    assert report.verdict is not Verdict.PASSED
    assert tag(report) is None


def test_gradient_divided_by_how_often_an_id_comes_up_is_right(grade_source: GradeSource) -> None:
    """What is asked is that every row that was looked up learns."""
    source = (CASES / "reports/44_scale_by_frequency.py").read_text(encoding="utf-8")
    assert grade_source("token-and-position-embeddings", source).verdict is Verdict.PASSED


def test_class_that_is_drawn_is_never_the_likeliest_by_luck(grader: Grader) -> None:
    """Fresh data have so many rows that a chance shows."""
    source, task = (
        (CASES / "reports/46_drawn_by_chance.py").read_text(encoding="utf-8"),
        task_of("softmax-with-temperature"),
    )
    reports = [grader.grade(task, source, seed=new_seed()) for _ in range(10)]
    assert {one.verdict for one in reports} == {Verdict.FAILED}
    assert {tag(one) for one in reports} == {"choice-drawn"}


@pytest.mark.parametrize("held", HELD)
def test_table_that_torch_does_not_see_is_no_table_made_anew(grade_source: GradeSource, held: str) -> None:
    """Rows that stay the same from call to call were not made in `forward`."""
    made, used = HELD[held]
    report = grade_source("embedding-from-scratch", SCRATCH.format(made, f"return {used}.view(*ids.shape, -1)"))
    assert "`parameters()`" in next(one.message for one in report.checks if one.id == "table")
    assert tag(report) is None


@pytest.mark.parametrize("slip", ROWS_WRONG)
def test_point_of_the_rows_that_learn_cannot_be_copied_past(grade_source: GradeSource, slip: str) -> None:
    """What follows from the ids is not what the gradient says, and a slip is called what it is."""
    changed, wanted = ROWS_WRONG[slip]
    report = grade_source("which-rows-learn", ROWS.format(**(ROWS_RIGHT | changed)))
    assert report.verdict in (Verdict.FAILED, Verdict.ERROR)
    assert tag(report) == wanted


def test_rows_that_learn_are_found_by_their_gradient(grade_source: GradeSource) -> None:
    """The way that the statement describes passes."""
    assert grade_source("which-rows-learn", ROWS.format(**ROWS_RIGHT)).verdict is Verdict.PASSED


@pytest.mark.parametrize("slip", POSITIONS_TOLD)
def test_slip_with_tables_is_called_what_it_is(grade_source: GradeSource, slip: str) -> None:
    """A sign that two mix-ups share names neither of them for the other."""
    changed, wanted = POSITIONS_TOLD[slip]
    report = grade_source("token-and-position-embeddings", POSITIONS.format(**(POSITIONS_RIGHT | changed)))
    assert report.verdict in (Verdict.FAILED, Verdict.ERROR)
    assert tag(report) == wanted


def test_swapped_arguments_are_told_as_such(grade_source: GradeSource) -> None:
    """Ids that are whole numbers are not called fractions, because they stand in the wrong place."""
    source = POSITIONS.format(**(POSITIONS_RIGHT | {"tok": "nn.functional.embedding(token_emb.weight, x)"}))
    report = grade_source("token-and-position-embeddings", source)
    assert report.error is not None
    assert "In which order" in report.error.explanation


def test_untouched_starter_is_not_told_of_our_own_lines(grade_source: GradeSource) -> None:
    """An empty class hears what a layer lacks, not what the author's lines stumbled over."""
    report = grade_source("embedding-from-scratch", EXERCISES["embedding-from-scratch"].starter)
    said = " ".join(one.message for one in report.checks)
    assert "StopIteration" not in said
    assert "`parameters()`" in said


def test_stock_of_slips_are_enough_to_try_a_predicate_with() -> None:
    """There are sixty at least, each with a name of its own, and most have a place in each exercise."""
    assert len({slip.name for slip in SLIPS}) == len(SLIPS) >= 60
    assert all(sum(slip.on(one) is not None for slip in SLIPS) >= 50 for one in EXERCISES.values())


@pytest.mark.parametrize(("number", "exercise"), list(enumerate(EXERCISES.values())), ids=list(EXERCISES))
def test_no_common_slip_is_misnamed(grader: Grader, number: int, exercise: CodeExercise) -> None:
    """A third of the common slips, each called one of its own names or nothing; `kelolo check` tries them all."""
    found = {}
    for slip in SLIPS[number % 3 :: 3]:
        source = slip.on(exercise)
        told = tag(grader.grade(exercise.task(1), source, seed=new_seed())) if source else None
        if told is not None and told not in slip.tags:
            found[slip.name] = told
    assert found == {}


def test_predicate_that_fits_any_fault_is_refused(grader: Grader) -> None:
    """`kelolo check` names the variant, the slip that it is named for, and shows the slip."""
    example = load_code_exercise(ROOT / "exercises/tensor-basics/softmax/softmax-with-temperature")
    (forgotten,) = (one for one in example.wrong if one.tag == "temperature-forgotten")
    broad = Wrong(**{**forgotten.model_dump(), "when": "fault is not None or bool(failed)", "failing": []})
    exercise = example.model_copy(update={"wrong": [broad], "equivalents": []})
    found = SelfTest(exercise, grader, seeds=1, progress=lambda *_: None).run().findings
    named = [one for one in found if "is named for the slip" in one.problem]
    assert named
    assert all("temperature-forgotten" in one.subject and one.diff for one in named)


def test_variant_that_does_not_fail_its_checks_is_not_named(grader: Grader) -> None:
    """A predicate that holds names nothing where the checks of its variant have passed."""
    task = task_of("softmax-with-temperature")
    wrong = tuple(dataclasses.replace(one, when="True") for one in task.wrong if one.tag == "temperature-forgotten")
    source = task.solution.replace("argmax", "argmin")
    report = grader.grade(dataclasses.replace(task, version=7, wrong=wrong), source, seed=new_seed())
    assert report.verdict is Verdict.FAILED
    assert tag(report) is None
