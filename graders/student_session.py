"""
Leading a student's run through its trials, from the trusted parent's side.

The run has its order when this begins. Each trial is three steps, each with the time limit to itself: the student's
code, the author's probe, the gradients. What is handed over goes on to the judge trial by trial.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from graders.faults import GraderFault
from graders.judges import JUDGE_TIME_S
from graders.plain_text import shown
from graders.runs import START_TIME_S, Ended, Output, Run
from graders.task import MAX_SOURCE_BYTES, Task
from graders.time_limit import TimeLimit
from graders.trials import TrialOrder
from graders.warm import JUDGE_PIPE_BYTES
from graders.wire import Frame, FrameType

_AT_ONCE_BYTES = JUDGE_PIPE_BYTES // 4
_MORE_STEPS = 3  # the probe; and where that needs a graph that is gone, the student's code and the probe once more
_NET_TIMES = 12  # of the limit by the clock: past what `TimeLimit` allows


@dataclass
class Handed:
    """
    What a student's run hands over, on its way to the judge, and how the run ended.

    Small claims are passed on at once, so that judging goes on beside the run; from the first that might not fit
    into the pipe on, all wait until the run is over, so that a slow judge never costs a student time.
    """

    judge: Run | None = None
    claims: list[tuple[Frame, Frame | None]] = field(default_factory=list)  # claim, gradients
    ended: Ended | None = None
    trial: int = 0  # the one at which it ended; 0 is the lesson's
    waiting: list[Frame] = field(default_factory=list)

    def complete(self, claim: Frame, gradients: Frame | None) -> None:
        """One trial is done, or as far as it came."""
        self.claims.append((claim, gradients))
        body = {
            "claim": claim.body,
            "claim_bytes": len(claim.tensors),
            "gradients": gradients.body if gradients else None,
        }
        frame = Frame(FrameType.TRIAL_CLAIM, body, claim.tensors + (gradients.tensors if gradients else b""))
        self.waiting.append(frame)
        if self.judge is not None and len(self.waiting) == 1 and len(frame.tensors) < _AT_ONCE_BYTES:
            self.hurry()

    def hurry(self) -> None:
        """Pass on what waits. Raises GraderFault."""
        assert self.judge is not None  # noqa: S101  only called where there is one
        try:
            for frame in self.waiting:
                self.judge.send(frame, deadline=time.monotonic() + JUDGE_TIME_S)
        except Ended as ended:
            raise GraderFault(f"the judge ended before the claims ({ended.how})") from ended
        self.waiting.clear()


def converse(run: Run, task: Task, trials: list[TrialOrder], *, output: Output, judge: Run | None = None) -> Handed:
    """
    Lead a run, which has the order for the first of the trials, through all of them.

    Args:
        run: the student's.
        task: the exercise.
        trials: to be run in this process, one after the other.
        output: where what it prints goes.
        judge: the run that is told of each trial as soon as it is done.

    Returns:
        What it handed over until it ended.

    Raises:
        GraderFault: it ended before the student's code began.
    """
    handed = Handed(judge)
    _begin(run, output=output)
    session = _Session(run, task, output)
    claim: Frame | None = None
    try:
        for number, trial in enumerate(trials):
            handed.trial = number
            claim = session.claim(None if number == 0 else trial)
            handed.complete(claim, session.gradients(trial))
            claim = None
    except Ended as ended:
        handed.ended = ended
        if claim is not None:
            handed.complete(claim, None)
    return handed


class _Session:
    """The steps of a run, each measured for itself."""

    def __init__(self, run: Run, task: Task, output: Output) -> None:
        self._run, self._output, self._probes = run, output, bool(task.probe)
        self._limit_s = task.limits.wall_time_s
        self._time = TimeLimit(run.process_id, self._limit_s)
        run.check_time = self._time.check

    def claim(self, trial: TrialOrder | None) -> Frame:
        """What one trial made; the first trial is under way already. Raises Ended."""
        deadline = self._step()
        if trial is not None:
            self._run.send(Frame(FrameType.TRIAL, {"trial": data(trial)}), deadline=deadline)
        output = self._output if trial is None else None
        made = self._run.listen(deadline=deadline, output=output)
        for _ in range(_MORE_STEPS if self._probes else 0):
            if made.type is FrameType.PROBING:
                made = self._run.listen(deadline=self._step(), output=output)
        self._output.check()
        return _expect(made, FrameType.CLAIM)

    def gradients(self, trial: TrialOrder) -> Frame:
        """What the random cotangent gave. Raises Ended."""
        probe = Frame(FrameType.PROBE, {"seed": trial.seed})
        return _expect(self._run.converse(probe, deadline=self._step()), FrameType.GRADIENTS)

    def _step(self) -> float:
        self._time.begin_step()
        return time.monotonic() + _NET_TIMES * self._limit_s


def _begin(run: Run, *, output: Output) -> None:
    """
    Until the walls are up and the starting code has run, whatever happens is ours or the author's.

    The output is the student's from the first byte: by the time the frame is read here, their code may have printed.
    """
    try:
        _expect(run.listen(deadline=time.monotonic() + START_TIME_S, output=output), FrameType.READY)
    except Ended as ended:
        told = shown(output.kept, cut=output.truncated)
        raise GraderFault(f"a run ended before the student's code began ({ended.how}): {told}") from ended


def data(trial: TrialOrder, *, silent: bool = False) -> dict[str, Any]:
    """
    What the student's process is told of a trial before its code has run on it: not the probe's seed.

    Args:
        trial: which.
        silent: print nothing, although it is the first in its process.
    """
    return {"draw": trial.draw, "silent": silent}


def _expect(frame: Frame, kind: FrameType) -> Frame:
    if frame.type is FrameType.LEFT:
        line = frame.body.get("line")
        raise Ended("gone", status=0, line=line if type(line) is int and 0 < line <= MAX_SOURCE_BYTES else None)
    if frame.type is not kind:
        raise Ended("garbled")
    return frame
