"""
The vocabulary of verdicts: each sentence in which a verdict, or the state of a check, is told.

Pages, the API, the command line and the judge take their words from here, so that the same thing is called the same
everywhere. What is wrong with a student's numbers is not said here: that is a check's own finding.
"""

import signal
from collections.abc import Sequence

from graders.protocol.ending import Ended
from graders.report import CheckStatus, Verdict
from graders.task import Limits

CHECK_WORDS = {
    CheckStatus.PASSED: "Passed",
    CheckStatus.FAILED: "Failed",
    CheckStatus.NOT_RUN: "Not judged",
}
VERDICT_WORDS = {
    Verdict.PASSED: "Passed",
    Verdict.FAILED: "Not yet right",
    Verdict.ERROR: "Stopped with an error",
    Verdict.TIME_LIMIT: "Took too long",
    Verdict.MEMORY_LIMIT: "Too much memory",
    Verdict.OUTPUT_LIMIT: "Printed too much",
    Verdict.CRASHED: "Crashed",
    Verdict.GRADER_FAULT: "Not graded, our fault",
}
NOT_AN_ANSWER = "Not read as an answer"
ON_ITS_WAY = "On its way"

_HEADLINES = {
    Verdict.ERROR: "Your code stopped with an error",
    Verdict.TIME_LIMIT: "Your code took too long",
    Verdict.MEMORY_LIMIT: "Your code needed too much memory",
    Verdict.OUTPUT_LIMIT: "Your code printed too much",
    Verdict.CRASHED: "Your code crashed",
    Verdict.GRADER_FAULT: "We couldn’t grade this",
}
_ANSWER_HEADLINES = {
    Verdict.PASSED: "That’s right",
    Verdict.FAILED: "Not yet right",
    Verdict.ERROR: "That can’t be read as an answer",
}
SUMMARIES = {
    Verdict.PASSED: "Right on the lesson’s data, and on other data and other sizes.",
    Verdict.FAILED: "Start with the first one: it is open below.",
    Verdict.ERROR: "See below what happened and where.",
    Verdict.TIME_LIMIT: "It was ended. Is there a loop that never stops?",
    Verdict.MEMORY_LIMIT: "It was ended. Is there a tensor much larger than you meant?",
    Verdict.OUTPUT_LIMIT: "It was ended. Is there a print inside a long loop?",
    Verdict.CRASHED: "Python itself was ended, which no ordinary mistake does.",
    Verdict.GRADER_FAULT: "This is our fault, not your code’s, and it doesn’t count. Please send it again.",
}
ANSWER_SUMMARIES = {
    Verdict.PASSED: "Well done.",
    Verdict.FAILED: "Think it over, and answer again.",
    Verdict.ERROR: "It doesn’t count as an answer: write it another way.",
}
EXECUTION_HEADLINE = "Your code ran to its end"
EXECUTION_SUMMARY = "This was only a run: nothing was judged. Press Check when you are ready."
MIX_UP_SUMMARY = "It looks like one known mix-up: read that first."

GIVEN_UP = (
    "Our grader failed on this submission. This is not the fault of your code, and it does not count. "
    "Please send it again."
)
NOT_GRADED = "not graded"
NOT_PARSED = "Your code does not run yet, so nothing could be looked at."
NOT_READABLE = "Your code cannot be read yet."
NOTHING_TO_LOOK_AT = "Your code stopped before there was anything to look at here."
NOTHING_MADE = "Will be looked at once your code has made something."
LESSON_FIRST = "Will be looked at when everything is right on the lesson's own data."
OTHER_SIZES_ELSEWHERE = "Another check says what is wrong with other data and sizes."
NOT_ALL_LOOKED_AT = "Not everything could be looked at."
NOT_TRIED = "What this looks at could not be made, so it was not tried."
DOES_NOT_FIT = "This could not be looked at: something that it is about is not there, or does not fit."
UNKNOWN_VALUE = "What would be right here follows from something that is not there, or does not fit."
UNKNOWN_TEXT = "What should be printed follows from outputs that are not right yet."
NO_END_ON_OTHER_SIZES = "Your code did not come to its end with other data and sizes."

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


def headline(verdict: Verdict, statuses: Sequence[CheckStatus], *, execution: bool, question: bool) -> str:
    """
    Say in a few words how a submission ended.

    Args:
        verdict: which.
        statuses: of its checks.
        execution: was it only run, and not judged?
        question: is it an answer to a question?
    """
    if question and verdict in _ANSWER_HEADLINES:
        return _ANSWER_HEADLINES[verdict]
    if verdict in _HEADLINES:
        return _HEADLINES[verdict]
    if execution:
        return EXECUTION_HEADLINE
    several = len(statuses) > 1
    if verdict is Verdict.PASSED:
        return f"All {len(statuses)} checks passed" if several else "The check passed"
    failed = statuses.count(CheckStatus.FAILED)
    return f"{failed} of {len(statuses)} checks failed" if several else "The check failed"


def grader_failed(fault: Exception) -> str:
    """What the command line says where the grader itself failed."""
    return f"The grader itself failed, which says nothing about this code: {fault}"


def not_looked_at(verdict: Verdict) -> str:
    """What is said of a check of which a run has come to nothing."""
    return f"Not looked at: the run ended ({verdict.value.replace('_', ' ')}) before there was anything to look at."


def stopped_before(name: str, deed: str) -> str:
    """What is said of what the code was to make or call after the line at which an exception ended it."""
    return f"Your code stopped before `{name}` was {deed}."


def ended_before(name: str) -> str:
    """The same of what it was to make after the line at which it ended itself."""
    return f"Your code ended before `{name}` was made."


def needed(name: str, purpose: str) -> str:
    """What is said of a check for want of an output; `purpose` begins with a preposition, such as `for this`."""
    return f"`{name}` is needed {purpose}."


def same_type_as(output: str, dtype: str, source: str) -> str:
    """What is said of an output of a wrong type that it has from another of the student's outputs."""
    return f"{output} holds {dtype}, as your own {source} does; that comes first."


def unusable(output: str, sources: str, *, nan: bool) -> str:
    """What is said of an output that would be judged by others of the student's which hold nan, or do not fit."""
    why = ", and that holds numbers that are not (nan)" if nan else ", which cannot be used as it is"
    return f"{output} is judged by your own {sources}{why}."


def gradient_needs(output: str) -> str:
    """What is said of a gradient of an output that is not right yet."""
    return f"A gradient arrives; whether it is the right one can be said once {output} is right."


def unknown_gradient(table: str) -> str:
    """What is said of a gradient where the reference has none for the student's table."""
    return f"A gradient arrives, but with this `{table}` nobody can say which one it should be."


def rows_need(table: str, output: str) -> str:
    """What is said of the rows of a table that learn, where the output is not right yet."""
    return f"Which rows of `{table}` learn can be said once {output} is right."


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
