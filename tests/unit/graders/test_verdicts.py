"""How a run ended becomes one verdict, and one sentence that says what to do about it."""

import signal

import pytest

from graders.protocol.ending import Ended, Loop
from graders.report import CheckResult, CheckStatus, Verdict
from graders.reporting.verdicts import verdict_of
from graders.reporting.vocabulary import loop_sentence, sentence
from graders.task import Limits

LIMITS = Limits(wall_time_s=2.5, memory_mib=300, output_abort_kib=70)


def check(status: CheckStatus) -> CheckResult:
    """Return a check that came out so."""
    return CheckResult("h", "`h` is right", status, "")


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ("time", Verdict.TIME_LIMIT),
        ("waiting", Verdict.TIME_LIMIT),
        ("costly", Verdict.TIME_LIMIT),
        ("memory", Verdict.MEMORY_LIMIT),
        ("disk", Verdict.OUTPUT_LIMIT),
        ("output", Verdict.OUTPUT_LIMIT),
        ("gone", Verdict.CRASHED),
        ("garbled", Verdict.CRASHED),
        ("unjudged", Verdict.CRASHED),
    ],
)
def test_run_that_ended_before_its_time_has_the_verdict_of_its_end(how: str, verdict: Verdict) -> None:
    """Whatever had been found by then."""
    passed = [check(CheckStatus.PASSED)]
    assert verdict_of(Ended(how), error=False, memory=False, checks=passed) is verdict
    assert verdict_of(Ended(how), error=True, memory=True, checks=[]) is verdict


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (signal.SIGXCPU, Verdict.TIME_LIMIT),
        (signal.SIGXCPU | 0x80, Verdict.TIME_LIMIT),
        (signal.SIGSEGV, Verdict.CRASHED),
        (signal.SIGXCPU << 8, Verdict.CRASHED),
        (0, Verdict.CRASHED),
        (None, Verdict.CRASHED),
    ],
)
def test_run_killed_for_its_computing_time_was_too_slow(status: int | None, verdict: Verdict) -> None:
    """The kernel's signal says so, with or without a core; an exit code of the same number does not."""
    assert verdict_of(Ended("gone", status=status), error=False, memory=False, checks=[]) is verdict


def test_run_that_came_to_its_end_is_judged_by_what_was_found() -> None:
    """Refused memory goes before an error, which it mostly raises, and an error before the checks."""
    passed, failed, not_run = (check(one) for one in (CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.NOT_RUN))
    assert verdict_of(None, error=True, memory=True, checks=[passed]) is Verdict.MEMORY_LIMIT
    assert verdict_of(None, error=True, memory=False, checks=[passed]) is Verdict.ERROR
    assert verdict_of(None, error=False, memory=False, checks=[passed, passed]) is Verdict.PASSED
    assert verdict_of(None, error=False, memory=False, checks=[passed, failed]) is Verdict.FAILED
    assert verdict_of(None, error=False, memory=False, checks=[not_run, passed]) is Verdict.FAILED


@pytest.mark.parametrize(
    ("verdict", "ended", "said"),
    [
        (Verdict.TIME_LIMIT, Ended("time"), "still running after 2.5 seconds"),
        (Verdict.TIME_LIMIT, None, "still running after 2.5 seconds"),
        (Verdict.TIME_LIMIT, Ended("waiting"), "without computing anything, for longer than the 2.5 seconds"),
        (Verdict.TIME_LIMIT, Ended("costly"), "more computing time than a check may use"),
        (Verdict.MEMORY_LIMIT, Ended("memory"), "more than the 300 MiB"),
        (Verdict.OUTPUT_LIMIT, Ended("disk"), "wrote more into files"),
        (Verdict.OUTPUT_LIMIT, Ended("output"), "printed more than 70 KiB"),
        (Verdict.OUTPUT_LIMIT, None, "printed more than 70 KiB"),
        (Verdict.CRASHED, Ended("unjudged"), "could not be looked at"),
        (Verdict.CRASHED, Ended("garbled", status=int(signal.SIGSEGV)), "what it handed over cannot be read"),
        (Verdict.CRASHED, None, "what it handed over cannot be read"),
        (Verdict.CRASHED, Ended("gone", status=int(signal.SIGSEGV)), "(SIGSEGV)"),
        (Verdict.CRASHED, Ended("gone", status=signal.SIGSEGV | 0x80), "(SIGSEGV)"),
        (Verdict.CRASHED, Ended("gone", status=0), "(it was told to exit at once)"),
        (Verdict.CRASHED, Ended("gone", status=None), "(it was told to exit at once)"),
        (Verdict.CRASHED, Ended("gone", status=0, line=7), "(it was told to exit at once by line 7)"),
    ],
)
def test_verdict_without_a_check_is_explained_in_a_sentence(verdict: Verdict, ended: Ended | None, said: str) -> None:
    """With the exercise's own limits, and with what ended the run."""
    assert said in sentence(verdict, ended, LIMITS)


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED, Verdict.ERROR])
def test_verdict_that_checks_explain_needs_no_sentence(verdict: Verdict) -> None:
    """The checks speak, or the error."""
    assert sentence(verdict, None, LIMITS) == ""


@pytest.mark.parametrize("how", ["time", "waiting"])
def test_run_that_ended_on_other_data_is_told_that_the_lessons_own_was_fine(how: str) -> None:
    """A loop over a size that is not the lesson's is looked for elsewhere."""
    other = "came to its end with the lesson's own data"
    assert other in sentence(Verdict.TIME_LIMIT, Ended(how), LIMITS, trial=1)
    assert other not in sentence(Verdict.TIME_LIMIT, Ended(how), LIMITS, trial=0)
    assert other not in sentence(Verdict.TIME_LIMIT, Ended(how), LIMITS)


NO_WAY_OUT = "condition of the `while` loop on line 3 is always true, and there is no `break` or `return`"


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        (Loop(3, "while", no_way_out=True), NO_WAY_OUT),
        (Loop(3, "while", unchanged=("i",), no_way_out=True), NO_WAY_OUT),
        (Loop(3, "while", unchanged=("i", "n")), "asks about `i` or `n`, and nothing in the loop changes that"),
        (Loop(3, "for"), "The time was over in the `for` loop on line 3."),
    ],
)
def test_loop_that_did_not_end_is_named(loop: Loop, said: str) -> None:
    """With its line, and with why it never ends, where its text alone shows that."""
    ended = Ended("time")
    ended.loop = loop
    assert said in sentence(Verdict.TIME_LIMIT, ended, LIMITS)
    assert said in loop_sentence(ended, 0)


def test_loop_is_named_only_where_it_used_up_the_lessons_own_time() -> None:
    """One that waits is no loop, and on other data it is the data that makes it long."""
    ended, waiting = Ended("time"), Ended("waiting")
    ended.loop = waiting.loop = Loop(3, "while", no_way_out=True)
    assert loop_sentence(waiting, 0) == loop_sentence(ended, 1) == loop_sentence(None, 0) == ""
    assert loop_sentence(Ended("time"), 0) == ""
    assert "`while` loop" not in sentence(Verdict.TIME_LIMIT, ended, LIMITS, trial=1)
    assert sentence(Verdict.TIME_LIMIT, Ended("time"), LIMITS).endswith("than the task needs?")
