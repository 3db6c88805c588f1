"""From how a run ended to one word; `vocabulary` has the sentence that goes with it."""

import signal

from graders.protocol.ending import Ended
from graders.report import CheckResult, CheckStatus, Verdict

_BY_END = {
    "time": Verdict.TIME_LIMIT,
    "waiting": Verdict.TIME_LIMIT,
    "memory": Verdict.MEMORY_LIMIT,
    "disk": Verdict.OUTPUT_LIMIT,
    "output": Verdict.OUTPUT_LIMIT,
    "gone": Verdict.CRASHED,
    "garbled": Verdict.CRASHED,
    "unjudged": Verdict.CRASHED,
    "costly": Verdict.TIME_LIMIT,
}


def verdict_of(ended: Ended | None, *, error: bool, memory: bool, checks: list[CheckResult]) -> Verdict:
    """
    The verdict.

    Args:
        ended: how the run ended before its time, or None.
        error: did the student's code raise on the lesson's data?
        memory: was it refused memory?
        checks: what was found; all must have passed for a pass.
    """
    if ended is not None:
        killed_for_cpu = ended.status is not None and ended.status & 0x7F == signal.SIGXCPU
        return Verdict.TIME_LIMIT if killed_for_cpu else _BY_END[ended.how]
    if memory:
        return Verdict.MEMORY_LIMIT
    if error:
        return Verdict.ERROR
    passed = all(one.status is CheckStatus.PASSED for one in checks)
    return Verdict.PASSED if passed else Verdict.FAILED
