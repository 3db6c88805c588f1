"""Fresh trials differ from the lesson, from each other and in all their sizes, and can be repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.faults import GraderFault
from graders.setup import Setup
from graders.task import Task
from graders.trials import candidates, draw_trials, new_seed


@given(seed=st.text(max_size=20))
def test_sizes_of_a_fresh_trial_all_differ(task: Task, seed: str) -> None:
    """With two sizes alike a mix-up would be invisible; the lesson's own sizes are never drawn either."""
    lesson = {name: rule.get("lesson") for name, rule in task.params.items()}
    for trial in draw_trials(task, seed)[1:]:
        for values in candidates(task.params, trial.draw):
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


def test_ranges_without_room_are_the_exercises_fault(task: Task) -> None:
    """Two sizes that can only be equal are told to us, not to a student."""
    same = {"kind": "integer", "low": 5, "high": 5}
    with pytest.raises(GraderFault):
        next(candidates({"a": same, "b": same}, 1))
