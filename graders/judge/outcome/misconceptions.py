"""
Which known wrong idea is behind a student's outputs?

Only what happened is named: the checks that a variant fails (`failing`) have all failed, and either its predicate
(`when`) holds on every trial, or everything that can be observed is the same on every trial: numbers, shapes, kinds,
what is missing, how it failed and on which ids, and which gradients arrive. A predicate that another action fulfils too
would tell a student of a mix-up that never was, so `kelolo check` tries each with what all other variants and the
commonest slips make (`app.authoring.self_test.slips`). Where several mix-ups are there, the first in the author's order
is named, and each check keeps its own words. Two ideas that cannot be told apart by that are never guessed between: the
author gets a report from `kelolo check`, and here the first in the author's order is taken.
"""

from collections.abc import Callable

import torch

from graders.judge.trials.trial import Trial
from graders.judge.trials.typed_in import typed_in
from graders.judge.values.compare import same, same_value
from graders.judge.values.decode_observation import Fault, Observation, Observed
from graders.report import Misconception
from graders.task import WrongVariant

_SYNTAX = (
    "A slip of the pen, not of thought: Python cannot read this as it is written, so none of it has run yet. "
    "Put the line right that it names, or the one above it, and check again."
)


def recognise(
    trials: list[Trial], failed: set[str], wrong: Callable[[], tuple[WrongVariant, ...]]
) -> Misconception | None:
    """
    The first of the exercise's wrong variants whose outputs equal the student's on all trials.

    Args:
        trials: all of them. Text that cannot be parsed has a name of its own in every exercise: `syntax`.
        failed: ids of the checks that failed; a variant that fails others is not what happened.
        wrong: gives the variants, in the author's order.
    """
    if not trials:
        return None
    if not trials[0].parsed:  # nothing ran, so nothing can be said of what its author thinks
        return Misconception("syntax", _SYNTAX)
    for variant in wrong():
        if set(variant.failing) <= failed and all(_matches(trials[0], trial.telling, variant) for trial in trials):
            return Misconception(variant.tag, variant.message)
    return None


def _matches(lesson: Trial, trial: Trial, variant: WrongVariant) -> bool:
    if variant.when:
        return _holds(lesson, trial, variant.when)
    if variant.expressions:
        return all(_is_expression(trial, name, text) for name, text in variant.expressions.items())
    other = trial.reference.variant(variant.code, trial.seed)
    return other is not None and _same_observation(trial.observation, other)


def _is_expression(trial: Trial, name: str, text: str) -> bool:
    """Is the student's output what this expression over the student's own outputs gives?"""
    made = trial.made(name)
    if made.tensor is None and made.kind != "value":
        return False
    try:
        value = trial.value_of(text)
    except Exception:  # noqa: BLE001  the student's outputs need not fit it
        return False
    if made.tensor is None:
        return same_value(made.value, value)
    return isinstance(value, torch.Tensor) and same(made.tensor, value)


def _holds(lesson: Trial, trial: Trial, predicate: str) -> bool:
    try:
        return bool(trial.value_of(predicate, typed_in=typed_in(lesson, trial)))
    except Exception:  # noqa: BLE001  the student's outputs need not fit it
        return False


def _same_observation(one: Observation, other: Observation) -> bool:
    return (
        _same_fault(one.fault, other.fault)
        and one.probed.keys() == other.probed.keys()
        and all(_same_fault(fault, other.probed[name]) for name, fault in one.probed.items())
        and all(_same_observed(made, other.made(name)) for name, made in one.outputs.items())
        and _shared(one) == _shared(other)
        and {name for made in one.defined for name in made[1:]} == {name for made in other.defined for name in made[1:]}
        and all(_same_observed(made, other.inputs[name]) for name, made in one.inputs.items())
        and all(_same_gradient(found, other.gradients.get(pair)) for pair, found in one.gradients.items())
    )


def _shared(observation: Observation) -> list[list[str]]:
    """Which names stand for one and the same table."""
    groups: dict[int, list[str]] = {}
    for name, made in observation.outputs.items():
        if made.kind == "table":
            groups.setdefault(made.storage, []).append(name)
    return sorted(groups.values())


def _same_fault(one: Fault | None, other: Fault | None) -> bool:
    if one is None or other is None:
        return one is other
    if (one.type, one.targets) != (other.type, other.targets) or one.operands.keys() != other.operands.keys():
        return False
    if not one.operands and one.message != other.message:  # nothing else tells two faults of a kind apart
        return False
    return all(_same_observed(made, other.operands[name]) for name, made in one.operands.items())


def _same_observed(one: Observed, other: Observed) -> bool:
    if (one.kind, one.shape, one.requires_grad) != (other.kind, other.shape, other.requires_grad):
        return False
    if one.value != other.value or (one.kind == "table" and not one.requires_grad and one.via != other.via):
        return False
    if one.tensor is None or other.tensor is None:
        return one.tensor is other.tensor
    return same(one.tensor, other.tensor)


def _same_gradient(one: torch.Tensor | str, other: torch.Tensor | str | None) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and same(one, other)
    return one == other
