"""
The course of one judge run.

The order comes before the student's run is over, so that the reference is ready when the claims arrive.
"""

import builtins
from typing import Any

import torch

from graders import wire
from graders.judge import outcome
from graders.judge.claimed import Claim, ClaimRefused, read
from graders.judge.misconceptions import recognise
from graders.judge.printed import printed
from graders.judge.reference import Names, Reference
from graders.judge.trial import Trial, with_inputs
from graders.setup import run_setup
from graders.student.execution import Program
from graders.student.main import warm_up
from graders.task import Task
from graders.wire import Frame, FrameType

__all__ = ["main", "warm_up"]
Order = dict[str, Any]


def underway() -> bool:
    """A judge run is ours from beginning to end."""
    return False


def main(job: int, answer: int) -> None:
    """Judge the claims that come in on `job`; a fault of the exercise or of ours is told as such."""
    order = wire.receive(job).body
    task = Task.from_json(order["task"])
    try:
        prepared = [_prepare(task, trial) for trial in order["trials"]]
    except Exception as fault:  # noqa: BLE001  whatever an author's code raises
        prepared, told = [], f"{type(fault).__name__}: {fault}"
    claims = wire.receive(job)
    body = _outcome(task, order["trials"], prepared, claims) if prepared else {"fault": told}
    wire.send(answer, Frame(FrameType.OUTCOME, body))


def _prepare(task: Task, trial: Order) -> tuple[Names, Names, int]:
    """The starting code's names and the solution's, on one trial."""
    names: Names = {"__name__": "__main__", "__builtins__": builtins}
    taken = run_setup(task.setup, task.require, trial["candidates"], names)
    pure = dict(names)
    fault = Program(task.solution).run(pure)
    if fault is not None:
        raise ValueError(f"the exercise's own solution fails: {fault['type']}: {fault['message']}")
    return names, pure, taken


def _outcome(task: Task, orders: list[Order], prepared: list[tuple[Names, Names, int]], frame: Frame) -> Order:
    try:
        claims = list(_claims(frame))
    except ClaimRefused:
        return {"refused": True}
    trials = [
        _trial(task, order, made, claim, lesson=number == 0)
        for number, (order, made, claim) in enumerate(zip(orders, prepared, claims, strict=False))
    ]
    for trial in trials:
        outcome.judge_trial(trial)
    found = outcome.results(task, trials)
    lesson = trials[0]
    wrong = any(one.status is outcome.FAILED for one in found) or lesson.claim.fault is not None
    parsed = lesson.claim.fault is None or lesson.claim.fault.parsed
    complete = len(trials) == 1 + task.fresh_trials
    return {
        "checks": [outcome.as_json(one) for one in found],
        "misconception": outcome.as_json(recognise(trials)) if wrong and parsed and complete else None,
        "error": outcome.as_json(outcome.student_error(lesson)),
        "memory": any(one.claim.fault is not None and one.claim.fault.memory for one in trials),
        "report": printed(lesson, task.report) if parsed else "",
        "tensors": [outcome.as_json(one) for one in outcome.shapes(lesson)],
    }


def _trial(task: Task, order: Order, made: tuple[Names, Names, int], claim: Claim, *, lesson: bool) -> Trial:
    names, pure, taken = made
    started = with_inputs(task, names, claim)
    return Trial(
        task=task,
        names=started,
        pure=pure,
        claim=claim,
        reference=Reference(task, started, claim),
        seed=order["seed"],
        lesson=lesson,
        values=order["candidates"][taken],
    )


def _claims(frame: Frame) -> Any:  # noqa: ANN401
    """The claims one by one; their tensors lie one behind the other."""
    rest = memoryview(frame.tensors)
    for one in frame.body["trials"]:
        packed, rest = bytes(rest[: one["claim_bytes"]]), rest[one["claim_bytes"] :]
        gradients, rest = bytes(rest[: one["gradient_bytes"]]), rest[one["gradient_bytes"] :]
        with torch.no_grad():
            yield read(one["claim"], packed, one["gradients"], gradients)
