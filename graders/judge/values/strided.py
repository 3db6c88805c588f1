"""
How many different numbers do strided views of one storage hold?

Theory of operation. A view reaches the positions `offset + i0 * stride0 + i1 * stride1 + …`. Two kinds are counted
without looking at a position: views whose axes do not run into each other (each stride is larger than all that the
shorter ones reach together) hold as many numbers as their shape says, and views whose ranges of positions do not meet
share none. That is what honest tables are. Where views do overlap, the positions are marked: in a map of the range if
it is dense, or else listed and sorted. Either costs at most a small multiple of the numbers in the views, which an
observation bounds, however far apart they are said to lie.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
import torch

from graders.judge.values.decode_observation import Leaf

_DENSE = 64  # positions of a range for each number in it, up to which the range is mapped


def distinct_numbers(leaves: Iterable[Leaf]) -> int:
    """How many numbers of one storage these views hold, each counted once."""
    views = {view for leaf in leaves if (view := _reduced(leaf)) is not None}
    return sum(map(_count, _meeting(sorted(views, key=lambda one: one.offset))))


def _reduced(leaf: Leaf) -> Leaf | None:
    """The same positions by the fewest axes, the shortest stride first; None if there are none."""
    if not all(leaf.shape):
        return None
    axes: list[tuple[int, int]] = []  # stride, size
    for step, size in sorted(zip(leaf.stride, leaf.shape, strict=True)):
        if size == 1 or step == 0:
            continue
        if axes and step == axes[-1][0] * axes[-1][1]:  # goes on where the shorter axis ends
            axes[-1] = axes[-1][0], axes[-1][1] * size
        else:
            axes.append((step, size))
    return Leaf(leaf.storage, leaf.offset, tuple(size for _, size in axes), tuple(step for step, _ in axes))


def _reach(view: Leaf) -> int:
    """The last position, counted from the first."""
    return sum((size - 1) * step for size, step in zip(view.shape, view.stride, strict=True))


def _meeting(views: list[Leaf]) -> Iterator[list[Leaf]]:
    """Groups of views whose ranges meet; views of different groups share nothing."""
    group: list[Leaf] = []
    end = -1
    for view in views:
        if group and view.offset > end:
            yield group
            group = []
        group.append(view)
        end = max(end, view.offset + _reach(view)) if len(group) > 1 else view.offset + _reach(view)
    if group:
        yield group


def _count(group: list[Leaf]) -> int:
    if len(group) == 1 and _apart(group[0]):
        return math.prod(group[0].shape)
    first = min(view.offset for view in group)
    span = max(view.offset + _reach(view) for view in group) - first + 1
    numbers = sum(math.prod(view.shape) for view in group)
    if span > _DENSE * numbers:
        positions = np.sort(torch.cat([_positions(view) for view in group]).numpy())  # several times as quick as torch
        return 1 + int(np.count_nonzero(np.diff(positions)))
    seen = torch.zeros(span, dtype=torch.bool)
    for view in group:
        seen.as_strided(view.shape, view.stride, view.offset - first).fill_(True)  # noqa: FBT003
    return int(seen.count_nonzero())


def _apart(view: Leaf) -> bool:
    """Do no two indices lead to the same position?"""
    reach = 0
    for size, step in zip(view.shape, view.stride, strict=True):
        if step <= reach:
            return False
        reach += (size - 1) * step
    return True


def _positions(view: Leaf) -> torch.Tensor:
    positions = torch.full((1,), view.offset)
    for size, step in zip(view.shape, view.stride, strict=True):
        positions = (positions[:, None] + torch.arange(size) * step).flatten()
    return positions
