"""Does the code work for other data and sizes? Says so when no other check can be blamed."""

from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.report import CheckStatus
from graders.reporting import vocabulary
from graders.task import Check


def judge(trial: Trial, _: Check) -> Outcome:
    """On a fresh trial: did the code run to its end, and does everything else hold?"""
    if trial.lesson:
        return passed()
    if any(one.status is CheckStatus.FAILED for one in trial.outcomes.values()):
        return not_run(vocabulary.OTHER_SIZES_ELSEWHERE)
    fault = trial.observation.fault
    if fault is not None:
        kind = fault.type if fault.builtin else "an exception of its own"
        return failed(f"Your code stopped with {kind}.")
    unjudged = [one for one in trial.outcomes.values() if one.status is CheckStatus.NOT_RUN]
    if unjudged and all(one.by_author for one in unjudged):
        return not_run(vocabulary.NOT_ALL_LOOKED_AT, by_author=True)
    if unjudged:
        return failed(vocabulary.NOT_ALL_LOOKED_AT)
    return passed()
