"""Did the student's code print what it was to print, white space aside?"""

from graders.judge.trial import Outcome, Trial, failed, not_run, passed
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Look for the text that an author's expression gives among what was printed."""
    try:
        wanted = str(trial.value_of(check.expression))
    except Exception:  # noqa: BLE001  the student's outputs need not fit it
        return not_run("What should be printed follows from outputs that are not right yet.")
    if _folded(wanted) in _folded(trial.claim.printed):
        return passed()
    if not trial.lesson:
        return failed("Something else was printed than should be.")
    return failed(f"`{_folded(wanted):.200}` should have been printed. {check.message}".strip())


def _folded(text: str) -> str:
    return " ".join(text.split())
