"""An author's statements on the judge's side make names, and none that could not be made whole."""

import torch

from graders.code_cache import CodeCache
from graders.judge.trials.block import Block, copied, run
from graders.judge.trials.predicates import predicate_names
from graders.judge.values.decode_observation import Observation
from graders.task import FACTS, Output, Task


def ran(text: str, *, absent: frozenset[str] = frozenset(), **names: object) -> Block:
    """Run a block over these names."""
    return run(text, dict(names), CodeCache(), absent=absent)


def test_statements_see_those_before_and_make_names() -> None:
    """Values, functions and modules, as anywhere in Python."""
    made = ran("import math\ntwice = x * 2\ndef root(n): return math.sqrt(n + twice)\nfour = root(12)", x=2).made
    assert made["four"] == 4
    assert made["root"](5) == 3


def test_name_that_waits_for_an_output_is_not_made_and_nobody_is_told() -> None:
    """Nor are those that are made from it; the others are."""
    block = ran("a = h + 1\nb = a + 1\nc = x + 1", absent=frozenset({"h"}), x=1)
    assert dict(block.made) == {"c": 2}
    assert block.waiting == {"a", "b"}
    assert not block.faults


def test_exception_is_told_once_with_its_line() -> None:
    """Of what follows from it nothing more is said, and the next statement runs."""
    block = ran("a = 1\nb = a / x\nc = b + 1\nd = 2", x=0)
    assert dict(block.made) == {"a": 1, "d": 2}
    assert block.broken == {"b", "c"}
    assert block.faults == ("raises ZeroDivisionError on its line 2: division by zero",)


def test_what_is_half_done_is_not_there_under_any_of_its_names() -> None:
    """A list that a loop was filling when it raised, an alias of it, and not what has nothing to do with it."""
    text = "found = []\nalso = found\nother = [1]\nfor n in (1, 0):\n    also.append(1 / n)"
    assert dict(ran(text).made) == {"other": [1]}


def test_what_a_function_has_half_done_is_not_there() -> None:
    """It changes a list of the block's, and raises."""
    text = "found = []\ndef fill(n):\n    found.append(n)\n    return 1 / n\nfirst = fill(1)\nlast = fill(0)"
    assert "found" not in ran(text).made
    assert "last" not in ran(text).made


def test_exit_is_an_exception_like_another() -> None:
    """It ends the statement, not the judge."""
    block = ran("a = exit()\nb = 1")
    assert dict(block.made) == {"b": 1}
    assert "SystemExit on its line 1" in block.faults[0]


def test_unmade_name_is_hidden_whatever_else_is_called_so() -> None:
    """An expression must not be judged by another value of that name."""
    assert "a" not in ran("a = 1 / x", x=0).over({"a": 5})


def test_names_are_copied_with_what_they_have_in_common() -> None:
    """A tensor, one with a graph, a list in a dictionary; what cannot be copied is there as it is."""
    table = torch.ones(2, requires_grad=True)
    names = copied({"x": torch.zeros(2), "y": table * 2, "d": {"l": [1]}, "torch": torch})
    names["x"].add_(1)
    names["y"].zero_()
    names["d"]["l"].append(2)
    assert names["torch"] is torch
    assert (table * 2).tolist() == [2, 2]


def test_facts_that_the_format_names_are_those_that_there_are() -> None:
    """Else an author could hide one, or be refused a name that is free."""
    task = Task("facts", 1, "", "", outputs=(Output("h"),), checks=())
    known = predicate_names(task, {}, Observation({}, {}, None, {}, "", (), {}), source="", failed=set(), lesson=True)
    assert {*known, "typed_in"} == {*FACTS}
