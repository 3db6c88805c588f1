"""Plain values and kinds of number are told apart as a teacher would tell them."""

from typing import Any

import pytest
import torch

from graders.judge.values.compare import fits, same, same_value


@pytest.mark.parametrize(
    ("actual", "expected", "is_same"),
    [
        ([1, 2], [1, 2], True),
        ([1, 2], (1, 2), True),
        ((1, 2), [1, 2], False),
        ([1, 2], [1, 3], False),
        ([2, 1], [1, 2], False),
        ([1, 2, 3], [1, 2], False),
        ([1], [1, 2], False),
        ([[1], [2]], [[1], [3]], False),
        (3, [3], False),
        (True, 1, False),
        (1, True, False),
        (True, True, True),
        (False, True, False),
        ("a", "a", True),
        ("a", "b", False),
        ("1", 1, False),
        (None, 1, False),
        (None, None, True),
        (1.0, 1, True),
        (1 + 0.9e-6, 1, True),
        (1 + 1.5e-6, 1, False),
        (1e6 + 0.9, 1e6, True),
        (1e6 + 1.5, 1e6, False),
        (1e-9, 0.0, True),
        (1.5e-6, 0.0, False),
        (-5, 5, False),
    ],
)
def test_plain_values_are_the_same_only_where_each_part_is(actual: Any, expected: Any, is_same: bool) -> None:  # noqa: ANN401, FBT001
    """Numbers within a millionth; texts, truth values and the length and order of lists exactly."""
    assert same_value(actual, expected) is is_same


@pytest.mark.parametrize(
    ("dtype", "is_whole"),
    [(torch.int64, True), (torch.uint8, True), (torch.bool, False), (torch.float32, False), (torch.float16, False)],
)
def test_whole_numbers_are_neither_floating_nor_truth_values(dtype: torch.dtype, is_whole: bool) -> None:  # noqa: FBT001
    """Ids may have any width."""
    assert fits(torch.zeros(2, dtype=dtype), "whole") is is_whole


def test_tensors_are_one_thing_where_their_numbers_differ_by_rounding_alone() -> None:
    """Measured by the largest number expected; whole numbers and empty tensors exactly, other shapes never."""
    expected = torch.tensor([100.0, 0.0])
    assert same(torch.tensor([100.0, 0.0009]), expected)
    assert not same(torch.tensor([100.0, 0.0011]), expected)
    assert not same(torch.tensor([100_000, 1]), torch.tensor([100_000, 0]))
    assert same(torch.zeros(0), torch.zeros(0))
    assert not same(torch.zeros(2, 1), torch.zeros(2))
