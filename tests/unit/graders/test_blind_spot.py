"""Which table starts blind is found by short cuts, and is what the definition says number by number."""

from collections.abc import Callable

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.student.start_values import LARGEST, SMALLEST, blind_spot

INFINITY = float("inf")
sizes = st.tuples(st.sampled_from([1, 2, 3, 5, 20, 64]), st.sampled_from([1, 2, 3, 4, 5, 32]))


def one_sided(table: torch.Tensor) -> torch.Tensor:
    """In four of five rows."""
    count = table.shape[0] * 4 // 5
    return torch.cat([table[:count].abs(), table[count:]])


def nearly_equal_rows(table: torch.Tensor) -> torch.Tensor:
    """The last row is the first, but for anything from nothing to all."""
    apart = 10 ** float(torch.linspace(-4, 0, 9)[table.shape[1] % 9]) * table.abs().median()
    return torch.cat([table[:-1], table[:1] + apart * torch.randn(table.shape[1])])


def with_one(number: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Among the others."""
    return lambda table: table.index_fill(0, torch.tensor([0]), number)


KINDS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda table: table,
    torch.abs,
    one_sided,
    nearly_equal_rows,
    *map(with_one, (float("nan"), INFINITY, 1e9, -1e6, 0)),
    lambda table: table[:1].expand(table.shape).clone(),
    lambda table: torch.cat([torch.zeros_like(table[:, :1]), table[:, 1:]], 1),
    torch.zeros_like,
    torch.Tensor.double,
    torch.Tensor.half,
    torch.Tensor.bfloat16,
    torch.Tensor.int,
    lambda table: torch.nn.Parameter(table).t(),
    lambda table: table[:, None],
]


@st.composite
def tables(draw: st.DrawFn) -> torch.Tensor:
    """Of all kinds, shapes and sizes."""
    torch.manual_seed(draw(st.integers(0, 1 << 32)))
    return draw(st.sampled_from(KINDS))(torch.randn(*draw(sizes)) * 10 ** draw(st.floats(-5, 5)))


def expected(found: dict[str, torch.Tensor], *, bent: bool) -> str:
    """The definition, as torch says it."""
    flat = {name: one.detach().flatten(1) for name, one in found.items() if one.is_floating_point()}
    middles: dict[str, float] = {}
    for name, one in flat.items():
        middle, largest = float(one.abs().median()), float(one.abs().max())
        if not largest < INFINITY:
            continue
        if not SMALLEST <= middle <= LARGEST or largest > 1e3 * middle:
            return name
        rows = one if one.shape[1] >= 4 else one.reshape(1, -1)
        alike = (rows >= 0).all(dim=1) | (rows <= 0).all(dim=1)
        if bent and (middle < 5e-3 or float(alike.double().mean()) > 0.75):
            return name
        middles[name] = middle
    small = [name for name, middle in middles.items() if middle * 1e3 < max(middles.values())]
    if small:
        return small[0]
    for width in dict.fromkeys(flat[name].shape[1] for name in middles):
        names = [name for name in middles if flat[name].shape[1] == width]
        together = torch.cat([flat[name].float() for name in names])
        distances = torch.cdist(together, together, p=INFINITY).fill_diagonal_(INFINITY)
        close = distances.amin(dim=1) < 1e-2 * min(middles[name] for name in names)
        owners = [name for name in names for _ in flat[name]]
        if bool(close.any()):
            return owners[int(close.nonzero()[0])]
    return ""


@settings(deadline=None, max_examples=1000)
@given(found=st.dictionaries(st.sampled_from("abc"), tables(), min_size=1, max_size=3), bent=st.booleans())
def test_blind_table_is_the_one_that_the_definition_names(found: dict[str, torch.Tensor], bent: bool) -> None:  # noqa: FBT001
    """Whatever the numbers, their type and their order in memory."""
    assert blind_spot(found, bent=bent) == expected(found, bent=bent)


def test_large_table_is_looked_at_in_part_and_in_bounds() -> None:
    """Too many numbers to compare all: equal rows, one sign and numbers of all kinds are told apart all the same."""
    wide = torch.randn(4000, 400, generator=torch.Generator().manual_seed(1))
    assert blind_spot({"table": wide}) == ""
    assert blind_spot({"table": wide.abs()}) == "table"
    assert blind_spot({"table": wide[:1].expand(4000, 400)}) == "table"
    assert blind_spot({"table": wide.bfloat16() * 1e-6}) == "table"
