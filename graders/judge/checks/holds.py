"""Does an author's expression over the student's own outputs hold?"""

from graders.judge.trial import Outcome, Trial, failed, not_run, passed
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Evaluate it; where the outputs do not fit it, it does not hold."""
    for name in check.needs:
        if trial.made(name).kind in ("missing", "other"):
            return not_run(f"`{name}` is needed for this.")
    try:
        holds = bool(trial.value_of(check.expression))
    except Exception:  # noqa: BLE001  the student's outputs need not fit it
        holds = False
    return passed() if holds else failed(check.message or f"This does not hold: {check.title}.")
