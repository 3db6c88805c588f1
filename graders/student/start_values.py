"""
Do the numbers that a student's tables start with show whether a step is right, and which numbers would?

Theory of operation
===================

A submission is judged by the student's own tables, so the student chooses what it is judged by. Where all rows of a
table are equal, a wrong look-up gives the right numbers; beside a column of 1e5, or beside a table that is a million
times larger, a term that was forgotten is lost in rounding; where all numbers are positive, a relu or an absolute value
on top leaves no trace. None of that is wrong PyTorch: positions that start at
zero are common. So such a start is neither refused nor believed. It is found (`blind_spot`), and the whole program is
run once more, on the same data, with other numbers in the same tables (`Pinning`): drawn for this trial from a seed
that the program cannot know, one number like another in size, no two rows alike. Both runs have to be right.

Numbers are put in after each statement, as soon as a table is there, and again where a statement has put other ones
in its place: whether a table is filled where it is made or three lines later, and whether it is kept under its name or
is part of a module first, what is computed from it is computed from these. They are written into the table's own
memory, so that whatever shares it, a view or a tied layer, goes along.

Where that comes too late, because tables are made and used in one statement and only then given a name, nothing can be
shown with a blind start; `Pinning.late` says so, and the judge asks for another start instead of guessing.
"""

import ast
import itertools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from graders.student.execution import Fault, Program
from graders.student.main_module import FILE
from graders.student.observation import PLAIN, table_of
from graders.student.probe import Probe, ProbeNames

SMALLEST, LARGEST = 1e-4, 1e4  # of the middle number of a table, signs aside
_LOOKS_STRAIGHT = 5e-3  # below, a sine or a tanh is as good as what it is taken of
_SPREAD = 1e3  # between the middle number and the largest, and between the middle numbers of two tables
_ONE_SIDED = 0.75  # of the rows: more of them than chance makes have numbers of one sign only
_FEW_COLUMNS = 4  # in fewer, chance makes many such rows: all numbers of a table are looked at together
_APART = 1e-2  # of the middle number: two rows differ by more, somewhere
_MAX_LOOKED_AT = 1 << 19  # numbers that are compared with each other
PIN = "__pin__"
Numbers = npt.NDArray[Any]  # (rows, columns)
MAX_RENEWED = 4  # a table that is made more often gets the numbers of the last time


def blind_spot(tables: Mapping[str, torch.Tensor], *, bent: bool = True) -> str:
    """
    Say which of these tables starts with numbers that a wrong step can hide behind; an empty text if none does.

    Args:
        bent: are steps looked for, too, that bend or cut off some numbers and leave small or positive ones as they are?
        tables: by name; (rows, ...), dense, on the CPU. One that is not of floating-point numbers, holds nan or inf,
            or has nothing in it is passed over: others say what is wrong with that.
    """
    usable = {
        name: table.detach().reshape(table.shape[0], -1)
        for name, table in apart(tables).items()
        if table.is_floating_point() and table.dim() and table.numel()
    }
    middles: dict[str, float] = {}
    for name, table in usable.items():
        part = _read(_sample(table))
        sizes = np.abs(part)
        largest, half = float(sizes.max()), (sizes.size - 1) // 2
        if not largest < float("inf"):  # nan too
            continue
        middle = float(np.partition(sizes, half, axis=None)[half])
        if not SMALLEST <= middle <= LARGEST or largest > _SPREAD * middle:
            return name
        if bent and (middle < _LOOKS_STRAIGHT or _is_one_sided(part)):
            return name
        middles[name] = middle
    for name, middle in middles.items():
        if middle * _SPREAD < max(middles.values()):
            return name
    return _too_close(usable, middles)


def _read(table: torch.Tensor) -> Numbers:
    """A table's numbers for numpy, which takes a third of torch's time for a look at so few."""
    return (table.float() if table.dtype is torch.bfloat16 else table).numpy(force=True)


def _is_one_sided(part: Numbers) -> bool:
    """Are a table's numbers, row by row, of one sign, so that whatever cuts off the others cannot be seen?"""
    rows = part if part.shape[1] >= _FEW_COLUMNS else part.reshape(1, -1)
    alike = (rows.min(axis=1) >= 0) | (rows.max(axis=1) <= 0)
    return int(np.count_nonzero(alike)) > _ONE_SIDED * len(alike)


def apart(tables: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Without those that share memory with one before them: one table under two names has one set of numbers."""
    found: dict[int, str] = {}
    for name, table in tables.items():
        found.setdefault(table.untyped_storage().data_ptr(), name)
    return {name: table for name, table in tables.items() if name in found.values()}


def _sample(table: torch.Tensor) -> torch.Tensor:
    """All of a table, or of a large one rows and columns chosen by chance, (rows, columns)."""
    rows, columns = table.shape
    if table.numel() <= _MAX_LOOKED_AT:
        return table
    wide = min(columns, 256)
    picked = table[torch.randperm(rows)[: _MAX_LOOKED_AT // wide]]
    return picked[:, torch.randperm(columns)[:wide]]


def _too_close(tables: Mapping[str, torch.Tensor], middles: Mapping[str, float]) -> str:
    """The name of a table of which a row is nearly another row, be it of the same table or of another one."""
    by_width: dict[int, list[str]] = {}
    for name in middles:
        by_width.setdefault(tables[name].shape[1], []).append(name)
    for width, names in by_width.items():
        room = max(2, int((_MAX_LOOKED_AT / width) ** 0.5) // len(names))
        parts = [_read(_rows(tables[name], room)).astype(np.float32, copy=False) for name in names]
        first = _first_close(np.concatenate(parts), _APART * min(middles[name] for name in names))
        if first is not None:
            ends = itertools.accumulate(len(part) for part in parts)
            return next(name for name, end in zip(names, ends, strict=True) if first < end)
    return ""


def _first_close(rows: Numbers, distance: float) -> int | None:
    """The first row that differs from another one by less than this everywhere; None if there is none."""
    left, right = (np.abs(rows[:, None, 0] - rows[None, :, 0]) < distance).nonzero()  # few pairs, in most tables
    kept = left < right
    for column in range(1, rows.shape[1] + 1):
        left, right = left[kept], right[kept]
        if not left.size or column == rows.shape[1]:
            break
        kept = np.abs(rows[left, column] - rows[right, column]) < distance
    return int(left[0]) if left.size else None


def _rows(table: torch.Tensor, most: int) -> torch.Tensor:
    return table if table.shape[0] <= most else table[torch.randperm(table.shape[0])[:most]]


class OtherNumbers:
    """What is put into one table instead: standard normal, the same in the student's and in the judge's process."""

    def __init__(self, seed: int, number: int, *, renewed: int = 0) -> None:
        """`seed`: of the trial; `number`: which table of the exercise; `renewed`: how often it has been made anew."""
        self._seed = seed + 7919 * (number * MAX_RENEWED + min(renewed, MAX_RENEWED - 1) + 1)

    def put_into(self, table: torch.Tensor) -> None:
        """
        Write them into a table's own memory, whatever its type, unless they are there.

        Of a large table only the two ends are looked at: what is put in place of its numbers is put everywhere.

        Raises:
            RuntimeError: its rows share memory.
        """
        count = self._blocks(table)
        if not all(self._is_in(table, number) for number in {0, count // 2, count - 1}):
            for number in range(count):
                part, numbers = self._block(table, number)
                part.copy_(numbers)

    def are_in(self, table: torch.Tensor) -> bool:
        """Does a table hold them?"""
        return all(self._is_in(table, number) for number in range(self._blocks(table)))

    def _is_in(self, table: torch.Tensor, number: int) -> bool:
        return torch.equal(*self._block(table, number))

    def _blocks(self, table: torch.Tensor) -> int:
        """In how many parts a table is gone through, so that a large one is not in memory twice."""
        return max(1, -(-table.numel() // _MAX_LOOKED_AT))

    def _block(self, table: torch.Tensor, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Some rows of a table, and what is to be in them."""
        rows = -(-table.shape[0] // self._blocks(table)) if table.dim() else 0
        part = table.data[number * rows : (number + 1) * rows] if rows else table.data
        generator = torch.Generator(device="cpu").manual_seed((self._seed + number) % (1 << 63))
        drawn = torch.randn(part.shape, generator=generator, dtype=torch.float32, device="cpu")
        return part, drawn.to(part.dtype)


class Pinning:
    """One run of a program with other numbers in its tables."""

    def __init__(self, tables: Sequence[str], outputs: Sequence[str], *, seed: int, before: dict[str, object]) -> None:
        """
        Of one trial.

        Args:
            tables: the names that stand for them, in the exercise's order.
            outputs: the names of what is computed.
            seed: of the trial.
            before: the program's names at the end of its own run, which show where a table is kept meanwhile.
        """
        self._tables, self._seed = list(tables), seed
        self._memory: dict[str, list[int]] = {name: [] for name in tables}  # of the tables that had this name
        self._kept = {name: list(_kept_in(before, name)) for name in tables}
        self._shapes = {name: table.shape for name in tables if (table := _at(before.get(name), "")) is not None}
        self._outputs = outputs
        self._found: set[str] = set()
        # [table, output]: the output was there before the table could be found; [table, table]: nothing could be put in
        self.late: list[list[str]] = []

    def put_in(self, names: dict[str, object], given: Mapping[str, object]) -> None:
        """
        Put the numbers into every table that is there by now.

        Args:
            names: the program's, at this moment.
            given: those of the starting code.
        """
        own = {name: table for name in self._tables if (table := _new_table(names, given, name, "")) is not None}
        others = {
            name: table
            for name in self._tables
            if name not in own and (table := self._elsewhere(name, names, given)) is not None
        }
        for name, table in apart({**own, **others}).items():
            try:
                self._numbers(name, table).put_into(table)
            except RuntimeError:  # its rows share memory
                self.late += [] if [name, name] in self.late else [[name, name]]
            if name not in self._found:
                self._found.add(name)
                made = [one for one in self._outputs if one in names and names[one] is not given.get(one)]
                self.late += [[name, one] for one in made]

    def _numbers(self, name: str, table: torch.Tensor) -> OtherNumbers:
        """Those of a table; one that is made anew under the same name is another, and gets others."""
        memory = self._memory[name]
        if (place := table.untyped_storage().data_ptr()) not in memory:
            memory.append(place)
        return OtherNumbers(self._seed, self._tables.index(name), renewed=memory.index(place))

    def _elsewhere(self, name: str, names: Mapping[str, object], given: Mapping[str, object]) -> torch.Tensor | None:
        """The table that will get this name, where it is kept until then; None as long as it is not made."""
        places = (_new_table(names, given, variable, path) for variable, path in self._kept[name])
        return next((one for one in places if one is not None and one.shape == self._shapes.get(name)), None)


def _new_table(
    names: Mapping[str, object], given: Mapping[str, object], variable: str, path: str
) -> torch.Tensor | None:
    """The table at a place, if it is the program's own and not the starting code's."""
    table = _at(names.get(variable), path)
    return None if table is None or table is _at(given.get(variable), path) else table


def _kept_in(names: Mapping[str, object], name: str) -> Iterator[tuple[str, str]]:
    """Under which other names, or where in which modules, the table of this name lies as well."""
    wanted, _ = table_of(names.get(name))
    if wanted is None:
        return
    for variable, value in list(names.items()):
        if isinstance(value, torch.nn.Module) and variable != name:
            yield from ((variable, path) for path, one in value.named_parameters() if one is wanted)
        elif value is wanted and variable != name:
            yield variable, ""


def _at(value: Any, path: str) -> torch.Tensor | None:  # noqa: ANN401  a student's object
    if not path:
        table = table_of(value)[0]
    else:
        try:
            table = value.get_parameter(path)
        except Exception:  # noqa: BLE001  another object than the last time
            return None
    dense = table is not None and type(table) in PLAIN and table.layout is torch.strided and table.is_floating_point()
    return table if dense and not table.is_meta else None  # type: ignore[union-attr]


def with_pins(tree: ast.Module) -> ast.Module:
    """A program with `__pin__()` behind each of its statements, but for those that have to stand first."""
    body: list[ast.stmt] = []
    for number, statement in enumerate(tree.body):
        body.append(statement)
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_future and not (is_text and number == 0):
            call = ast.Expr(ast.Call(ast.Name(PIN, ast.Load()), [], []))
            body.append(ast.fix_missing_locations(ast.copy_location(call, statement)))
    tree.body = body
    return tree


class PinnedProgram(Program):
    """A student's text that calls `__pin__` after each statement."""

    def compiled(self, source: str) -> types.CodeType:
        """With the calls. Raises whatever `compile` does."""
        return compile(with_pins(ast.parse(source, FILE)), FILE, "exec")


class PinnedProbe(Probe):
    """An author's probe that calls it after each line, for tables that are made there."""

    pin: Callable[[dict[str, object]], None]
    """Told of all names that the probe sees."""

    def prepared(self, tree: ast.Module) -> ast.Module:
        """With the calls, each a step of its own."""
        return with_pins(tree)

    def run(self, names: ProbeNames, program: Program, *, time_s: float | None) -> dict[str, Fault]:
        """Run the lines; the faults by the names that were to be made."""
        names[PIN] = lambda: self.pin(names.seen())
        return super().run(names, program, time_s=time_s)
