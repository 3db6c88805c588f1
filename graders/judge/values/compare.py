"""How far two tensors are from each other, in words and in bits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

CLOSE = 1e-5  # unitless, of each number expected and of the terms that it is made of
# What a few steps in these precisions cost at least. It counts only where an exercise asks for such a type by name.
_COARSE = {"float16": 2e-3, "bfloat16": 1.6e-2}
_PRECISE = (torch.float32, torch.float64)
_SAMPLES = (2, 8)  # a quick look first, and a thorough one where that leaves room for doubt
_BEYOND_DOUBT = 1e3  # times the bound: so far off that more samples would not change a thing

Terms = Callable[[int], torch.Tensor | None]
"""From a number of samples: how large the terms are that each number expected is made of; None if nobody can tell."""


@dataclass(frozen=True)
class Mismatch:
    """Where a student's tensor is off."""

    kind: str  # shape | type | not-finite | values
    place: tuple[int, ...] = ()
    actual: float = 0.0
    expected: float = 0.0
    share: float = 1.0  # of the numbers that are off


@dataclass(frozen=True)
class Bound:
    """How far off a number may be."""

    rtol: float = CLOSE  # unitless, of the number expected and of the terms that it is made of
    atol: float = 0.0  # in the unit of the numbers

    @classmethod
    def of(cls, rtol: float, atol: float, dtype: str) -> "Bound":
        """Of an output that is to be of this type: if the exercise asks for half precision, as coarse as that."""
        return cls(max(rtol, _COARSE.get(dtype, 0.0)), atol)


def compare(
    actual: torch.Tensor,
    expected: torch.Tensor,
    *,
    dtype: str = "any",
    bound: Bound = Bound(),
    terms: Terms | None = None,
) -> Mismatch | None:
    """
    Say where a student's tensor is off, or None if it is close enough.

    Each number has a bound of its own, so that no large number beside it makes room for a wrong one. A sum of large
    terms that nearly cancel is still as far off as its terms are large, whatever the order of the steps; only where a
    number is off by more than its own size allows are its terms asked for.

    Args:
        actual: (...), on the CPU; the student's. May hold anything.
        expected: (...), on the CPU; the reference's.
        dtype: what the student's numbers may be: floating, whole, any, or one by its name.
        bound: how far off.
        terms: how large the terms are that each number is made of; None where each stands for itself.

    Returns:
        The first place that is off, row by row.

    Source: |actual - expected| <= atol + rtol * (|expected| + terms).
    """
    if actual.shape != expected.shape:
        return Mismatch("shape")
    if not fits(actual, dtype):
        return Mismatch("type")
    if actual.dtype is expected.dtype and torch.equal(actual, expected):
        return None  # to the bit, as most often; the rest is twenty times as slow
    left, right = actual.detach().double(), expected.detach().double()
    floating = actual.is_floating_point()
    reach = bound.atol + bound.rtol * right.abs() if floating else torch.zeros_like(right)
    off = _off(left, right, reach)
    if floating and terms is not None and bool(off.any()):
        off = _off_by_terms(left, right, reach, rtol=bound.rtol, terms=terms)
    if not bool(off.any()):
        return None
    place = tuple(int(index) for index in off.nonzero()[0])
    kind = "values" if bool(torch.isfinite(left[place])) else "not-finite"
    return Mismatch(kind, place, float(left[place]), float(right[place]), float(off.double().mean()))


def _off(left: torch.Tensor, right: torch.Tensor, reach: torch.Tensor) -> torch.Tensor:
    """Where two tensors are further apart than `reach`; infinities and nan are near only to their like."""
    finite = torch.isfinite(left) & torch.isfinite(right)
    alike = (left == right) | (left.isnan() & right.isnan())
    return torch.where(finite, (left - right).abs() > reach, ~alike)


def _off_by_terms(
    left: torch.Tensor, right: torch.Tensor, reach: torch.Tensor, *, rtol: float, terms: Terms
) -> torch.Tensor:
    off = _off(left, right, reach)
    for samples in _SAMPLES:
        size = terms(samples)
        if size is None or size.shape != right.shape:
            return off
        room = reach + rtol * size.nan_to_num(nan=0.0, posinf=0.0)
        off = _off(left, right, room)
        if not bool(off.any()) or bool(_off(left, right, _BEYOND_DOUBT * room).any()):
            return off
    return off


def fits(tensor: torch.Tensor, dtype: str) -> bool:
    """Is a tensor of this kind of number: floating (float32 or float64), whole, any, or one by its name?"""
    match dtype:
        case "any":
            return True
        case "floating":
            return tensor.dtype in _PRECISE
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
    """
    Are two tensors one thing in shape and numbers? For words, never for a verdict.

    Source: |actual - expected| <= 1e-5 * max |expected|.
    """
    if actual.shape != expected.shape:
        return False
    left, right = actual.detach().double(), expected.detach().double()
    largest = float(right.abs().nan_to_num(posinf=0.0).amax()) if right.numel() else 0.0
    reach = CLOSE * largest if actual.is_floating_point() else 0.0
    return not bool(_off(left, right, torch.full_like(right, reach)).any())
