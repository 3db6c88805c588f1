"""
What a judge's process does: it opens its exercise, and forks for each submission. The fork warms up and runs the
exercise's own solution on the lesson's data while there is time, judges the one submission, and is gone with all that
came of it.

`graders.judge.session` is how a submission is judged.
"""

import contextlib
import gc
import os
import random
import traceback
from collections.abc import Callable
from typing import Any

import torch

from graders.judge import warmup
from graders.judge.compilation import CompiledExercise, for_judge, for_student
from graders.judge.session import Judge
from graders.judge.survey import survey
from graders.judge.values.decode_observation import UnreadableObservation
from graders.protocol import frames
from graders.protocol.fork_request import ForkRequest
from graders.protocol.frames import Frame, FrameType
from graders.sandbox import descriptors, privileges
from graders.student import main as student
from graders.task import Task
from graders.trials import TrialRequest
from graders.zygote import forking
from graders.zygote.forking import Nested

_WARM_UP_ROUNDS = 10
_GARBAGE = 100_000  # objects made and not freed before cycles are looked for: in most verdicts, never


def warm_up() -> None:
    """Do once what every run would do at first, the student's part of it too."""
    student.warm_up()
    for _ in range(_WARM_UP_ROUNDS):
        warmup.run_sample()


def underway() -> bool:
    """A judge run is ours from beginning to end."""
    return False


def main(inlet: int, outlet: int, nested: Nested) -> None:
    """
    Open one exercise and fork a judge for each submission to it; or compile one, or look at its draws.

    But for the last, it runs nothing of an author's or a student's itself, so that it can do without the last wall.
    """
    request = frames.receive(inlet)
    if request.type is FrameType.COMPILE:
        nested.confine()
        frames.send(outlet, _compiled(Task.from_json(request.body["task"])))
        return
    if request.type is FrameType.SURVEY:
        nested.confine()
        frames.send(outlet, Frame(FrameType.SURVEYED, survey(Task.from_json(request.body["task"]))))
        return
    judge = Judge(_exercise(request))
    gc.freeze()
    me = os.getpid()

    def fork(_: ForkRequest, received: list[int]) -> tuple[int, list[int]]:
        def become() -> None:
            nested.control.close()
            privileges.die_with_parent(me)
            os.setpgid(0, 0)
            job, answer, printed = received
            descriptors.arrange(inlet=job, outlet=answer, printed=printed)
            nested.confine()
            _judge(judge)

        return forking.forked(become), []

    forking.answer(nested.control, fork=fork, resident=nested.resident)


def _judge(judge: Judge) -> None:
    """
    Judge one submission.

    What goes wrong before an observation is looked at is sent as `fault`: it is the exercise's. What goes wrong after
    that is sent as `failure`: whose it is depends on whether the exercise's own solution can be judged: the parent
    finds out.
    """
    gc.set_threshold(_GARBAGE)
    torch.get_num_threads()  # as torch itself wants it done in a fork
    random.seed()
    if not frames.waiting(descriptors.INLET):
        warmup.run_sample()
        with contextlib.suppress(Exception):  # whatever an author's code raises: it is told when it is run in its turn
            judge.prepare_lesson()
    amiss = _prepared(judge, frames.receive(descriptors.INLET).body)
    while (frame := frames.receive(descriptors.INLET)).type is not FrameType.END:  # or the parent could not go on
        if frame.type is FrameType.TRIAL_OBSERVATION:  # else gradients that nobody has waited for
            amiss = amiss or _judged(judge, frame)
    frames.send(descriptors.OUTLET, Frame(FrameType.OUTCOME, amiss or _tried(judge.outcome)))


def _exercise(request: Frame) -> CompiledExercise:
    """Of the first job, compiled or as it is."""
    return (
        CompiledExercise.unpacked(request.tensors)
        if request.tensors
        else CompiledExercise.of(Task.from_json(request.body["task"]))
    )


def _compiled(task: Task) -> Frame:
    """The exercise for later runs of both kinds, as bytes."""
    judge = for_judge(task)
    return Frame(FrameType.COMPILED, {"judge_bytes": len(judge)}, judge + for_student(task))


def _prepared(judge: Judge, submission: dict[str, Any]) -> dict[str, object]:
    """Prepare all trials; what is said instead of an outcome if that cannot be done."""
    judge.begin(submission["source"])
    try:
        for trial in submission["trials"]:
            judge.prepare(TrialRequest(**trial))
    except Exception as fault:  # noqa: BLE001  whatever an author's code raises
        return {"fault": f"{type(fault).__name__}: {fault}"[:2000]}
    return {}


def _judged(judge: Judge, frame: Frame) -> dict[str, object]:
    """Judge an observation; what is said instead of an outcome if that cannot be done."""
    return _tried(lambda: {} if judge.take(frame, lambda: frames.receive(descriptors.INLET)) else {"refused": True})


def _tried(action: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What an observation brings about, an exception too."""
    try:
        return action()
    except UnreadableObservation:
        return {"refused": True}
    except Exception as fault:  # noqa: BLE001  MemoryError among them: an observation is at hand
        where = traceback.extract_tb(fault.__traceback__, limit=-3)
        return {"failure": f"{type(fault).__name__}: {fault} in {', '.join(one.name for one in where)}"[:2000]}
