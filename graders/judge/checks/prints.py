"""
Did the student's code print what it was to print, white space aside?

Whole lines count, and of all lines that look like an answer the last: whoever prints every number from 0 to 100 has
printed the right one too, but has not said which it is.
"""

import re

from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.reporting import vocabulary
from graders.task import Check

_NUMBER = re.compile(r"[-+]?\d[\d.,e]*")
_ENDS = (" ", ":", "=")
_WORD = re.compile(r"[^\W\d]+")


def judge(trial: Trial, check: Check) -> Outcome:
    """Look for the text that an author's expression gives among what was printed."""
    try:
        wanted = str(trial.value_of(check.expression))
    except Exception as fault:  # noqa: BLE001  the student's outputs need not fit it
        trial.note(fault, f"`prints` of the check “{check.id}”")
        return not_run(vocabulary.UNKNOWN_TEXT, by_author=trial.is_broken(fault))
    lines = [_folded(line) for line in wanted.splitlines() if line.strip()]
    printed = [_folded(line) for line in trial.observation.printed.splitlines() if line.strip()]
    at = _last(printed, lines)
    if at is None:
        said = f"`{_folded(wanted):.200}` should have been printed" if trial.lesson else "Something else was printed"
        return failed(f"{said}. {check.message}".strip())
    after = next((line for line in printed[at + len(lines) :] if _is_answer(line, lines[-1])), None)
    if after is None:
        return passed()
    other = f", here `{after:.100}`" if trial.lesson else ""
    return failed(f"The right text was printed, but others like it came after it{other}. Print the answer last.")


def _last(printed: list[str], lines: list[str]) -> int | None:
    """Where these lines stand for the last time among those that were printed; the first may follow a label."""
    starts = range(len(printed) - len(lines), -1, -1)
    return next((at for at in starts if _are(printed[at : at + len(lines)], lines)), None)


def _are(printed: list[str], lines: list[str]) -> bool:
    return printed[1:] == lines[1:] and bool(lines) and (printed[0] == lines[0] or _labelled(printed[0], lines[0]))


def _labelled(line: str, wanted: str) -> bool:
    """Is it `total: 3` where `3` is wanted? Not `1 2 3`."""
    label = line.removesuffix(wanted)
    return label != line and label[-1:] in _ENDS and not _NUMBER.search(label)


def _is_answer(line: str, wanted: str) -> bool:
    """Does a line end in something like the text that was wanted, but other words or numbers?"""
    count = len(wanted.split())
    tail = " ".join(line.split()[-count:])
    return _form(tail) == _form(wanted) and tail != wanted


def _form(text: str) -> str:
    """A text without what differs from one answer to another: its numbers and words."""
    return _WORD.sub("w", _NUMBER.sub("0", text))


def _folded(text: str) -> str:
    return " ".join(text.split())
