"""Is a table there, with the right number of rows and columns, of numbers that can learn?"""

import torch

from graders.judge.feedback import descriptions
from graders.judge.trials import disclosure
from graders.judge.trials.trial import Outcome, Trial, failed, passed
from graders.judge.values.decode_observation import Observed
from graders.task import Check

_PRECISE = (torch.float32, torch.float64)


def judge(trial: Trial, check: Check) -> Outcome:
    """Look at a table as numbers: what type holds them does not matter."""
    absent = trial.absent(check.of)
    if absent is not None:
        return absent
    made = trial.made(check.of)
    if made.kind != "table":
        return failed(_no_table(trial, check.of, made))
    if made.tensor is None:
        return failed(f"The table in `{check.of}` cannot be looked at: {disclosure.refused(trial, made)}.")
    said = _misshapen(trial, check, made) or _unfit(check, made.tensor)
    return failed(said) if said else passed()


def _misshapen(trial: Trial, check: Check, made: Observed) -> str:
    expected, dims = trial.expected_shape(check.of), trial.output(check.of).dims
    if made.shape == expected:
        return ""
    wanted = descriptions.shape(expected, dims)
    found = f"`{check.of}` has {disclosure.shape(trial, made.shape)}, but it should be {wanted}."
    return f"{found} {_swapped(made.shape, expected)}".strip()


def _unfit(check: Check, table: torch.Tensor) -> str:
    """Why nothing can be learned with such numbers, or an empty text."""
    kind = str(table.dtype).removeprefix("torch.")
    if not table.is_floating_point():
        return f"`{check.of}` holds {kind}; numbers that learn must be floating-point."
    if table.dtype not in _PRECISE:
        return f"`{check.of}` holds {kind}, in which small steps are lost; keep the numbers of a table as float32."
    if not bool(torch.isfinite(table).all()):
        return f"`{check.of}` holds numbers that are not finite (nan or inf), so nothing can be computed from it."
    return ""


def _no_table(trial: Trial, name: str, made: Observed) -> str:
    if made.via == "several":
        return f"`{name}` holds several tables; it should be one."
    return f"`{name}` is {disclosure.kind(trial, made)}, and no table of numbers can be found in it."


def _swapped(actual: tuple[int, ...], expected: tuple[int, ...]) -> str:
    return "Rows and columns are swapped." if actual == expected[::-1] else ""
