"""What a student's run hands over reaches its judge, or it is told that it does not."""

from typing import Any, cast

from graders.pool.sandboxed_process import SandboxedProcess
from graders.pool.student_session import SessionResult, TrialFrames
from graders.protocol.ending import Ended
from graders.protocol.frames import Frame, FrameType


class _GoneJudge:
    """A judge whose process has ended: the first frame finds that out, and nothing can be sent after it."""

    def __init__(self) -> None:
        self.asked = 0

    def send(self, _: Frame, **__: float) -> None:
        """Nobody is there."""
        self.asked += 1
        if self.asked > 1:
            raise OSError(9, "Bad file descriptor")
        raise Ended("gone", status=31)


def observed() -> TrialFrames:
    """One trial's."""
    empty: dict[str, Any] = {}
    return TrialFrames(Frame(FrameType.OBSERVATION, empty), Frame(FrameType.GRADIENTS, empty))


def test_judge_that_has_ended_is_told_once_and_sent_nothing_more() -> None:
    """A judge may end between two trials of a run; the run goes on, and why nothing was judged is kept."""
    result = SessionResult(cast("SandboxedProcess", _GoneJudge()))
    for _ in range(3):
        result.complete(observed())
    result.hurry()
    assert result.failed is not None
    assert "took no more observations" in str(result.failed)
    assert len(result.trials) == 3
