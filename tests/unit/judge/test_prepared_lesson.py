"""The lesson's trial is prepared before a submission is there, and nothing of the verdict hangs on it."""

import random
from dataclasses import replace

import pytest
import torch

from graders.judge import warmup
from graders.judge.compilation import CompiledExercise
from graders.judge.session import Judge
from graders.student import warmup as sample
from graders.task import Task
from graders.trials import TrialRequest

TASK = replace(warmup._TASK, setup=sample.SETUP + "\nimport random\nnoise = torch.rand(3), random.random()\n")  # noqa: SLF001


def prepared(task: Task, *, ahead: bool) -> tuple[Judge, list[object]]:
    """A judge with both trials prepared, and what their starting code drew at random."""
    judge = Judge(CompiledExercise.of(task))
    if ahead:
        judge.prepare_lesson()
        torch.rand(5), random.random()  # as something else in the process may
    judge.begin(sample.SOURCE)
    for draw in sample.DRAWS:
        judge.prepare(TrialRequest(draw, sample.SEED))
    drawn = [one.start.names["noise"] for one in judge._prepared]  # noqa: SLF001
    return judge, [[one[0].tolist(), one[1]] for one in drawn]


def outcome(judge: Judge) -> dict[str, object]:
    """On what a run of the sample hands over."""
    frames = iter(warmup._frames())  # noqa: SLF001
    for observation in frames:
        judge.take(observation, frames.__next__)
    return judge.outcome()


def test_trial_prepared_ahead_is_the_one_prepared_in_its_turn() -> None:
    """What its code drew at random, the trial after it, and the outcome are the same."""
    random.seed(1)
    torch.manual_seed(1)
    state = random.getstate(), torch.get_rng_state()
    with sample.untouched():
        in_turn, drawn = prepared(TASK, ahead=False)
        expected = outcome(in_turn)
        random.setstate(state[0])
        torch.set_rng_state(state[1])
        ahead, drawn_ahead = prepared(TASK, ahead=True)
        assert drawn_ahead == drawn
        assert outcome(ahead) == expected


def test_solution_that_fails_ahead_is_told_in_its_turn() -> None:
    """Nothing is kept of what did not come to its end."""
    judge = Judge(CompiledExercise.of(replace(warmup._TASK, solution="1 / 0")))  # noqa: SLF001
    with sample.untouched():
        with pytest.raises(ValueError, match="ZeroDivisionError"):
            judge.prepare_lesson()
        judge.begin(sample.SOURCE)
        with pytest.raises(ValueError, match="ZeroDivisionError"):
            judge.prepare(TrialRequest(None, sample.SEED))
