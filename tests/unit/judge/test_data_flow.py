"""One run of a solution serves several checks only where its text says plainly that it comes to the same."""

import pytest
import torch
from torch import nn

from graders.code_cache import CodeCache
from graders.judge.code.data_flow import made_from, serves
from graders.judge.trials.reference import Programs, Reference, Start
from graders.judge.values.decode_observation import Observation, Observed
from graders.starting_code import Setup
from graders.task import Task

SETUP = "import torch\nimport torch.nn as nn\nrows, size, x = 5, 3, torch.tensor([1, 2])\n"
PLAIN = "a = nn.Embedding(rows, size)\nb = nn.Embedding(rows, size)\nfound = a(x)\nother = b(x)\nh = found + other\n"
A, BOTH = frozenset({"a"}), frozenset({"a", "b"})


def test_a_plain_text_says_what_is_made_from_what() -> None:
    """Through as many steps as there are."""
    made = made_from(PLAIN, SETUP, CodeCache())
    assert made["found"] & made.keys() == {"a"}
    assert made["h"] & made.keys() == {"a", "b", "found", "other"}


def test_a_wider_start_serves_what_is_not_made_from_the_rest() -> None:
    """`found` comes only from `a`; the sum of both does not."""
    made = made_from(PLAIN, SETUP, CodeCache())
    assert serves(made, "found", given=A, wider=BOTH)
    assert not serves(made, "h", given=A, wider=BOTH)
    assert not serves(made, "a", given=frozenset({"b"}), wider=BOTH)
    assert not serves(made, "found", given=BOTH, wider=A)


def test_a_line_that_takes_from_both_may_stop_a_run_before_it_comes_to_more() -> None:
    """Then what comes after it is not made from the narrower start, and must not be made from the wider."""
    made = made_from(
        "a = nn.Embedding(rows, size)\nb = nn.Embedding(rows, size)\nh = a + b\nlast = a(x)", SETUP, CodeCache()
    )
    assert not serves(made, "last", given=A, wider=BOTH)


@pytest.mark.parametrize(
    "line",
    [
        "c = a",
        "c = a.weight.add_(1)",
        "c = nn.functional.dropout(found)",
        "c = nn.Embedding(len(found), size)",
        "c = nn.Embedding(rows, size, max_norm=1.0)",
        "c = nn.Embedding(found, size)",
        "a = nn.Embedding(rows, size)",
        "nn = found + found",
        "c = [one for one in found]",
        "for one in x: found = found + one",
        "c: int = a(x)",
        "def c(): return a",
        "c = unknown(a)",
        "c, d = a(x), b(x)",
        "this is no Python",
    ],
)
def test_of_any_other_text_nothing_is_said(line: str) -> None:
    """One line that may change something unseen is enough."""
    assert made_from(f"{PLAIN}{line}\n", SETUP, CodeCache()) == {}


def test_a_name_of_torch_that_stands_for_something_else_is_not_believed() -> None:
    """The starting code may make `nn` its own."""
    assert made_from(PLAIN, f"{SETUP}nn = object()\n", CodeCache()) == {}


def test_both_ways_give_the_same_numbers(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients of the main exercise, from one run for all checks and from one for each."""
    served, alone = _found(task), {}
    with monkeypatch.context() as patched:
        patched.setattr(Programs, "serving", lambda *_: [])
        alone = _found(task)
    assert served.keys() == alone.keys()
    assert all(torch.equal(served[name], alone[name]) for name in alone)


def _found(task: Task) -> dict[str, torch.Tensor]:
    names: dict[str, object] = {}
    Setup(task.setup, task.require).run([{}], names)
    start, programs = Start(names), Programs(task)
    _, pure = programs.run(task.solution, frozenset(), start.fresh)
    torch.manual_seed(1)
    outputs = {name: _table(*pure[name].weight.shape) for name in ("token_emb", "pos_emb")}
    observation = Observation(outputs, {}, None, {}, "", (), {})
    reference = Reference(task, start, observation, programs, pure=pure)
    found: dict[str, torch.Tensor] = {}
    for of, given in (("tok", ("token_emb",)), ("pos", ("pos_emb",)), ("h", ("token_emb", "pos_emb"))):
        run = reference.given(given, of=of)
        assert run is not None
        found[of] = run[0][of].detach()
        found |= {f"{of}>{to}": _gradient(reference, of, to, given) for to in given}
    return found


def _table(rows: int, size: int) -> Observed:
    table = nn.Embedding(rows, size).weight.detach()
    return Observed("table", tensor=table, shape=tuple(table.shape), requires_grad=True)


def _gradient(reference: Reference, of: str, to: str, given: tuple[str, ...]) -> torch.Tensor:
    gradient = reference.gradient(of, to, 7, given=given)
    assert gradient is not None
    return gradient
