"""Tensors are compared by shape, kind of number and value, within what their precision can hold."""

import pytest
import torch

from graders.judge.compare import compare, same
from graders.judge.words import near_miss


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_rounding_of_a_precision_is_not_held_against_it(dtype: torch.dtype) -> None:
    """The same numbers in fewer bits are the same numbers."""
    exact = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    assert same(exact.to(dtype), exact)


def test_the_first_place_that_is_off_is_named() -> None:
    """Row by row, with both numbers and the share."""
    actual = torch.zeros(2, 3)
    actual[1, 2] = 5.0
    mismatch = compare(actual, torch.zeros(2, 3))
    assert mismatch is not None
    assert (mismatch.kind, mismatch.place, mismatch.actual, mismatch.expected) == ("values", (1, 2), 5.0, 0.0)
    assert mismatch.share == pytest.approx(1 / 6)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_never_equals_a_number(value: float) -> None:
    """NaN and infinity are told as such."""
    mismatch = compare(torch.tensor([value]), torch.tensor([1.0]))
    assert mismatch is not None
    assert mismatch.kind == "not-finite"


def test_broadcasting_does_not_hide_another_shape() -> None:
    """Shapes must be equal, not only compatible."""
    mismatch = compare(torch.zeros(1, 8, 32), torch.zeros(8, 32))
    assert mismatch is not None
    assert mismatch.kind == "shape"


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (torch.arange(6.0).reshape(1, 2, 3), "axis of size 1"),
        (torch.arange(6.0).reshape(2, 3).T, "swapped"),
        (torch.arange(6.0).reshape(2, 3).expand(4, 2, 3), "repeated"),
        (torch.zeros(5), ""),
        (torch.zeros(3, 2), ""),
    ],
)
def test_a_slip_of_axes_is_told_as_one(actual: torch.Tensor, words: str) -> None:
    """An axis too many, copies, or swapped axes are named only where the numbers are right."""
    told = near_miss(actual, torch.arange(6.0).reshape(2, 3))
    assert words in told
    assert bool(told) == bool(words)
