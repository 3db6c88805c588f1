"""Does an output let a table learn: does a random cotangent come back as the reference says, row by row?"""

import torch

from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.judge.values.compare import compare
from graders.judge.values.decode_observation import Observed
from graders.report import CheckStatus
from graders.reporting import vocabulary
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Hold d (of * r).sum() / d to, taken in the student's process, against the reference's."""
    of, to = trial.made(check.of), trial.made(check.to)
    if of.kind != "tensor" or to.kind != "table":
        lacking = check.of if of.kind != "tensor" else check.to
        return trial.needed(lacking, f"to see whether `{check.to}` can learn")
    found = trial.observation.gradients.get(f"{check.of}>{check.to}", "error")
    if isinstance(found, str) and found == "none":  # torch is slow to tell a tensor from a text
        return failed(why_cut(trial, check, of, to))
    if not isinstance(found, torch.Tensor):
        return failed(f"For {trial.called(check.of)} {stopped(trial, found)} `{check.to}`.")
    if not bool(found.any()):
        return failed(f"The gradient of {trial.called(check.of)} arrives at `{check.to}`, but it is zero everywhere.")
    return _by_row(trial, check, found)


def arrives(
    trial: Trial, of: str, to: str, found: torch.Tensor, *, given: tuple[str, ...] | None = None
) -> bool | None:
    """
    Is it the gradient of the reference? None where nobody can say which that is.

    Divided by how often each row came up (`scale_grad_by_freq`), it lets the same rows learn, and the same way.
    """
    reference, bound = trial.reference, trial.bound(of)
    expected = reference.gradient(of, to, trial.seed, given=given)
    if expected is None:
        return None
    terms = reference.gradient_terms(of, to, trial.seed, given=given)
    if compare(found, expected, bound=bound, terms=terms) is None:
        return True
    often = reference.how_often(of, to, given=given)
    if often is None or found.shape != often.shape:
        return False
    return compare(found * often.clamp_min(1).to(found.dtype), expected, bound=bound, terms=terms) is None


def stopped(trial: Trial, found: str) -> str:
    """In words, up to the table's name: what kept a gradient from being taken at all."""
    said = found.removeprefix("error").strip()
    why = f" ({said})" if said and trial.lesson else ""  # other data are nobody's to print
    return f"working out the gradient stopped with an exception{why} on the way back to"


def why_cut(trial: Trial, check: Check, of: Observed, to: Observed) -> str:
    """In words: what keeps the gradient of an output from its table."""
    if not to.requires_grad:
        kind = "a plain tensor" if to.via == "tensor" else "frozen"
        return f"`{check.to}` is {kind}: it takes no gradient (requires_grad is False), so it can never learn."
    if not of.requires_grad:
        return f"{trial.called(check.of)} is cut off from `{check.to}`: something on the way drops the gradient."
    return (
        f"{trial.called(check.of)} does not come from the table that `{check.to}` is now: "
        "no gradient gets from one to the other. "
        "Was the table made again after it was looked up?"
    )


def _by_row(trial: Trial, check: Check, found: torch.Tensor) -> Outcome:
    checks = [
        one for one in trial.task.checks if any(leaf.kind == "equal" and leaf.of == check.of for leaf in one.leaves)
    ]
    outcome = trial.outcomes.get(checks[0].id) if checks else None
    if outcome is not None and outcome.status is not CheckStatus.PASSED:
        return not_run(vocabulary.gradient_needs(trial.called(check.of)))
    expected = trial.reference.gradient(check.of, check.to, trial.seed)
    if expected is None:
        return not_run(vocabulary.unknown_gradient(check.to))
    if arrives(trial, check.of, check.to, found):
        return passed()
    rows = silent_rows(found, expected)
    if not rows:
        how = _how_off(found, expected) if trial.lesson else ""
        return failed(f"A gradient arrives at `{check.to}`, but another one than should{how}.")
    which = f"Row {rows[0]}" if trial.lesson else "A row"
    return failed(f"{which} of `{check.to}` was looked up, but no gradient reaches it: it can never learn.")


def _how_off(found: torch.Tensor, expected: torch.Tensor) -> str:
    """In words: a multiple of what it should be, or something else."""
    if found.shape != expected.shape:
        return ": it does not have the table's shape"
    left, right = found.double().flatten(), expected.double().flatten()
    factor = float(left @ right / (right @ right).clamp_min(1e-300))
    if not torch.allclose(left, factor * right, rtol=1e-4, atol=1e-4 * abs(factor) * float(right.abs().max())):
        return ": its numbers are not those that come back from your own step"
    turned = ", and so it points the other way" if factor < 0 else ""
    return f": it is {factor:.3g} times as large{turned}"


def silent_rows(found: torch.Tensor, expected: torch.Tensor) -> list[int]:
    """Rows that hear something in `expected` and nothing in `found`; both (rows, ...)."""
    if found.shape[:1] != expected.shape[:1] or found.dim() < 1:
        return []
    heard = found.flatten(1).any(dim=1) if found.dim() > 1 else found != 0
    wanted = expected.flatten(1).any(dim=1) if expected.dim() > 1 else expected != 0
    return [int(row) for row in (wanted & ~heard).nonzero()]
