"""Is a table there, with the right number of rows and columns, and fit to show anything?"""

import math

import torch

from graders.judge import words
from graders.judge.claimed import Made
from graders.judge.trial import Outcome, Trial, failed, passed
from graders.task import Check

_SMALLEST, _LARGEST = 1e-4, 1e5
_LEAST_SHARE = 1e-4  # ten times the tolerance of a comparison


def judge(trial: Trial, check: Check) -> Outcome:
    """Look at a table as numbers: what type holds them does not matter."""
    absent = trial.absent(check.of)
    if absent is not None:
        return absent
    made = trial.made(check.of)
    if made.kind != "table":
        return failed(_no_table(check.of, made))
    if made.tensor is None:
        return failed(f"The table in `{check.of}` cannot be looked at: {made.refused}.")
    expected, dims = trial.expected_shape(check.of), trial.output(check.of).dims
    if made.shape != expected:
        found = f"`{check.of}` is {words.shape(made.shape)}, but it should be {words.shape(expected, dims)}."
        return failed(f"{found} {_swapped(made.shape, expected)}".strip())
    if not made.tensor.is_floating_point():
        return failed(f"`{check.of}` holds {made.dtype}; numbers that learn must be floating-point.")
    degenerate = _degenerate(made.tensor) or _lost_beside(trial, check.of, made.tensor)
    return failed(f"`{check.of}` {degenerate}") if degenerate else passed()


def _lost_beside(trial: Trial, name: str, table: torch.Tensor) -> str:
    """Beside a table of far larger numbers one is not seen in a sum, so whether it was added cannot be judged."""
    others = [one.name for one in trial.task.outputs if one.kind == "table" and one.name != name]
    for other in others:
        beside = trial.made(other).tensor
        if beside is None or not beside.numel() or not table.numel() or not beside.is_floating_point():
            continue
        lost = _largest(table) < _LEAST_SHARE * _largest(beside)
        if lost and not _degenerate(beside):  # if it is, its own check says so, and one fault is told once
            return (
                f"holds numbers over ten thousand times smaller than those of `{other}`, so what is made of both shows "
                "nothing of it. Let both start at random, with numbers around 1 or 0.02."
            )
    return ""


def _no_table(name: str, made: Made) -> str:
    if made.via == "several":
        return f"`{name}` holds several tables; it should be one."
    return f"`{name}` is {words.kind(made)}, and no table of numbers can be found in it."


def _swapped(actual: tuple[int, ...], expected: tuple[int, ...]) -> str:
    return "Rows and columns are swapped." if actual == expected[::-1] else ""


def _degenerate(table: torch.Tensor) -> str:
    """With such a table a wrong look-up gives the right numbers, so it proves nothing."""
    largest = _largest(table)
    if not math.isfinite(largest):
        return "holds numbers that are not finite (nan or inf), so nothing can be computed from it."
    if 0 < largest < _SMALLEST or largest > _LARGEST:
        return (
            f"holds numbers up to {largest:.0e}: beside such numbers a wrong step cannot be told from a right one. Let "
            "the rows start at random, with numbers around 1 or 0.02."
        )
    if table.dim() and table.shape[0] > 1 and bool((table == table[0]).all()):
        return (
            "has the same numbers in every row, so no row can be told from another and nothing that is looked up in it "
            "can be judged. Let the rows start at random."
        )
    return ""


def _largest(table: torch.Tensor) -> float:
    """The largest number, signs aside: nan or inf where one of them is, and 1 where there are none."""
    if not table.numel():
        return 1.0
    least, most = table.aminmax()  # in one pass, and both are nan where any number is
    return max(abs(float(least)), abs(float(most)))
