"""Is an output what follows from the student's own tables (or own earlier steps)?"""

import torch

from graders.judge import words
from graders.judge.claimed import Made
from graders.judge.compare import Mismatch, compare
from graders.judge.trial import Outcome, Trial, failed, not_run, passed
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Compare with the reference started from each of the `given` sets; equal to one of them is right."""
    absent = trial.absent(check.of)
    if absent is not None:
        return absent
    made = trial.made(check.of)
    if made.kind != "tensor":
        return failed(_no_tensor(check.of, made))
    if made.tensor is None:
        return failed(f"`{check.of}` cannot be looked at: {made.refused}.")
    for name in check.inputs:
        spoilt = trial.overwritten(name)
        if spoilt:
            return failed(spoilt)
    return _compare(trial, check, made.tensor)


def _no_tensor(name: str, made: Made) -> str:
    said = f"`{name}` is {words.kind(made)}, not a torch tensor."
    if made.kind == "array":
        return f"{said} Outside torch no gradient can find its way back; stay with tensors all the way."
    return said


def _compare(trial: Trial, check: Check, actual: torch.Tensor) -> Outcome:
    found: list[tuple[Mismatch, torch.Tensor]] = []
    for given in check.given:
        run = trial.reference.given(given)
        if run is None:
            continue
        expected = run[0].get(check.of)
        if not isinstance(expected, torch.Tensor):
            continue
        mismatch = compare(actual, expected)
        if mismatch is None:
            return _learns(trial, check, given)
        found.append((mismatch, expected.detach()))
    if not found:
        needed = " or ".join(", ".join(f"`{name}`" for name in given) for given in check.given)
        return not_run(f"`{check.of}` is judged by your own {needed}, which cannot be used as it is.")
    return failed(_describe(trial, check, actual, found[0]))


def _describe(trial: Trial, check: Check, actual: torch.Tensor, found: tuple[Mismatch, torch.Tensor]) -> str:
    mismatch, expected = found
    dims = trial.output(check.of).dims
    if mismatch.kind == "shape":
        said = f"`{check.of}` has the shape {words.shape(tuple(actual.shape))}; "
        said += f"it should be {words.shape(tuple(expected.shape), dims)}."
        return " ".join(filter(None, (said, words.near_miss(actual, expected))))
    if mismatch.kind == "type":
        return (
            f"`{check.of}` holds {str(actual.dtype).removeprefix('torch.')}, but it should hold floating-point numbers."
        )
    place = f"{check.of}{list(mismatch.place)}"
    if not trial.lesson:  # other data are nobody's to print
        return f"`{check.of}` has the right shape but other numbers."
    if mismatch.kind == "not-finite":
        return f"`{place}` is not a finite number."
    said = (
        f"`{check.of}` has the right shape, but `{place}` is {mismatch.actual:.3f} and should be "
        f"{mismatch.expected:.3f}, going by your own {_sources(check)} ({mismatch.share:.0%} of its numbers are off)."
    )
    return f"{said} {check.message}".strip()


def _sources(check: Check) -> str:
    return " and ".join(f"`{name}`" for name in check.given[0]) or "starting code"


def _learns(trial: Trial, check: Check, given: tuple[str, ...]) -> Outcome:
    """The numbers are right; can the tables hear of it? Only where nothing before this output cut them off."""
    for table in check.learns:
        if not _can_learn(trial, check, table):
            continue
        found = trial.claim.gradients.get(f"{check.of}>{table}")
        if found == "none":
            return failed(
                f"`{check.of}` has the right numbers, but it is cut off from `{table}`: no gradient gets back to it. "
                "What on the way drops the gradient (`.data`, `.detach()`, `torch.no_grad()`, `torch.tensor(…)`)?"
            )
        if isinstance(found, torch.Tensor) and given == (table,):
            expected = trial.reference.gradient(check.of, table, trial.seed)
            if expected is not None and compare(found, expected) is not None:
                return failed(
                    f"`{check.of}` has the right numbers, but not every row of `{table}` it uses would learn."
                )
    return passed()


def _can_learn(trial: Trial, check: Check, table: str) -> bool:
    """Does the table take gradients, and do the student's own earlier outputs let them through?"""
    if not trial.made(table).requires_grad:
        return False
    others = [
        one
        for pair, one in trial.claim.gradients.items()
        if pair.endswith(f">{table}") and pair != f"{check.of}>{table}"
    ]
    return all(isinstance(one, torch.Tensor) for one in others)
