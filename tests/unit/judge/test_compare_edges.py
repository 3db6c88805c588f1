"""A comparison holds at its bounds: of tolerances, of kinds of number, of shares, and of plain values."""

import math
from itertools import count

import pytest
import torch

from graders.judge.values.compare import CLOSE, Bound, Mismatch, compare, fits, same, same_value

NAN, INF = math.nan, math.inf


def doubles(*values: float) -> torch.Tensor:
    """Return numbers in double precision."""
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(("dtype", "rtol"), [("float16", 2e-3), ("bfloat16", 1.6e-2), ("float32", 1e-5)])
def test_half_precision_is_as_coarse_as_it_is_and_no_coarser(dtype: str, rtol: float) -> None:
    """An exercise that asks for a type by name takes its rounding, and not twice that."""
    bound = Bound.of(1e-5, 0.0, dtype)
    assert compare(doubles(1 + 0.9 * rtol), doubles(1), bound=bound) is None
    assert compare(doubles(1 + 1.1 * rtol), doubles(1), bound=bound) is not None


def test_wider_tolerance_of_an_author_holds_in_half_precision_too() -> None:
    """The larger of the two counts, and the absolute one is the author's."""
    assert Bound.of(0.5, 0.25, "float16") == Bound(0.5, 0.25)


def test_bound_is_within_and_not_at() -> None:
    """A number that is off by exactly its bound is close enough; by more, it is not."""
    bound = Bound(rtol=0.0, atol=0.25)
    assert compare(doubles(1.25), doubles(1.0), bound=bound) is None
    assert compare(doubles(math.nextafter(1.25, 2)), doubles(1.0), bound=bound) is not None
    assert compare(doubles(0.75), doubles(1.0), bound=bound) is None


def test_tolerances_are_added() -> None:
    """The absolute one goes on top of the relative one, which is of the number expected, whatever its sign."""
    bound = Bound(rtol=0.25, atol=0.5)
    for expected in (8.0, -8.0):
        assert compare(doubles(expected + 2.5), doubles(expected), bound=bound) is None
        assert compare(doubles(expected + 2.625), doubles(expected), bound=bound) is not None


def test_close_by_itself_is_a_hundred_thousandth_of_the_number() -> None:
    """And nothing absolute."""
    assert compare(doubles(100 * (1 + 0.9e-5)), doubles(100)) is None
    assert compare(doubles(100 * (1 + 1.1e-5)), doubles(100)) is not None
    assert compare(doubles(1e-30), doubles(0)) is not None
    assert CLOSE == 1e-5


def test_whole_numbers_are_exact() -> None:
    """There is no rounding that could excuse one, however large it is."""
    assert compare(torch.tensor([10**6 + 1]), torch.tensor([10**6])) is not None
    assert compare(torch.tensor([10**6]), doubles(10**6)) is None
    assert (
        compare(torch.tensor([7]), torch.tensor([5]), bound=Bound(atol=9.0), terms=lambda _: doubles(1e9)) is not None
    )


def test_equal_numbers_of_another_type_are_looked_at_one_by_one() -> None:
    """Only the same type to the bit is equal at once."""
    assert compare(torch.ones(3, dtype=torch.float32), doubles(1, 1, 1)) is None
    assert compare(torch.zeros(0), torch.zeros(0)) is None


@pytest.mark.parametrize(
    ("actual", "expected", "kind"),
    [
        (NAN, NAN, ""),
        (INF, INF, ""),
        (-INF, INF, "not-finite"),
        (NAN, INF, "not-finite"),
        (INF, NAN, "not-finite"),
        (1.0, INF, "values"),
        (1.0, NAN, "values"),
        (INF, 1.0, "not-finite"),
        (NAN, 1.0, "not-finite"),
    ],
)
def test_what_is_not_finite_is_near_only_to_its_like(actual: float, expected: float, kind: str) -> None:
    """And is called by what the student's number is; a wide bound makes no room for it."""
    for bound in (Bound(), Bound(rtol=1.0, atol=1e300)):
        mismatch = compare(torch.tensor([actual]), doubles(expected), bound=bound)
        assert (mismatch.kind if mismatch else "") == kind


def test_mismatch_has_both_numbers_and_the_share() -> None:
    """Of the first place, row by row; a quarter of these are off."""
    actual = torch.tensor([[1.0, 2.0], [3.0, 4.5]])
    assert compare(actual, torch.tensor([[1.0, 2.0], [3.0, 4.0]])) == Mismatch("values", (1, 1), 4.5, 4.0, 0.25)


def test_mismatch_of_shape_or_type_is_of_all() -> None:
    """There is no place to name."""
    assert compare(torch.zeros(2), torch.zeros(3)) == Mismatch("shape", (), 0.0, 0.0, 1.0)
    assert compare(torch.zeros(2), torch.zeros(2), dtype="whole") == Mismatch("type", (), 0.0, 0.0, 1.0)


def test_terms_are_asked_for_only_where_a_number_is_off() -> None:
    """They cost time; where all is close, nobody asks."""
    asked: list[int] = []

    def terms(samples: int) -> torch.Tensor:
        asked.append(samples)
        return doubles(100.0)

    assert compare(doubles(1.0), doubles(1.0), terms=terms) is None
    assert compare(doubles(1 + 1e-6), doubles(1.0), terms=terms) is None
    assert asked == []
    assert compare(doubles(1 + 5e-4), doubles(1.0), terms=terms) is None
    assert len(asked) == 1


def test_doubt_is_looked_at_again_and_what_is_beyond_doubt_is_not() -> None:
    """More samples are drawn where they might change the outcome, and only there."""
    for off, looks in ((1.5e-3, 2), (2.0, 1)):
        asked = count()

        def terms(_: int, asked: "count[int]" = asked) -> torch.Tensor:
            next(asked)
            return doubles(100.0)

        assert compare(doubles(1 + off), doubles(1.0), terms=terms) is not None
        assert next(asked) == looks


def test_second_look_draws_more_and_decides() -> None:
    """Two samples first and then eight: terms that only the second finds make room."""
    asked: list[int] = []

    def terms(samples: int) -> torch.Tensor:
        asked.append(samples)
        return doubles(100.0 if samples < 5 else 1000.0)

    assert compare(doubles(1 + 5e-3), doubles(1.0), terms=terms) is None
    assert asked == [2, 8]


@pytest.mark.parametrize("unknown", [None, torch.ones(3), doubles(NAN), doubles(INF)])
def test_terms_that_nobody_can_tell_make_no_room(unknown: torch.Tensor | None) -> None:
    """None, another shape, or no number: each number stands for itself."""
    assert compare(doubles(1 + 1.5e-5), doubles(1.0), terms=lambda _: unknown) is not None


def test_terms_go_on_top_of_the_tolerances() -> None:
    """A hundred thousandth of them beside that of the number itself, and the absolute one."""
    bound = Bound(rtol=0.25, atol=0.5)
    assert compare(doubles(8 + 3.5), doubles(8.0), bound=bound, terms=lambda _: doubles(4.0)) is None
    assert compare(doubles(8 + 3.625), doubles(8.0), bound=bound, terms=lambda _: doubles(4.0)) is not None


@pytest.mark.parametrize(
    ("dtype", "name", "is_fit"),
    [
        (torch.float32, "floating", True),
        (torch.float64, "floating", True),
        (torch.float16, "floating", False),
        (torch.int64, "floating", False),
        (torch.int64, "whole", True),
        (torch.uint8, "whole", True),
        (torch.bool, "whole", False),
        (torch.float32, "whole", False),
        (torch.bool, "any", True),
        (torch.float16, "any", True),
        (torch.float16, "float16", True),
        (torch.float32, "float16", False),
        (torch.bool, "bool", True),
        (torch.int64, "bool", False),
    ],
)
def test_kind_of_number_fits_its_name(dtype: torch.dtype, name: str, is_fit: bool) -> None:  # noqa: FBT001
    """Truth values are no whole numbers, and half precision is asked for by name."""
    assert fits(torch.zeros(1, dtype=dtype), name) is is_fit


@pytest.mark.parametrize(
    ("actual", "expected", "is_same"),
    [
        (1.0, 1, True),
        (1 + 1e-6, 1, True),
        (1 + 2.1e-6, 1, False),
        (1 - 2.1e-6, 1, False),
        (0.9e-6, 0, True),
        (2.1e-6, 0, False),
        (1e6 + 0.9, 1e6, True),
        (1e6 + 1.9, 1e6, False),
        (-1e6 - 0.9, -1e6, True),
        (True, 1, False),
        (1, True, False),
        (True, True, True),
        (False, True, False),
        ("a", "a", True),
        ("a", "b", False),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [1, 3], False),
        ([3, 2], [1, 2], False),
        ([1, 2, 3], [1, 2], False),
        ([1], [1, 2], False),
        ((1, 2), (1, 2), False),
        ([[1], ["a"]], [[1], ["a"]], True),
        ([], [], True),
        (5, [5], False),
    ],
)
def test_plain_values_are_the_same_or_not(actual: object, expected: object, is_same: bool) -> None:  # noqa: FBT001
    """Numbers within a millionth; texts, truth values and lists exactly."""
    assert same_value(actual, expected) is is_same


def test_same_is_within_a_hundred_thousandth_of_the_largest() -> None:
    """For words, a small number beside a large one may be off by what is little for the large one."""
    expected = doubles(100.0, 0.0)
    assert same(doubles(100.0, 0.9e-3), expected)
    assert not same(doubles(100.0, 1.1e-3), expected)
    assert same(doubles(100.0, 0.0), expected)
    assert not same(doubles(100.0, 0.0, 0.0), expected)


def test_same_of_whole_numbers_is_exact() -> None:
    """And of none at all it is true; infinities make no room."""
    assert not same(torch.tensor([10**6, 1]), torch.tensor([10**6, 0]))
    assert same(torch.tensor([10**6, 0]), torch.tensor([10**6, 0]))
    assert same(torch.zeros(0, 3), torch.zeros(0, 3))
    assert same(doubles(INF, 1.0), doubles(INF, 1.0))
    assert not same(doubles(INF, 2.0), doubles(INF, 1.0))
    assert not same(doubles(INF, 5e-6), doubles(INF, 0.0))
    assert not same(doubles(1.0, NAN), doubles(1.0, 1.0))
