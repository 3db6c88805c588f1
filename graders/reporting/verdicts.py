"""From how a run ended to one word, and the one sentence that goes with it."""

import signal

from graders.protocol.ending import Ended
from graders.report import CheckResult, CheckStatus, Verdict
from graders.task import Limits

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

_BY_JUDGE = {
    "unjudged": (
        "What your code made could not be looked at, although what the exercise's own solution makes can be. "
        "Are its shapes, kinds and numbers what the task asks for?"
    ),
    "costly": (
        "Looking at what your code made took more computing time than a check may use, and was ended. "
        "Are its shapes or numbers far larger than the task asks for?"
    ),
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


def sentence(verdict: Verdict, ended: Ended | None, limits: Limits, *, trial: int = 0) -> str:
    """
    What a student is told about a verdict that no check explains.

    Args:
        verdict: which.
        ended: how the run ended before its time, or None.
        limits: the exercise's.
        trial: at which it ended; 0 is the lesson's.
    """
    return _BY_JUDGE.get(ended.how if ended is not None else "") or _by_verdict(verdict, ended, limits, trial)


def _by_verdict(verdict: Verdict, ended: Ended | None, limits: Limits, trial: int) -> str:
    match verdict:
        case Verdict.TIME_LIMIT:
            return _too_long(ended, limits, trial)
        case Verdict.MEMORY_LIMIT:
            return f"Your code asked for more than the {limits.memory_mib} MiB of memory that a run may use."
        case Verdict.OUTPUT_LIMIT if ended is not None and ended.how == "disk":
            return "Your code wrote more into files than a run may and was ended. Write less."
        case Verdict.OUTPUT_LIMIT:
            return f"Your code printed more than {limits.output_abort_kib} KiB and was ended. Print less."
        case Verdict.CRASHED:
            return f"Python ended in the middle of your code{_how(ended)}, so nothing more could be looked at."
        case _:
            return ""


def _too_long(ended: Ended | None, limits: Limits, trial: int) -> str:
    data = "" if trial == 0 else " It came to its end with the lesson's own data, but not with other data and sizes."
    if ended is not None and ended.how == "waiting":
        return (
            "Your code was waiting, without computing anything, "
            f"for longer than the {limits.wall_time_s:g} seconds that a run has, and was ended.{data} "
            "Is there a sleep, a lock or a loop that waits for what never comes?"
        )
    return (
        f"Your code was still running after {limits.wall_time_s:g} seconds of computing and was ended.{data} "
        "Is there a loop that never comes to its end, or much more work than the task needs? "
        f"{loop_sentence(ended, trial)}"
    ).strip()


def loop_sentence(ended: Ended | None, trial: int) -> str:
    """Which loop had not come to its end, with a space after it, or nothing."""
    loop = ended.loop if ended is not None and ended.how == "time" and trial == 0 else None
    if loop is None:
        return ""
    if loop.no_way_out:
        return (
            f"The condition of the `while` loop on line {loop.line} is always true, "
            "and there is no `break` or `return` in it, so it does not end by itself. "
            "When should it stop? "
        )
    if loop.unchanged:
        names = " or ".join(f"`{name}`" for name in loop.unchanged)
        return (
            f"The `while` loop on line {loop.line} does not end by itself: "
            f"its condition asks about {names}, and nothing in the loop changes that. "
            "What should change on each round? "
        )
    return f"The time was over in the `{loop.word}` loop on line {loop.line}. When does it come to its end? "


def _how(ended: Ended | None) -> str:
    if ended is None or ended.how == "garbled":
        return " and what it handed over cannot be read"
    number = ended.status & 0x7F if ended.status is not None else 0
    if number in signal.Signals._value2member_map_:
        return f" ({signal.Signals(number).name})"
    where = f" by line {ended.line}" if ended.line else ""
    return f" (it was told to exit at once{where})"
