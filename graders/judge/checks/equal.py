"""Is an output what follows from the student's own tables (or own earlier steps)?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from graders.judge.checks.gradient import arrives, stopped
from graders.judge.feedback import descriptions
from graders.judge.trials import disclosure
from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.judge.values.compare import Mismatch, Terms, compare, fits, same_value
from graders.judge.values.decode_observation import Observed
from graders.reporting import vocabulary
from graders.student.observation import table_of
from graders.task import Check

_WANTED = {"floating": "floating-point numbers, float32 or float64", "whole": "whole numbers"}


def judge(trial: Trial, check: Check) -> Outcome:
    """Compare with the reference started from each of the `given` sets; equal to one of them is right."""
    absent = trial.absent(check.of)
    if absent is not None:
        return absent
    made, output = trial.made(check.of), trial.output(check.of)
    if output.kind == "value":
        return _value(trial, check, made)
    if made.kind != output.kind:
        return failed(_no_tensor(trial, check.of, made))
    if made.tensor is None:
        return failed(f"{trial.called(check.of)} cannot be looked at: {disclosure.refused(trial, made)}.")
    for name in check.inputs:
        spoilt = trial.overwritten(name)
        if spoilt:
            return failed(spoilt)
    return _compare(trial, check, made.tensor)


def _no_tensor(trial: Trial, name: str, made: Observed) -> str:
    said = f"{trial.called(name)} is {disclosure.kind(trial, made)}, not a torch tensor."
    if made.kind == "array":
        return f"{said} Outside torch no gradient can find its way back; stay with tensors all the way."
    return said


def _value(trial: Trial, check: Check, made: Observed) -> Outcome:
    """A plain number, text or list: equal, with some room for floating-point numbers."""
    if made.kind != "value":
        return failed(
            f"{trial.called(check.of)} is {disclosure.kind(trial, made)}; a plain number or text is expected."
        )
    unjudged: list[Outcome] = []
    expected = list(_right(trial, check, unjudged))
    if any(_is_same(made, one) for one in expected):
        return passed()
    if unjudged:
        return unjudged[0]
    if isinstance(made.value, str) and expected and not any(isinstance(one.value, str) for one in expected):
        return failed(f"{trial.called(check.of)} is a text; keep it as the number or list that it speaks of.")
    now = f" is {made.value!r:.80}, which" if trial.lesson else ""
    return failed(check.message or f"{trial.called(check.of)}{now} is not what it should be.")


def _is_same(made: Observed, right: "_Right") -> bool:
    try:
        return same_value(made.value, right.value)
    except (RecursionError, OverflowError):  # a list in itself; a whole number beyond all floating-point ones
        return False


@dataclass(frozen=True)
class _Right:
    """A value that would be right."""

    given: tuple[str, ...]  # what it was computed from; empty for an author's expression
    value: Any
    terms: Terms
    expression: str = ""  # the author's, where it is one


def _right(trial: Trial, check: Check, unjudged: list[Outcome]) -> Iterator[_Right]:
    """Every value that would be right; `unjudged`: filled with what is said if none is, and one could not be made."""
    for given in check.given:
        run = trial.reference.given(given, of=check.of)
        if run is not None and check.of in run[0]:
            value = run[0][check.of]
            table = table_of(value)[0] if trial.output(check.of).kind == "table" else None
            yield _Right(given, value if table is None else table, trial.reference.terms(given, of=check.of))
    for expression in check.accept:
        try:
            value = trial.value_of(expression)
        except Exception as fault:  # noqa: BLE001  the student's outputs need not fit the author's expression
            trial.note(fault, f"`accept` of the check “{check.id}”")
            if trial.is_unmade(fault):
                unjudged.append(not_run(vocabulary.UNKNOWN_VALUE, by_author=trial.is_broken(fault)))
            continue
        if not isinstance(value, torch.Tensor) or _is_plain(value):
            yield _Right((), value, trial.terms_of(expression), expression)


def _is_plain(value: torch.Tensor) -> bool:
    """Has it numbers of the kinds that a student's are read as?"""
    return value.layout is torch.strided and value.device.type == "cpu" and not value.is_complex()


def _compare(trial: Trial, check: Check, actual: torch.Tensor) -> Outcome:
    found: list[tuple[Mismatch, _Right]] = []
    poisoned = ""
    output, bound = trial.output(check.of), trial.bound(check.of)
    unsaid: list[Outcome] = []
    for right in _right(trial, check, unsaid):
        if not isinstance(right.value, torch.Tensor):
            continue
        mismatch = compare(actual, right.value, dtype=output.dtype, bound=bound, terms=right.terms)
        if mismatch is not None:
            found.append((mismatch, right))
        elif right.given and bool(right.value.isnan().any()):
            poisoned = right.given[0]  # nan is what comes of nan whatever is done with it, so this proves nothing
        else:
            return _learns(trial, check, right)
    if unsaid:
        return unsaid[0]
    unjudged = _unjudged(trial, check, found, poisoned)
    if unjudged:
        return not_run(unjudged)
    return failed(_describe(trial, check, actual, found[0]))


def _unjudged(trial: Trial, check: Check, found: list[tuple[Mismatch, _Right]], poisoned: str) -> str:
    """Why nothing can be said of an output that equals nothing that would be right; or an empty text."""
    kind = trial.made(check.of).dtype
    judged = found if trial.output(check.of).dtype == "floating" else []  # whole numbers do not take a type over
    coarse = [name for mismatch, right in judged if mismatch.kind == "type" for name in right.given]
    source = next((name for name in coarse if trial.made(name).dtype == kind and not _is_typed_well(trial, name)), "")
    if source:
        return vocabulary.same_type_as(trial.called(check.of), kind, trial.called(source))
    if poisoned:
        return vocabulary.unusable(trial.called(check.of), trial.called(poisoned), nan=True)
    if not found:
        needed = " or ".join(", ".join(map(trial.called, given)) for given in check.given if given)
        return vocabulary.unusable(trial.called(check.of), needed or "values", nan=False)
    return ""


def _is_typed_well(trial: Trial, name: str) -> bool:
    """Are an output's numbers of a type that it may have?"""
    tensor = trial.made(name).tensor
    return tensor is not None and fits(tensor, trial.output(name).dtype)


def _describe(trial: Trial, check: Check, actual: torch.Tensor, found: tuple[Mismatch, _Right]) -> str:
    mismatch, expected = found[0], found[1].value.detach()
    output = trial.output(check.of)
    if mismatch.kind == "shape":
        said = f"{trial.called(check.of)} has {disclosure.shape(trial, tuple(actual.shape))}; "
        said += f"it should be {descriptions.shape(tuple(expected.shape), output.dims)}."
        return " ".join(filter(None, (said, descriptions.near_miss(actual, expected))))
    if mismatch.kind == "type":
        wanted = _WANTED.get(output.dtype, output.dtype)
        return (
            f"{trial.called(check.of)} holds {str(actual.dtype).removeprefix('torch.')}, but it should hold {wanted}."
        )
    place = trial.called(check.of, mismatch.place)
    if not trial.lesson:  # other data are nobody's to print
        return f"{trial.called(check.of)} has the right shape but other numbers."
    if mismatch.kind == "not-finite" and math.isfinite(mismatch.expected):
        return f"{place} is {mismatch.actual:.3g}, which is not a finite number. {check.message}".strip()
    is_, should = descriptions.numbers(mismatch.actual, mismatch.expected, truth=actual.dtype is torch.bool)
    numbers = f"{place} is {is_} and should be {should}"
    said = f"{trial.called(check.of)} has the right shape, but {numbers}"
    source = f", going by your own {_sources(trial, check)}" if any(check.given) else ""
    return f"{said}{source} ({mismatch.share:.0%} of its numbers are off). {check.message}".strip()


def _sources(trial: Trial, check: Check) -> str:
    return " and ".join(map(trial.called, next(given for given in check.given if given)))


def _learns(trial: Trial, check: Check, right: _Right) -> Outcome:
    """The numbers are `right`; do the tables hear of it? Only where no earlier step has spoilt that."""
    for table in check.learns:
        if not _can_learn(trial, check, table):
            continue
        found = trial.observation.gradients.get(f"{check.of}>{table}")
        if isinstance(found, str) and found == "none":  # torch is slow to tell a tensor from a text
            return failed(
                f"{trial.called(check.of)} has the right numbers, but it is cut off from `{table}`: "
                "no gradient gets back to it. "
                "Either it was not made from that table, or something on the way drops the gradient (`.data`, "
                "`.detach()`, `torch.no_grad()`, `torch.tensor(…)`)."
            )
        if isinstance(found, str) and found.startswith("error"):
            return failed(f"{trial.called(check.of)} has the right numbers, but {stopped(trial, found)} `{table}`.")
        if isinstance(found, torch.Tensor) and _arrives(trial, check, right, table=table, found=found) is False:
            return failed(
                f"{trial.called(check.of)} has the right numbers, but another gradient gets back to `{table}`."
            )
    return passed()


def _arrives(trial: Trial, check: Check, right: _Right, *, table: str, found: torch.Tensor) -> bool | None:
    """Is it the gradient that should get back to a table from what is right? None where that cannot be told."""
    if right.expression:
        expected = trial.gradient_of(right.expression, table)
        if expected is None:
            return None
        terms = trial.gradient_terms_of(right.expression, table)
        return compare(found, expected, bound=trial.bound(check.of), terms=terms) is None
    if table not in right.given or _shared(trial, table, right.given):
        return None
    return arrives(trial, check.of, table, found, given=right.given)


def _shared(trial: Trial, table: str, given: tuple[str, ...]) -> bool:
    """Is the table another one as well? Then it rightly hears of both."""
    own = {leaf.storage for leaf in trial.made(table).leaves}
    return any(leaf.storage in own for other in given if other != table for leaf in trial.made(other).leaves)


def _can_learn(trial: Trial, check: Check, table: str) -> bool:
    """Does the table take gradients, and do the student's own earlier steps let the right ones through?"""
    if not trial.made(table).requires_grad:
        return False
    steps = {name for given in check.given for name in given} - {table}
    return all(_lets_through(trial, step, table) for step in steps)


def _lets_through(trial: Trial, step: str, table: str) -> bool:
    found = trial.observation.gradients.get(f"{step}>{table}")
    if found is None:  # nobody asked for it
        return True
    return isinstance(found, torch.Tensor) and arrives(trial, step, table, found) is not False
