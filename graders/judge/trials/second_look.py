"""
A trial whose tables start with blind numbers, and the same trial with others in them: what holds of both together.

`graders.student.start_values` says what blind is and why a program is then run twice. What failed with the student's
own numbers has failed. What passed with them has passed only if it passes with the other ones as well.
"""

import torch

from graders.judge.trials.trial import Outcome, Trial, failed
from graders.judge.values.decode_observation import Observation
from graders.report import CheckStatus
from graders.student.start_values import MAX_RENEWED, OtherNumbers, blind_spot
from graders.task import Check

_BLIND = (
    "starts with numbers behind which a wrong step can hide (rows that are alike, or sizes that drown all others), and "
    "nothing else could be tried in its place: the table is used before it has its name. Make the table first and use "
    "it then, or let it start at random."
)
_ONE_PLACE = (
    "has rows that share one place in memory, so they are no rows of their own: what one learns, all of them learn. "
    "Give each row its own numbers."
)


def settle(trial: Trial) -> None:
    """Put what the second run showed into the outcomes of the first."""
    again = trial.again
    if again is None:
        unseen = _blind(trial)
    else:
        hidden = [check for check in trial.task.checks if _is_hidden(trial, again, check)]
        unseen = _not_replaced(trial, again, hidden)
        for check in [] if unseen else hidden:
            trial.outcomes[check.id] = _with_others(trial, again.outcomes[check.id])
    if unseen and (_hides_much(trial) or _shares_rows(again, unseen)):
        _refuse(trial, unseen, _ONE_PLACE if _shares_rows(again, unseen) else _BLIND)


def _refuse(trial: Trial, table: str, why: str) -> None:
    """Fail the check of a table; of one that is too large to be an output, the first check of the exercise."""
    checks = trial.task.checks
    outputs = {one.name for one in trial.task.outputs}
    first = None if table in outputs else checks[0]
    guard = next((one for one in checks if _is_of_table(one, table)), first)
    if guard is not None and trial.outcomes[guard.id].status is CheckStatus.PASSED:
        trial.outcomes[guard.id] = failed(f"`{table}` {why}")


def _hides_much(trial: Trial) -> bool:
    """
    Does more hide behind its tables' numbers than what bends them?

    Numbers of one sign are as usual as others (`torch.rand`). Where nothing else could be tried in their place, they
    are not held against anyone.
    """
    return bool(blind_spot(_free(trial), bent=False))


def _shares_rows(again: Trial | None, table: str) -> bool:
    """Could nothing be put into a table, because its rows are one and the same place in memory?"""
    return again is not None and (table, table) in again.observation.late


def _is_hidden(trial: Trial, again: Trial, check: Check) -> bool:
    """Does a check hold with the student's own numbers only?"""
    first, second = trial.outcomes[check.id], again.outcomes[check.id]
    return first.status is CheckStatus.PASSED and second.status is not CheckStatus.PASSED


def _is_of_table(check: Check, name: str) -> bool:
    return any(leaf.kind == "table" and leaf.of == name for leaf in check.leaves)


def _with_others(trial: Trial, second: Outcome) -> Outcome:
    if second.status is not CheckStatus.FAILED:
        return second
    name = _blind(trial)
    which = f"`{name}` starts" if name else "Your table starts"
    return failed(
        f"{which} with numbers behind which a wrong step can hide, so other numbers were tried. With them: "
        f"{second.message}"
    )


def look(trial: Trial) -> None:
    """Find out whether its tables start blind, before anybody waits for that."""
    _blind(trial)


def _blind(trial: Trial) -> str:
    if trial.blind is None:
        trial.blind = _blind_table(trial)
    return trial.blind


def _blind_table(trial: Trial) -> str:
    return blind_spot(_free(trial))


def _free(trial: Trial) -> dict[str, torch.Tensor]:
    """The tables that may start with any numbers, each once."""
    made = {name: trial.made(name) for name in trial.task.free_tables if trial.made(name).kind == "table"}
    first = {one.storage: name for name, one in reversed(made.items())}
    return {name: one.tensor for name, one in made.items() if one.tensor is not None and first[one.storage] == name}


def _not_replaced(trial: Trial, again: Trial, hidden: list[Check]) -> str:
    """A table that did not get other numbers, or got them when what then failed had been made already; or nothing."""
    if shared := next((name for name in trial.task.free_tables if _shares_rows(again, name)), ""):
        return shared
    seen: set[int] = set()
    for number, name in enumerate(trial.task.free_tables):
        made = again.made(name)
        table, is_shared = made.tensor, made.storage in seen
        seen.add(made.storage)
        if table is not None and not is_shared and not _has_others(table, trial.seed, number):
            return name
    judged = {leaf.of for check in hidden for leaf in check.leaves}
    late = (one for one in again.observation.late if one[1] in judged)
    stale = next((table for table, output in late if _alike(trial.observation, again.observation, output)), "")
    return stale and (_blind(trial) or stale)


def _has_others(table: torch.Tensor, seed: int, number: int) -> bool:
    renewals = range(MAX_RENEWED)
    return any(OtherNumbers(seed, number, renewed=renewed).are_in(table) for renewed in renewals)


def _alike(one: Observation, other: Observation, name: str) -> bool:
    left, right = one.made(name).tensor, other.made(name).tensor
    return left is not None and right is not None and left.shape == right.shape and torch.equal(left, right)
