"""
What a judge's process does from its first moment: rehearse while there is time, then judge what is ordered.

`graders.judge.course` is how a submission is judged.
"""

from graders import wire
from graders.judge import rehearsal
from graders.judge.claimed import ClaimRefused
from graders.judge.course import Judge
from graders.student import main as student
from graders.task import Task
from graders.wire import Frame, FrameType

_REHEARSALS = 10


def warm_up() -> None:
    """Do once what every run would do at first, the student's part of it too."""
    student.warm_up()
    for _ in range(_REHEARSALS):
        rehearsal.rehearse()


def underway() -> bool:
    """A judge run is ours from beginning to end."""
    return False


def main(inlet: int, outlet: int) -> None:
    """Judge the claims that come in on `inlet`; a fault of the exercise is told as such."""
    if not wire.waiting(inlet):
        rehearsal.rehearse()
    order = wire.receive(inlet).body
    judge = Judge(Task.from_json(order["task"]), order["source"])
    amiss: dict[str, object] = {}
    while (frame := wire.receive(inlet)).type is not FrameType.END:  # to the end, or the parent could not go on
        amiss = amiss or _heed(judge, frame)
    wire.send(outlet, Frame(FrameType.OUTCOME, amiss or judge.outcome()))


def _heed(judge: Judge, frame: Frame) -> dict[str, object]:
    """Prepare a trial or judge a claim; what is said instead of an outcome if that cannot be done."""
    if frame.type is FrameType.TRIAL:
        try:
            judge.prepare(frame.body)
        except Exception as fault:  # noqa: BLE001  whatever an author's code raises
            return {"fault": f"{type(fault).__name__}: {fault}"[:2000]}
        return {}
    try:
        return {} if judge.take(frame) else {"refused": True}
    except ClaimRefused:
        return {"refused": True}
