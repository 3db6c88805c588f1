"""Programs that got through where they should not, or were told what is not so: written to break what is promised."""

from collections.abc import Callable

import pytest

from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict
from graders.trials import new_seed
from tools.exercises import task_of

GradeSource = Callable[[str, str], Report]
ROWS = """
{before}
predicted = {predicted}
table = nn.Embedding(num_embeddings, embedding_dim)
vectors = table(ids)
loss_of(vectors).backward()
learned = {learned}
{after}
"""
ROWS_RIGHT = {
    "before": "",
    "predicted": "[0, 5, 8, 10]",
    "learned": "table.weight.grad.any(1)",
    "after": "",
}
ROWS_PASS = {
    "a tuple of one tensor": {"learned": "torch.where(table.weight.grad.any(1))"},
    "nonzero as a tuple": {"learned": "table.weight.grad.any(1).nonzero(as_tuple=True)"},
    "a name of the starting code used again": {"after": "weights = table.weight.grad"},
}
ROWS_FAIL = {
    "weights filled anew": {"before": "weights.fill_(1.0)", "predicted": "ids.unique()"},
    "weights bound anew": {"before": "weights = torch.ones(len(ids))", "predicted": "ids.unique()"},
    "gradients above zero": {"learned": "(table.weight.grad > 0).any(1)"},
    "gradients of one": {"learned": "(table.weight.grad == 1).any(1)"},
}
LAYER = """
class MyEmbedding(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, d))
        self.kept = {{}}

    def {name}({parameters}):
        {body}
"""
LAYER_RIGHT = {"name": "forward", "parameters": "self, ids", "body": "return self.weight[ids]"}
LAYER_FAIL = {
    "results kept by shape": {"body": "return self.kept.setdefault(ids.shape, self.weight[ids])"},
    "ids folded to the lesson's": {"body": "return self.weight[ids % 10]"},
    "ids of the lesson": {"parameters": "self, x"},
}
UNSEEN = """
class MyEmbedding(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = torch.randn(n, d, requires_grad=True)

    def parameters(self, recurse=True):
        yield self.weight

    def forward(self, ids):
        return self.weight[ids]
"""
NO_ROOM = {
    "no method called forward": ({"name": "foward"}, "forward", "has no method `forward`"),
    "self forgotten": ({"parameters": "ids"}, "forward", "takes `ids` first and no `self`"),
}
STRETCHED = """
table = torch.randn(1, n_embd).expand(vocab_size, n_embd)
vectors = table[ids.T.reshape(ids.shape)]
table_bytes = vocab_size * n_embd * 4
table_mib = table_bytes / 2**20
batch_bytes = batch_size * block_size * n_embd * 4
"""


@pytest.fixture
def grade_source(grader: Grader) -> GradeSource:
    """Give a function that grades a source against an exercise, on trials that nobody knows."""
    return lambda exercise, source: grader.grade(task_of(exercise), source, seed=new_seed())


def said(report: Report, check: str) -> str:
    """Return what a failed check says."""
    (one,) = (one for one in report.checks if one.id == check)
    assert one.status is CheckStatus.FAILED
    return one.message


@pytest.mark.parametrize("name", ROWS_PASS)
def test_rows_may_be_told_in_any_usual_way(grade_source: GradeSource, name: str) -> None:
    """What torch itself gives as the rows is right, and so is a name that is used again once it has served."""
    assert grade_source("which-rows-learn", ROWS.format(**(ROWS_RIGHT | ROWS_PASS[name]))).verdict is Verdict.PASSED


@pytest.mark.parametrize("name", ROWS_FAIL)
def test_rows_that_learn_are_asked_for_by_the_loss_that_was_given(grade_source: GradeSource, name: str) -> None:
    """Neither another loss nor a look for some gradients only is what was asked for."""
    assert grade_source("which-rows-learn", ROWS.format(**(ROWS_RIGHT | ROWS_FAIL[name]))).verdict is Verdict.FAILED


@pytest.mark.parametrize("name", LAYER_FAIL)
def test_layer_looks_up_what_it_is_called_with(grade_source: GradeSource, name: str) -> None:
    """Other ids of the same shape give other rows, and so do ids that the lesson's table has no row for."""
    report = grade_source("embedding-from-scratch", LAYER.format(**(LAYER_RIGHT | LAYER_FAIL[name])))
    said(report, "forward")
    assert report.misconception is None or report.misconception.tag != "only-2d-ids"


def test_parameter_that_only_one_method_knows_is_none(grade_source: GradeSource) -> None:
    """A plain tensor does not become a parameter by being named in `parameters()`."""
    assert "What makes a tensor one that a layer owns?" in said(grade_source("embedding-from-scratch", UNSEEN), "table")


@pytest.mark.parametrize("name", NO_ROOM)
def test_call_that_finds_no_room_is_told_as_such(grade_source: GradeSource, name: str) -> None:
    """No line of the student's has run then; what is told is what does not fit, not that the rows are wrong."""
    changed, check, words = NO_ROOM[name]
    assert words in said(grade_source("embedding-from-scratch", LAYER.format(**(LAYER_RIGHT | changed))), check)


def test_init_spelled_with_one_underscore_is_not_called_no_layer(grade_source: GradeSource) -> None:
    """A class that is built on `nn.Module` does not hear that it is not."""
    source = LAYER.format(**LAYER_RIGHT).replace("__init__(self", "_init_(self")
    assert "two underscores" in said(grade_source("embedding-from-scratch", source), "class")


def test_names_of_the_probe_are_not_shown(grade_source: GradeSource) -> None:
    """What the author's lines made is called by what they did."""
    report = grade_source("embedding-from-scratch", LAYER.format(**(LAYER_RIGHT | {"body": "print(ids)"})))
    assert said(report, "forward").startswith("`layer(ids)` is a NoneType")
    assert said(report, "any-shape").startswith("`layer(ids[0, 1])` is a NoneType")


def test_rows_that_are_one_row_are_no_table(grade_source: GradeSource) -> None:
    """Where no other numbers can be put in, a wrong look-up could not be seen."""
    assert "share one place" in said(grade_source("ids-to-vectors", STRETCHED), "table")


def test_text_in_the_place_of_a_number_is_called_a_text(grade_source: GradeSource) -> None:
    """Its number may be right, so it is not called wrong."""
    source = STRETCHED.replace("table_bytes / 2**20", "f'{table_bytes / 2**20:.2f}'")
    assert said(grade_source("ids-to-vectors", source), "table-mib").startswith("`table_mib` is a text")


def test_pair_is_called_a_pair(grade_source: GradeSource) -> None:
    """`max` over an axis gives two tensors, and its result is not called by the type's inner name."""
    source = (
        "scaled = logits / temperature\nprobabilities = torch.softmax(scaled, dim=-1)\n"
        "choice = probabilities.max(dim=-1)\n"
    )
    assert "the pair that `max` gives" in said(grade_source("softmax-with-temperature", source), "choice")


def test_class_that_keeps_its_parts_is_not_said_to_lack_an_equals_sign(grade_source: GradeSource) -> None:
    """`self.token_emb = …` does stand left of `=`; the name outside of the class is what is missing."""
    source = (
        "class E(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.token_emb = nn.Embedding(vocab_size, n_embd)\n"
        "        self.pos_emb = nn.Embedding(block_size, n_embd)\n"
        "    def forward(self, x):\n        return self.token_emb(x) + self.pos_emb(torch.arange(block_size))\n"
        "h = E()(x)\n"
    )
    assert grade_source("token-and-position-embeddings", source).misconception is None
