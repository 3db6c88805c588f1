"""Tensors are compared by shape, kind of number and value, within what their precision can hold."""

import pytest
import torch

from graders.judge.feedback.descriptions import near_miss
from graders.judge.values.compare import Bound, compare, same

EXACT = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_same_numbers_in_single_or_double_precision_are_the_same(dtype: torch.dtype) -> None:
    """Either is precise enough for any exercise."""
    assert same(EXACT.to(dtype), EXACT)
    assert compare(EXACT.to(dtype), EXACT, dtype="floating") is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_counts_only_where_it_is_asked_for_by_name(dtype: torch.dtype) -> None:
    """Where an exercise wants that type, rounding to it is right; elsewhere it is another type."""
    name, halved = str(dtype).removeprefix("torch."), EXACT.to(dtype)
    assert compare(halved, EXACT, dtype=name, bound=Bound.of(1e-5, 0.0, name)) is None
    mismatch = compare(halved, EXACT, dtype="floating")
    assert mismatch is not None
    assert mismatch.kind == "type"
    assert compare(halved, EXACT, dtype="any") is not None


def test_a_large_number_makes_no_room_for_a_wrong_one_beside_it() -> None:
    """Each number has a bound of its own."""
    expected = EXACT.clone()
    expected[:, 0] = 1e5
    wrong = expected.clone()
    wrong[3, 2] += 0.01
    assert compare(wrong, expected) is not None


def test_terms_that_nearly_cancel_make_room_for_their_own_rounding_only() -> None:
    """A small difference of two large numbers is as exact as they are, and no number beside it is."""
    large, small = EXACT * 1000, EXACT * 1000 + torch.rand(20, 5, generator=torch.Generator().manual_seed(1)) * 1e-2
    expected = (small.double() - large.double()).float()
    terms = lambda _: small.double().abs() + large.double().abs()  # noqa: E731
    off_by_rounding = expected + 1e-5 * large
    assert compare(off_by_rounding, expected) is not None
    assert compare(off_by_rounding, expected, terms=terms) is None
    assert compare(expected + 1e-3 * large, expected, terms=terms) is not None


def test_an_absolute_tolerance_is_added_to_the_relative_one() -> None:
    """Where an author asks for it."""
    expected = torch.zeros(3)
    assert compare(expected + 1e-3, expected) is not None
    assert compare(expected + 1e-3, expected, bound=Bound(atol=2e-3)) is None
    assert compare(expected + 3e-3, expected, bound=Bound(atol=2e-3)) is not None


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
        (torch.arange(6.0), "run together"),
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
