"""Does an author's expression over the student's own outputs hold?"""

from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.reporting import vocabulary
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Evaluate it; where the outputs do not fit it, nothing is said."""
    for name in check.needs:
        made = trial.made(name)
        if made.kind in ("missing", "other") and made.type != "NoneType":
            return trial.needed(name)
    try:
        holds = bool(trial.value_of(check.expression))
    except Exception as fault:  # noqa: BLE001  the student's outputs need not fit it
        trial.note(fault, f"`holds` of the check “{check.id}”")
        return not_run(vocabulary.DOES_NOT_FIT, by_author=trial.is_broken(fault))
    if not holds and trial.stopped and any(name in check.expression for name in trial.nothing):
        return not_run(vocabulary.NOTHING_TO_LOOK_AT)
    return passed() if holds else failed(check.message or f"This does not hold: {check.title}.")
