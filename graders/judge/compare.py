"""How far two tensors are from each other, in words and in bits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

CLOSE = 1e-5  # unitless, relative to the largest number expected
# What a few steps in these precisions cost at least.
_COARSE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@dataclass(frozen=True)
class Mismatch:
    """Where a student's tensor is off."""

    kind: str  # shape | type | not-finite | values
    place: tuple[int, ...] = ()
    actual: float = 0.0
    expected: float = 0.0
    share: float = 1.0  # of the numbers that are off


def compare(
    actual: torch.Tensor, expected: torch.Tensor, *, dtype: str = "any", tolerance: float = CLOSE
) -> Mismatch | None:
    """
    Say where a student's tensor is off, or None if it is close enough.

    Args:
        actual: (...), on the CPU; the student's. May hold anything.
        expected: (...), on the CPU; the reference's.
        dtype: what the student's numbers may be: floating, whole, any, or one by its name.
        tolerance: unitless; how far off a number may be, as a share of the largest number expected. So a table of
            tiny numbers is judged as strictly as one of large ones.

    Returns:
        The first place that is off, row by row.

    Source: |actual - expected| <= tolerance * max |expected|, coarser where the precision is.
    """
    if actual.shape != expected.shape:
        return Mismatch("shape")
    if not fits(actual, dtype):
        return Mismatch("type")
    if actual.dtype is expected.dtype and torch.equal(actual, expected):
        return None  # to the bit, as most often; the rest is twenty times as slow
    left, right = actual.detach().double(), expected.detach().double()
    finite = right[torch.isfinite(right)].abs()
    share = max(_COARSE.get(actual.dtype, 0.0), _COARSE.get(expected.dtype, 0.0), tolerance)
    reach = share * float(finite.max()) if finite.numel() and actual.is_floating_point() else 0.0
    off = ~torch.isclose(left, right, rtol=0.0, atol=reach, equal_nan=True)
    if not bool(off.any()):
        return None
    place = tuple(int(index) for index in off.nonzero()[0])
    kind = "values" if bool(torch.isfinite(left[place])) else "not-finite"
    return Mismatch(kind, place, float(left[place]), float(right[place]), float(off.double().mean()))


def coarseness(tensors: Iterable[torch.Tensor]) -> float:
    """How far off gradients may be that have come through these, as a share of the largest: their precision's."""
    return max((_COARSE.get(one.dtype, 0.0) for one in tensors), default=0.0) or CLOSE


def fits(tensor: torch.Tensor, dtype: str) -> bool:
    """Is a tensor of this kind of number: floating, whole, any, or one by its name?"""
    match dtype:
        case "any":
            return True
        case "floating":
            return tensor.is_floating_point()
        case "whole":
            return not tensor.is_floating_point() and tensor.dtype is not torch.bool
        case _:
            return str(tensor.dtype) == f"torch.{dtype}"


def same_value(actual: Any, expected: Any) -> bool:  # noqa: ANN401  any plain values
    """Plain values: numbers within a millionth, texts, truth values and lists exactly."""
    if isinstance(expected, tuple | list):
        same_length = isinstance(actual, list) and len(actual) == len(expected)
        return same_length and all(map(same_value, actual, expected))
    if isinstance(actual, bool) or isinstance(expected, bool) or not isinstance(expected, int | float):
        return type(actual) is type(expected) and bool(actual == expected)
    return isinstance(actual, int | float) and abs(actual - expected) <= 1e-6 * max(1.0, abs(expected))


def same(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal within the tolerance, in shape and numbers."""
    return compare(actual, expected) is None
