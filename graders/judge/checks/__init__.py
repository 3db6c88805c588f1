"""
The checks, one file for each kind: `judge(trial, check)` looks at one trial and says what it found.

To add a kind, add a file with that function and name it here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graders.judge.checks import (
    calls,
    equal,
    gradient,
    holds,
    learnable_count,
    other_sizes,
    prints,
    rows_learn,
    table,
    unchanged,
    uses,
)
from graders.judge.trials.trial import Outcome, Trial
from graders.report import CheckStatus
from graders.task import Check

KINDS: Mapping[str, Callable[[Trial, Check], Outcome]] = MappingProxyType(
    {
        "table": table.judge,
        "equal": equal.judge,
        "gradient": gradient.judge,
        "learnable_count": learnable_count.judge,
        "other_sizes": other_sizes.judge,
        "rows_learn": rows_learn.judge,
        "holds": holds.judge,
        "unchanged": unchanged.judge,
        "prints": prints.judge,
        "uses": uses.judge,
        "calls": calls.judge,
    }
)


def judge(trial: Trial, check: Check) -> Outcome:
    """One check, or all its parts until one fails; if none does, the first that cannot be judged speaks."""
    outcomes = []
    for leaf in check.leaves:
        outcome = KINDS[leaf.kind](trial, leaf)
        if outcome.status is CheckStatus.FAILED:
            return outcome
        outcomes.append(outcome)
    return next((one for one in outcomes if one.status is not CheckStatus.PASSED), outcomes[-1])
