"""
The judges of one slot: for each exercise a process that has it open, and for each submission a fork of that.

Opening an exercise takes milliseconds, and a fork of a process that has it open need not. Such a process holds what is
the same for every submission, the author's texts as they were compiled, and runs none of them. The fork reads what a
student's run hands over, runs the author's texts over it, says what it found, and is killed. So whatever those do to
their process (a class given an attribute, a module's function replaced, a cache filled, a default argument changed) is
gone with it, and there is no list of what they must not do. What they leave in a file would stay: then the process with
the exercise is ended as well.

It is also ended when a fork is not done or has reported anything but an outcome, when the student's run did not end as
a run should, when it has grown, after so many submissions, and when other exercises are more recent. None of that is
needed for the above; it costs little, and bounds what nobody has thought of.

It has all the walls of a run but that it may fork, in no namespace of its own, and speak of that over its socket. Each
fork takes that from itself before it reads its submission, by the same list of system calls that a student's run has.

A judge of one exercise, or of another version of it, never sees another's texts. Between two submissions the next fork
is made ahead (`prepare`), judges a sample of ours, for what it touches for the first time is not waited for later, and
runs starting code and solution on the lesson's data, which are the same for every submission.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from graders.faults import GraderFault
from graders.pool.exercise_payloads import ExercisePayload
from graders.pool.process_pool import Budget, PooledProcess, ProcessPool
from graders.pool.sandboxed_process import SandboxedProcess
from graders.pool.warm_process import Forker
from graders.protocol.frames import Frame, FrameType

JUDGE_TIME_S = 20.0  # for one submission, kept from outside; long, so that a busy machine is not taken for a slow judge
JUDGE_CPU_S = 2.0  # for one submission, and the submission's: what it hands over may be made to be costly to look at
SUBMISSIONS_BEFORE_NEW = 200
JUDGE_BUDGET = Budget(memory_mib=1024, wall_time_s=JUDGE_TIME_S)
_KEPT = 4
_GROWN_BYTES = 128 * 1024 * 1024


@dataclass
class PooledJudge:
    """An exercise that is open, and a judge of one submission to it."""

    pooled: PooledProcess
    forker: Forker
    payload: ExercisePayload
    first_bytes: int = 0  # of its own memory, once it has had a submission
    submissions: int = 0
    well: bool = False  # set once its outcome is in request: only then is it kept
    spare: SandboxedProcess | None = None  # forked ahead
    _process: SandboxedProcess | None = None

    @property
    def process(self) -> SandboxedProcess:
        """The judge at the submission that was begun last."""
        assert self._process is not None  # noqa: S101  only asked of one that has begun
        return self._process

    def begin(self, submission: dict[str, object]) -> None:
        """Have the next submission judged; its CPU time is counted from here. Raises GraderFault."""
        self.prepare()
        self._process, self.spare = self.spare, None
        self.process.allow_cpu(JUDGE_CPU_S)
        self.submissions += 1
        self.well = False
        self.process.give(Frame(FrameType.JOB, submission))

    def prepare(self) -> None:
        """Fork the judge of the next submission, unless it is there. Raises GraderFault."""
        if self.spare is not None and not self.spare.alive():
            self.spare.end()
            self.spare = None
        if self.spare is None:
            self.spare = self.forker.fork(self.pooled.request)

    def over(self) -> None:
        """End the judge of this submission, whatever it is doing."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def end(self) -> None:
        """End all of it, but for the process that has the exercise open."""
        self.over()
        if self.spare is not None:
            self.spare.end()
            self.spare = None

    def as_new(self) -> bool:
        """Is it there, and has nobody left anything in its folder? Asked when the last judge has had time to end."""
        try:
            return self.pooled.process.alive() and not self.pooled.process.written()
        except OSError:
            return False

    def worth_keeping(self) -> bool:
        """Is it as good as a new one?"""
        try:
            now_bytes = self.pooled.process.resident_bytes(files=False)
        except (OSError, ValueError):
            return False  # gone
        self.first_bytes = self.first_bytes or now_bytes
        grown = now_bytes > self.first_bytes + _GROWN_BYTES
        return self.well and not grown and self.submissions < SUBMISSIONS_BEFORE_NEW and self.as_new()


class JudgePool:
    """Not thread-safe."""

    def __init__(self, pool: ProcessPool) -> None:
        """`pool`: where they run."""
        self._pool = pool
        self._kept: dict[tuple[str, int], PooledJudge] = {}
        self.begun = 0  # how many exercises were opened

    @contextmanager
    def take(self, payload: ExercisePayload, submission: dict[str, object]) -> Iterator[PooledJudge]:
        """
        A judge that has been told of a submission; it is kept if it is `well` at the end.

        Args:
            payload: of the exercise.
            submission: the student's text as `source`, and all `trials`.

        Raises:
            GraderFault: it cannot be started.
        """
        judging = self._kept.pop(payload.key, None) or self._opened(payload)
        if judging.payload is not payload or not judging.as_new():
            self._leave(judging)
            judging = self._opened(payload)
        try:
            judging.begin(submission)
            yield judging
        except BaseException:
            self._leave(judging)
            raise
        judging.over()
        self._keep(judging)

    def prepare(self) -> None:
        """Fork the judge of the next submission to the exercise that was the last. Raises GraderFault."""
        if self._kept:
            key = next(reversed(self._kept))
            if self._kept[key].as_new():
                self._kept[key].prepare()
            else:
                self._leave(self._kept.pop(key))

    def _opened(self, payload: ExercisePayload) -> PooledJudge:
        self.begun += 1
        pooled = self._pool.enter("judge", JUDGE_BUDGET)
        assert pooled.forker is not None  # noqa: S101  every judge's place has one
        try:
            pooled.process.give(payload.for_judge())
        except GraderFault:
            self._pool.leave(pooled)
            raise
        return PooledJudge(pooled, pooled.forker, payload)

    def _leave(self, judging: PooledJudge) -> None:
        judging.end()
        self._pool.leave(judging.pooled)

    def _keep(self, judging: PooledJudge) -> None:
        if not judging.worth_keeping():
            self._leave(judging)
            return
        self._kept[judging.payload.key] = judging
        while len(self._kept) > _KEPT:
            self._leave(self._kept.pop(next(iter(self._kept))))

    def close(self) -> None:
        """End those that are kept."""
        while self._kept:
            self._leave(self._kept.popitem()[1])
