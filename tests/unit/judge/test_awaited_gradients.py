"""A trial is judged as far as it can be while its gradients are still to come."""

import copy
from dataclasses import replace

import pytest
import torch

from graders.judge import checks, warmup
from graders.judge.compilation import CompiledExercise
from graders.judge.session import Judge
from graders.judge.trials.trial import Outcome, Trial
from graders.judge.values.decode_observation import AwaitedGradients, Gradients, UnreadableObservation
from graders.protocol.frames import Frame, FrameType
from graders.student import warmup as sample
from graders.task import Check
from graders.trials import TrialRequest

MADE, FOUND = warmup._frames()[:2]  # noqa: SLF001  what a run of the sample hands over


def judge() -> Judge:
    """One that has the sample's first trial prepared."""
    opened = Judge(CompiledExercise.of(replace(warmup._TASK, fresh_trials=0)))  # noqa: SLF001
    opened.begin(sample.SOURCE)
    opened.prepare(TrialRequest(None, sample.SEED))
    return opened


def statuses(opened: Judge) -> dict[str, str]:
    """Of each check, what became of it."""
    return {one["id"]: one["status"] for one in opened.outcome()["checks"]}


def test_table_is_judged_before_anybody_waits_for_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks keep the author's order, and only the first that asks for gradients waits for them."""
    events: list[str] = []

    def noted(trial: Trial, check: Check) -> Outcome:
        events.append(check.id)
        return checks.judge(trial, check)

    def receive() -> Frame:
        events.append("gradients")
        return FOUND

    monkeypatch.setattr("graders.judge.outcome.results.judge", noted)
    with sample.untouched():
        assert judge().take(MADE, receive)
    assert events[:4] == ["table", "places", "found", "gradients"]
    assert events.count("gradients") == 1


def test_gradients_that_will_not_come_fail_what_asks_for_them() -> None:
    """A run may be ended while it is at them: what it made before that is judged all the same."""
    opened = judge()
    with sample.untouched():
        opened.take(MADE, lambda: Frame(FrameType.TRIAL_GRADIENTS, {"gradients": None}))
    found = statuses(opened)
    assert found["learns"] == "failed"
    assert found["h"] == "passed"


@pytest.mark.parametrize("words", [{}, {"h>table": "tensor", "found>table": "tensor"}, {"h>table": 3}])
def test_gradients_that_no_harness_writes_are_refused(words: dict[str, object]) -> None:
    """Even if an author's expression was the first to look at them, and told what it met as the author's fault."""
    asks = replace(warmup._TASK.checks[4], expression="gradient('h', 'table') is not None")  # noqa: SLF001
    task = replace(warmup._TASK, checks=(asks, *warmup._TASK.checks), fresh_trials=0)  # noqa: SLF001
    opened = Judge(CompiledExercise.of(task))
    opened.begin(sample.SOURCE)
    opened.prepare(TrialRequest(None, sample.SEED))
    frames = [Frame(FrameType.TRIAL_GRADIENTS, {"gradients": {"gradients": words, "again": False}})]
    with sample.untouched(), pytest.raises(UnreadableObservation):
        opened.take(MADE, frames.pop)


def test_awaited_gradients_are_received_once_and_copies_are_their_own() -> None:
    """What is made of a copy, by an author's statements, is not seen in the gradients themselves."""
    asked: list[bool] = []

    def receive() -> Gradients:
        asked.append(True)
        return {"h>table": torch.zeros(2)}

    awaited = AwaitedGradients(receive)
    copied = copy.deepcopy(awaited)
    assert not asked
    mine = copied["h>table"]
    assert isinstance(mine, torch.Tensor)
    mine += 1
    assert torch.equal(torch.as_tensor(awaited["h>table"]), torch.zeros(2))
    assert list(awaited) == ["h>table"]
    assert len(asked) == 1
