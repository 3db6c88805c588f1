"""What a student's run hands over reaches its judge, or it is told that it does not."""

from typing import Any, cast

from graders.pool.sandboxed_process import SandboxedProcess
from graders.pool.student_session import SessionResult, TrialFrames
from graders.pool.warm_process import JUDGE_PIPE_BYTES
from graders.protocol.ending import Ended
from graders.protocol.frames import Frame, FrameType


class _GoneJudge:
    """A judge whose process has ended: the first frame finds that out, and nothing can be sent after it."""

    def __init__(self) -> None:
        self.asked = 0

    def send_encoded(self, _: bytes, **__: float) -> None:
        """Nobody is there."""
        self.asked += 1
        if self.asked > 1:
            raise OSError(9, "Bad file descriptor")
        raise Ended("gone", status=31)


class _SlowJudge:
    """A judge that reads nothing: what it is sent has to fit into its pipe."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send_encoded(self, frame: bytes, **_: float) -> None:
        """It is in the pipe."""
        self.sent.append(frame)


def observed(tensor_bytes: int = 0) -> TrialFrames:
    """One trial's."""
    empty: dict[str, Any] = {}
    return TrialFrames(Frame(FrameType.OBSERVATION, empty, bytes(tensor_bytes)), Frame(FrameType.GRADIENTS, empty))


def test_judge_that_has_ended_is_told_once_and_sent_nothing_more() -> None:
    """A judge may end between two trials of a run; the run goes on, and why nothing was judged is kept."""
    result = SessionResult(cast("SandboxedProcess", _GoneJudge()))
    for _ in range(3):
        result.add(observed())
    result.hurry()
    assert result.failed is not None
    assert "took no more observations" in str(result.failed)
    assert len(result.trials) == 3


def test_observation_reaches_the_judge_before_its_gradients_are_there() -> None:
    """What needs no gradients is judged while the student's process works them out."""
    judge, one = _SlowJudge(), observed()
    result = SessionResult(cast("SandboxedProcess", judge))
    result.observe(one.observation)
    assert judge.sent == [one.for_judge()[0].encode()]
    result.complete(one)
    assert judge.sent == [frame.encode() for frame in one.for_judge()]


def test_judge_that_reads_nothing_is_sent_no_more_during_the_run_than_its_pipe_holds() -> None:
    """Whatever the sizes of the pieces, a student's time never goes by while a judge's pipe is full."""
    judge, trials = _SlowJudge(), [observed(JUDGE_PIPE_BYTES // 5) for _ in range(8)]
    result = SessionResult(cast("SandboxedProcess", judge))
    for one in trials:
        result.observe(one.observation)
        result.complete(one)
    assert judge.sent
    assert sum(map(len, judge.sent)) <= JUDGE_PIPE_BYTES
    result.hurry()
    assert judge.sent == [frame.encode() for one in trials for frame in one.for_judge()]
