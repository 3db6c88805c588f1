"""Numbers that several views of one memory share are counted once, whatever the views look like, in milliseconds."""

import itertools
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graders.judge.values.decode_observation import Leaf
from graders.judge.values.strided import distinct_numbers

axes = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 2, 3, 5, 7, 1000, 10**6])), max_size=3)
views = st.builds(
    lambda offset, axes: Leaf(0, offset, tuple(size for size, _ in axes), tuple(step for _, step in axes)),
    st.integers(0, 60),
    axes,
)


def positions(view: Leaf) -> set[int]:
    """Every place that a view reaches, one by one."""
    indices = itertools.product(*map(range, view.shape))
    return {view.offset + sum(map(int.__mul__, index, view.stride)) for index in indices}


@given(st.lists(views, max_size=4))
def test_count_is_that_of_the_places(found: list[Leaf]) -> None:
    """Overlapping, interleaved, repeated and empty views hold as many numbers as one finds by listing them."""
    assert distinct_numbers(found) == len(set().union(*map(positions, found)))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([Leaf(0, n, (1 << 15,), (1,)) for n in range(64)], (1 << 15) + 63),
        ([Leaf(0, n, (1 << 15,), (1 << 24,)) for n in range(64)], 1 << 21),
        ([Leaf(0, n << 20, (1 << 15,), (1,)) for n in range(64)], 1 << 21),
        ([Leaf(0, 0, (1 << 10, 1 << 10), (1, 1)), Leaf(0, 7, (1 << 20,), (0,))], 2047),
    ],
    ids=["shifted", "far apart and interleaved", "side by side", "over and over"],
)
def test_count_of_as_many_as_may_be_handed_over_is_quick(found: list[Leaf], expected: int) -> None:
    """Two million numbers, wherever they are said to lie, cost a fraction of a second."""
    torch.zeros(1)
    begun_s = time.process_time()
    assert distinct_numbers(found) == expected
    assert time.process_time() - begun_s < 0.5
