"""
Leading a student's run through its trials, from the trusted parent's side.

The run has its job when this begins. Each trial is three steps, each with the time limit to itself: the student's
code, the author's probe, the gradients. What is handed over goes on to the judge piece by piece.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from graders.faults import GraderFault
from graders.pool.exercise_payloads import ExercisePayload
from graders.pool.judge_pool import JUDGE_TIME_S
from graders.pool.sandboxed_process import START_TIME_S, SandboxedProcess
from graders.pool.time_limit import TimeLimit
from graders.pool.warm_process import JUDGE_PIPE_BYTES
from graders.protocol.ending import Ended, Loop, PrintedOutput
from graders.protocol.frames import Frame, FrameType
from graders.protocol.observation_schema import ObservationRefused, ObservationSchema
from graders.reporting.plain_text import shown
from graders.task import MAX_SOURCE_BYTES
from graders.trials import TrialRequest

_AT_ONCE_BYTES = JUDGE_PIPE_BYTES * 3 // 4  # in all, of a pipe that is filled by the page
_MORE_STEPS = 3  # the probe; and where that needs a graph that is gone, the student's code and the probe once more
_NET_TIMES = 12  # of the limit by the clock: past what `TimeLimit` allows


class JudgingFailed(Exception):
    """A judge has not come to an outcome on what a student's run handed over."""

    def __init__(self, reason: str, *, how: str = "unjudged") -> None:
        """`reason`: for our log. `how`: unjudged | costly, as `Ended` has it."""
        super().__init__(reason)
        self.how = how

    @classmethod
    def by(cls, ended: Ended, what: str) -> Self:
        """Of a judge whose process has ended; `what` it was that it did not do."""
        how = "costly" if ended.how == "cpu" else "unjudged"
        return cls(f"the judge ended ({ended.how}, status {ended.status}) and {what}", how=how)


@dataclass(frozen=True)
class TrialFrames:
    """What one run of a trial handed over."""

    observation: Frame
    gradients: Frame | None
    again: bool = False  # was it the same trial once more, with other numbers in the tables?

    def for_judge(self) -> tuple[Frame, Frame]:
        """As the judge is told of it: the observation, and the gradients or that they will not come."""
        made = Frame(
            FrameType.TRIAL_OBSERVATION,
            {"again": self.again, "observation": self.observation.body},
            self.observation.tensors,
        )
        found = self.gradients
        body = {"gradients": None if found is None else found.body}
        return made, Frame(FrameType.TRIAL_GRADIENTS, body, b"" if found is None else found.tensors)


@dataclass
class SessionResult:
    """
    What a student's run hands over, on its way to the judge, and how the run ended.

    It is passed on at once, an observation before its gradients are there, so that judging goes on beside the run; from
    the first piece on that might not fit into the pipe, were nothing read from it, all wait until the run is over, so
    that a slow judge never costs a student time.
    """

    judge: SandboxedProcess | None = None
    failed: JudgingFailed | None = None
    trials: list[list[TrialFrames]] = field(default_factory=list)
    ended: Ended | None = None
    trial: int = 0  # the one at which it ended; 0 is the lesson's
    waiting: list[bytes] = field(default_factory=list)  # frames, encoded
    _at_once_bytes: int = _AT_ONCE_BYTES  # may still be passed on while the run goes on

    def observe(self, observation: Frame) -> None:
        """One trial's code has come to its end; `complete` is to follow."""
        self._pass_on(TrialFrames(observation, None).for_judge()[0])

    def complete(self, observed: TrialFrames) -> None:
        """The trial that was observed last is done, or as far as it came."""
        self.trials.append([observed])
        self._pass_on(observed.for_judge()[1])

    def add(self, observed: TrialFrames) -> None:
        """One trial, all of it: most often the same once more."""
        if observed.again:
            self.trials[-1].append(observed)
        else:
            self.trials.append([observed])
        for frame in observed.for_judge():
            self._pass_on(frame)

    def _pass_on(self, frame: Frame) -> None:
        if self.judge is None:
            return
        self.waiting.append(frame.encode())
        self._at_once_bytes -= len(self.waiting[-1])
        if self._at_once_bytes >= 0:
            self.hurry()

    def hurry(self) -> None:
        """Pass on what waits; that the judge has not taken it is told once the student's run is over."""
        assert self.judge is not None  # noqa: S101  only called where there is one
        try:
            for frame in self.waiting if self.failed is None else []:
                self.judge.send_encoded(frame, deadline=time.monotonic() + JUDGE_TIME_S)
        except Ended as ended:
            self.failed = JudgingFailed.by(ended, "took no more observations")
        self.waiting.clear()


def converse(
    process: SandboxedProcess,
    payload: ExercisePayload,
    trials: list[TrialRequest],
    *,
    output: PrintedOutput,
    judge: SandboxedProcess | None = None,
) -> SessionResult:
    """
    Lead a run, which has the job with the first of the trials, through all of them.

    Args:
        process: the student's.
        payload: of the exercise.
        trials: to be run in this process, one after the other.
        output: where what it prints goes.
        judge: the process that is told of each trial as soon as it is done.

    Returns:
        What it handed over until it ended.

    Raises:
        GraderFault: it ended before the student's code began.
    """
    result = SessionResult(judge)
    _begin(process, output=output)
    session = _Session(process, payload, output)
    try:
        for number, trial in enumerate(trials):
            result.trial = number
            _observe(session, trial, result, following=trials[number + 1 : number + 2])
    except Ended as ended:
        result.ended = ended
    return result


def _observe(session: "_Session", trial: TrialRequest, result: SessionResult, *, following: list[TrialRequest]) -> None:
    """
    Lead a run through the trial that is under way; it goes on to the next one by itself.

    What was handed over is looked at while the run goes on with what comes next: whoever forges learns a seed and a
    draw from that, and is refused all the same. Raises Ended.
    """
    observation = session.observation()
    session.ask(trial, following)
    session.check_observation(observation)
    result.observe(observation)
    try:
        gradients = session.gradients()
        is_blind = gradients.body.get("again") is True
        if is_blind or following:
            session.begin_step()
        session.check_gradients(gradients)
    except Ended:
        result.complete(TrialFrames(observation, None))
        raise
    result.complete(TrialFrames(observation, gradients))
    if is_blind:
        result.add(session.again())
        session.begin_step()


class _Session:
    """
    The steps of a run, each measured for itself.

    What it is sent raises nothing: that it has ended is told, by Ended, to whoever waits for the answer.
    """

    def __init__(self, process: SandboxedProcess, payload: ExercisePayload, output: PrintedOutput) -> None:
        self._process, self._output, self._schema = process, output, payload.schema
        self._probes, self._limit_s = bool(payload.task.probe), payload.task.limits.wall_time_s
        self._time = TimeLimit(process, self._limit_s)
        self.begin_step()
        self._ended: Ended | None = None
        self._loop: Loop | None = None  # told once, on the lesson's data
        self._shown: PrintedOutput | None = output  # what the lesson's trial prints; of the others nothing is
        process.check_time = self._time.check

    def begin_step(self) -> None:
        """From now on the next step is measured: it begins when the frame that the one before ends with is here."""
        self._time.begin_step()
        self._deadline = time.monotonic() + _NET_TIMES * self._limit_s

    def observation(self) -> Frame:
        """What the trial that is under way made, of whatever form. Raises Ended."""
        made = self._receive_observation(self._shown)
        self._shown = None
        return made

    def _receive_observation(self, shown: PrintedOutput | None) -> Frame:
        made = self._listen(shown)
        for _ in range(_MORE_STEPS if self._probes else 0):
            if made.type is FrameType.PROBING:
                self.begin_step()
                made = self._listen(shown)
        self._output.check()
        return _expect(made, FrameType.OBSERVATION)

    def check_observation(self, made: Frame) -> None:
        """Is it of the form that a harness writes? Raises Ended."""
        with _honest():
            self._schema.check_observation(made)

    def ask(self, trial: TrialRequest, following: list[TrialRequest]) -> None:
        """Have the gradients taken for the trial's random cotangent, and then the next trial begun, if there is one."""
        self.begin_step()
        body = {"seed": trial.seed, "trial": data(following[0]) if following else None}
        try:
            self._process.send(Frame(FrameType.PROBE, body), deadline=self._deadline)
        except Ended as ended:
            self._ended = ended

    def gradients(self) -> Frame:
        """What they are, of whatever form. Raises Ended."""
        return _expect(self._listen(None), FrameType.GRADIENTS)

    def check_gradients(self, found: Frame, *, again: bool = False) -> None:
        """Are they of the form that a harness writes? Raises Ended."""
        with _honest():
            self._schema.check_gradients(found, again=again)

    def again(self) -> TrialFrames:
        """The same trial with other numbers in the tables. Raises Ended."""
        observation = self._receive_observation(None)
        with _honest():
            self._schema.check_observation(observation, again=True)
        self.begin_step()
        found = self.gradients()
        self.check_gradients(found, again=True)
        return TrialFrames(observation, found, again=True)

    def _listen(self, shown: PrintedOutput | None) -> Frame:
        if self._ended is not None:
            raise self._ended
        try:
            frame = self._process.listen(deadline=self._deadline, output=shown)
            if frame.type is FrameType.LOOP and self._loop is None:
                self._loop = _loop(frame)
                frame = self._process.listen(deadline=self._deadline, output=shown)
        except Ended as ended:
            ended.loop = self._loop
            raise
        return frame


@contextlib.contextmanager
def _honest() -> Iterator[None]:
    """What is not of the form that a harness writes is as good as nothing. Raises Ended."""
    try:
        yield
    except ObservationRefused as fault:
        raise Ended("garbled") from fault


def _begin(process: SandboxedProcess, *, output: PrintedOutput) -> None:
    """
    Until the walls are up and the starting code has run, whatever happens is ours or the author's.

    The output is the student's from the first byte: by the time the frame is read here, their code may have printed.
    """
    try:
        _expect(process.listen(deadline=time.monotonic() + START_TIME_S, output=output), FrameType.READY)
    except Ended as ended:
        reason = shown(output.kept, cut=output.truncated)
        raise GraderFault(f"a run ended before the student's code began ({ended.how}): {reason}") from ended


def data(trial: TrialRequest, *, silent: bool = False) -> dict[str, object]:
    """
    What the student's process is told of a trial before its code has run on it: not the probe's seed.

    Args:
        trial: which.
        silent: print nothing, although it is the first in its process.
    """
    return {"draw": trial.draw, "silent": silent}


def _loop(frame: Frame) -> Loop:
    """The loop that a run is in. Raises Ended."""
    with _honest():
        ObservationSchema.check_loop(frame.body)
    return Loop(
        line=frame.body["line"],
        word=frame.body["word"],
        unchanged=tuple(frame.body["unchanged"]),
        no_way_out=frame.body["no_way_out"],
    )


def _expect(frame: Frame, kind: FrameType) -> Frame:
    if frame.type is FrameType.LEFT:
        line = frame.body.get("line")
        raise Ended("gone", status=0, line=line if type(line) is int and 0 < line <= MAX_SOURCE_BYTES else None)
    if frame.type is not kind:
        raise Ended("garbled")
    return frame
