"""Fresh trials differ from the lesson, from each other and in all their sizes, and can be repeated."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.faults import GraderFault
from graders.starting_code import Setup, SetupFault
from graders.task import Task
from graders.trials import candidates, draw_trials, new_seed


@given(seed=st.text(max_size=20))
def test_sizes_of_a_fresh_trial_all_differ(task: Task, seed: str) -> None:
    """With two sizes alike a mix-up would be invisible; the lesson's own sizes are never drawn either."""
    lesson = {name: rule.get("lesson") for name, rule in task.params.items()}
    for trial in draw_trials(task, seed)[1:]:
        for values in itertools.islice(candidates(task.params, trial.draw), 20):
            sizes = [value for value in values.values() if isinstance(value, int)]
            assert len(set(sizes)) == len(sizes) == 3
            assert not any(values[name] == lesson[name] for name in values)


def test_the_same_seed_draws_the_same_trials(task: Task) -> None:
    """What failed once can be looked at again."""
    seed = new_seed()
    assert draw_trials(task, seed) == draw_trials(task, seed)
    assert draw_trials(task, seed) != draw_trials(task, new_seed())


def test_a_fresh_trial_fulfils_what_the_author_requires(task: Task) -> None:
    """In the main exercise the largest id is in the vocabulary but not in the batch, whatever the seed."""
    setup = Setup(task.setup, task.require)
    for number in range(30):
        for trial in draw_trials(task, f"seed-{number}")[1:]:
            names: dict[str, object] = {}
            setup.run(candidates(task.params, trial.draw), names)
            assert eval(task.require, names)  # noqa: S307


def test_starting_code_runs_as_written_or_with_other_values() -> None:
    """A parameter's assignment is replaced where it stands, and what follows from it follows."""
    setup = Setup("n = 8\nrows = list(range(n))\n", "")
    lesson: dict[str, object] = {}
    fresh: dict[str, object] = {}
    setup.run([{}], lesson)
    setup.run([{"n": 3}], fresh)
    assert lesson["rows"] == list(range(8))
    assert fresh["rows"] == [0, 1, 2]


SEEDED = """
import random
import numpy as np
import torch
rows = 2
generator = torch.Generator().manual_seed(7)
again = torch.Generator().manual_seed(7)
torch.manual_seed(seed=7)
drawn = [
    torch.rand(3, generator=generator).tolist(),
    torch.rand(3, generator=torch.Generator().manual_seed(7)).tolist(),
    torch.rand(3).tolist(),
    random.Random(7).random(),
    np.random.default_rng(7).random(),
]
random.seed("seven")
np.random.seed(7)
drawn += [random.random(), float(np.random.rand())]

def later():
    return torch.rand(3, generator=torch.Generator().manual_seed(8)).tolist()
"""


def made(setup: Setup, params: dict[str, dict[str, object]], draw: int | None) -> dict[str, object]:
    """Return the names of a trial's starting code."""
    names: dict[str, object] = {}
    setup.run(candidates(params, draw), names)
    return names


def test_seeds_of_the_starting_code_are_the_trials_own() -> None:
    """The lesson's are as written; a fresh trial has others, the same in every process; equal ones stay equal."""
    setup = Setup(SEEDED, "")
    lesson = made(setup, {}, None)
    plain: dict[str, object] = {}
    exec(SEEDED, plain)  # noqa: S102
    assert lesson["drawn"] == plain["drawn"]
    one, other = made(setup, {}, 1), made(setup, {}, 2)
    assert one["drawn"] == made(Setup(SEEDED, ""), {}, 1)["drawn"]
    assert one["drawn"][0] == one["drawn"][1]  # type: ignore[index]
    for number in range(7):
        values = [names["drawn"][number] for names in (lesson, one, other)]  # type: ignore[index]
        assert values[0] != values[1] != values[2] != values[0]
    assert one["later"]() != lesson["later"]()  # type: ignore[operator]


def test_rare_requirement_is_met() -> None:
    """One draw in two hundred will do: it is found, and nothing else is ever taken."""
    rows = {"rows": {"kind": "integer", "low": 1, "high": 200}}
    for draw in range(20):
        assert made(Setup("rows = 2", "rows == 77"), rows, draw)["rows"] == 77


def test_requirement_on_parameters_is_asked_before_the_starting_code_runs() -> None:
    """Data that the starting code cannot even be made with are left out, in any part of a longer requirement."""
    setup = Setup("rows = 2\nx = [1, 2, 3][rows - 1]", "len(str(rows)) == 1 and rows < 4 and x > 1")
    rows = {"rows": {"kind": "integer", "low": 1, "high": 200}}
    assert {made(setup, rows, draw)["x"] for draw in range(20)} == {2, 3}


def test_requirement_on_data_alone_draws_new_seeds() -> None:
    """Without any parameter the seeds are drawn again until it holds."""
    setup = Setup("import random\nrandom.seed(1)\nx = random.random()", "x < 0.05")
    assert len({made(setup, {}, draw)["x"] for draw in range(10)}) == 10
    assert all(made(setup, {}, draw)["x"] < 0.05 for draw in range(10))  # type: ignore[operator]


def test_requirement_that_never_holds_is_the_exercises_fault() -> None:
    """It is named, and nobody is graded on data for which it does not hold."""
    rows = {"rows": {"kind": "integer", "low": 1, "high": 20}}
    for require in ("rows > 20", "rows > 20 and rows < 30", "sum([rows, 0]) > 20", "x > 20"):
        with pytest.raises(SetupFault, match=f"`require: {re.escape(require)}` does not hold for any"):
            made(Setup("rows = 2\nx = rows", require), rows, 1)


@pytest.mark.parametrize(
    ("setup", "require", "told"),
    [
        ("rows = 2\nx = [1, 2][rows]", "", "starting code raises IndexError on its line 2: list index out of range"),
        ("rows = 2\nx = 1", "x / 0", "`require` raises ZeroDivisionError: division by zero"),
    ],
)
def test_starting_code_that_raises_is_told_with_line_and_values(setup: str, require: str, told: str) -> None:
    """Neither a student nor an answer is at fault."""
    with pytest.raises(SetupFault) as caught:
        made(Setup(setup, require), {"rows": {"kind": "integer", "low": 5, "high": 5}}, 1)
    assert told in str(caught.value)
    assert "(drawn: rows = 5)" in str(caught.value)


def test_ranges_without_room_are_the_exercises_fault(task: Task) -> None:
    """Two sizes that can only be equal are told to us, not to a student."""
    same = {"kind": "integer", "low": 5, "high": 5}
    with pytest.raises(GraderFault):
        next(candidates({"a": same, "b": same}, 1))
