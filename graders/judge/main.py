"""
What a judge's process does from its first moment: rehearse while there is time, then judge what is ordered, one
submission to its exercise after the other.

`graders.judge.course` is how a submission is judged.
"""

import gc
import random
import traceback
from collections.abc import Callable
from typing import Any

import torch

from graders import wire
from graders.judge import rehearsal
from graders.judge.claimed import ClaimRefused
from graders.judge.compilation import Exercise, for_judge, for_student
from graders.judge.course import Judge
from graders.judge.lasting import lasting
from graders.judge.survey import survey
from graders.student import main as student
from graders.task import Task
from graders.wire import Frame, FrameType

_REHEARSALS = 10
_GARBAGE = 100_000  # objects made and not freed before cycles are looked for: in most verdicts, never


def warm_up() -> None:
    """Do once what every run would do at first, the student's part of it too."""
    student.warm_up()
    for _ in range(_REHEARSALS):
        rehearsal.rehearse()


def underway() -> bool:
    """A judge run is ours from beginning to end."""
    return False


def main(inlet: int, outlet: int) -> None:
    """
    Judge the claims that come in on `inlet`.

    What goes wrong before a claim is looked at is told as `fault`: it is the exercise's. What goes wrong after that is
    told as `failure`: whose it is depends on whether the exercise's own solution can be judged: the parent finds out.
    """
    gc.set_threshold(_GARBAGE)
    torch.get_num_threads()  # as torch itself wants it done in a fork
    random.seed()
    if not wire.waiting(inlet):
        rehearsal.rehearse()
    judge: Judge | None = None
    while True:  # until the parent ends it
        order = wire.receive(inlet)
        if order.type is FrameType.COMPILE:
            wire.send(outlet, _compiled(Task.from_json(order.body["task"])))
            return
        if order.type is FrameType.SURVEY:
            wire.send(outlet, Frame(FrameType.SURVEYED, survey(Task.from_json(order.body["task"]))))
            return
        if judge is None:
            judge = Judge(_exercise(order))
        amiss = _begun(judge, order.body)
        while (frame := wire.receive(inlet)).type is not FrameType.END:  # to the end, or the parent could not go on
            amiss = amiss or _taken(judge, frame)
        wire.send(outlet, Frame(FrameType.OUTCOME, amiss or _tried(judge.outcome)))


def _exercise(order: Frame) -> Exercise:
    """Of the first job, compiled or as it is."""
    return Exercise.unpacked(order.tensors) if order.tensors else Exercise.of(Task.from_json(order.body["task"]))


def _compiled(task: Task) -> Frame:
    """The exercise for later runs of both kinds, as bytes, and whether a judge may have more than one submission."""
    judge = for_judge(task)
    return Frame(FrameType.COMPILED, {"judge_bytes": len(judge), "lasting": lasting(task)}, judge + for_student(task))


def _begun(judge: Judge, submission: dict[str, Any]) -> dict[str, object]:
    """Prepare all trials; what is said instead of an outcome if that cannot be done."""
    judge.begin(submission["source"])
    try:
        for trial in submission["trials"]:
            judge.prepare(trial)
    except Exception as fault:  # noqa: BLE001  whatever an author's code raises
        return {"fault": f"{type(fault).__name__}: {fault}"[:2000]}
    return {}


def _taken(judge: Judge, frame: Frame) -> dict[str, object]:
    """Judge a claim; what is said instead of an outcome if that cannot be done."""
    return _tried(lambda: {} if judge.take(frame) else {"refused": True})


def _tried(deed: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What a claim brings about, an exception too."""
    try:
        return deed()
    except ClaimRefused:
        return {"refused": True}
    except Exception as fault:  # noqa: BLE001  MemoryError among them: a claim is at hand
        where = traceback.extract_tb(fault.__traceback__, limit=-3)
        return {"failure": f"{type(fault).__name__}: {fault} in {', '.join(one.name for one in where)}"[:2000]}
