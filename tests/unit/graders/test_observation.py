"""What a student's run hands over reaches its judge, or it is told that it does not."""

from typing import Any, cast

from graders.pool.sandboxed_process import Run
from graders.pool.student_session import Handed, Observation
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


def observed() -> Observation:
    """One trial's."""
    empty: dict[str, Any] = {}
    return Observation(Frame(FrameType.CLAIM, empty), Frame(FrameType.GRADIENTS, empty))


def test_judge_that_has_ended_is_told_once_and_sent_nothing_more() -> None:
    """A judge may end between two trials of a run; the run goes on, and why nothing was judged is kept."""
    handed = Handed(cast("Run", _GoneJudge()))
    for _ in range(3):
        handed.complete(observed())
    handed.hurry()
    assert handed.failed is not None
    assert "took no more claims" in str(handed.failed)
    assert len(handed.trials) == 3
