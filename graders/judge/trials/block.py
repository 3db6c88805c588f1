"""
The author's statements that run on the judge's side: the `judge` block of an exercise.

They run once a trial, before the checks, over copies of what the checks look at: so nothing that they change is seen
by anything but themselves. The names that they make are there in every later expression of the author's. No code of a
student's is run by them, and none can see or change what they make.

Each statement is on its own. One that raises takes away the names that it was to make: an expression that asks for one
is not evaluated, and its check is not run. What was half done must not be judged either, so a statement that changes
things in place (a loop that appends, `counts[i] += 1`) takes away all that it may have changed: the names of the block
that it speaks of, and those that may be the same object under another name.

Why it raised makes a difference to the author only. That an output is not there (`NameError`) is what any answer may
come to. All else is reported by `kelolo check`, as `AuthorFault`.
"""

import ast
import builtins
import contextlib
import copy
import io
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from graders.code_cache import CodeCache
from graders.judge.trials.reference import Names
from graders.starting_code import raised
from graders.student.execution import assigned

FILE = "<judge>"
_CANNOT_CHANGE = (
    int, float, complex, str, bytes, types.NoneType, types.FunctionType, types.ModuleType, type, torch.Size,
    torch.dtype,
)  # fmt: skip
_Step = tuple[tuple[str, ...], tuple[str, ...], bool, CodeType]  # made, spoken of, does it change in place?, code


@dataclass(frozen=True)
class Block:
    """What came of running it on one trial."""

    made: Mapping[str, Any]  # its names
    waiting: frozenset[str] = frozenset()  # names that could not be made, for want of an output
    broken: frozenset[str] = frozenset()  # names that could not be made, since a statement raised
    faults: tuple[str, ...] = ()  # what was raised, for the author

    @property
    def unmade(self) -> frozenset[str]:
        """The names that are not there."""
        return self.waiting | self.broken

    def over(self, names: Names) -> Names:
        """All that an expression sees: these names, and the block's; an unmade one is not there at all."""
        if not self.made and not self.unmade:
            return names
        return {name: value for name, value in {**names, **self.made}.items() if name not in self.unmade}


NOTHING = Block({})


def run(text: str, names: Names, code_cache: CodeCache, *, absent: frozenset[str]) -> Block:
    """
    Run the block on one trial.

    Args:
        text: the author's statements.
        names: what they see, copies all; changed by them.
        code_cache: those that are compiled already.
        absent: outputs that are not there.
    """
    running = _Running(names, absent)
    with contextlib.redirect_stdout(_Nowhere()):
        for number, step in enumerate(steps(text, code_cache)):
            running.take(step, steps(text, code_cache)[: number + 1])
    made = {name: names[name] for name in running.targets - running.waiting - running.broken if name in names}
    return Block(made, frozenset(running.waiting), frozenset(running.broken), tuple(running.faults))


class _Running:
    """The statements so far."""

    def __init__(self, names: Names, absent: frozenset[str]) -> None:
        self._names, self._absent = names, absent
        self._names["__builtins__"] = builtins
        self.targets: set[str] = set()
        self.waiting: set[str] = set()
        self.broken: set[str] = set()
        self.faults: list[str] = []

    def take(self, step: _Step, so_far: list[_Step]) -> None:
        """Run the next one; `so_far`: those before it, and itself."""
        targets, _, _, code = step
        self.targets.update(targets)
        try:
            exec(code, self._names)  # noqa: S102  in the judge's own process
        except BaseException as fault:  # noqa: BLE001  `exit()` among them: whatever it is, it is the author's
            self._lose(step, so_far, fault)
        else:
            self.waiting.difference_update(targets)
            self.broken.difference_update(targets)

    def _lose(self, step: _Step, so_far: list[_Step], fault: BaseException) -> None:
        targets, spoken_of, in_place, _ = step
        lost = {*targets} | (self._perhaps_changed(spoken_of, so_far) if in_place else set())
        if asked_for(fault) in self._absent | self.waiting:
            self.waiting |= lost - self.broken
        else:
            if asked_for(fault) not in self.broken:
                self.faults.append(raised(fault, FILE))
            self.broken |= lost
            self.waiting -= lost
        for name in lost:
            self._names.pop(name, None)

    def _perhaps_changed(self, spoken_of: Iterable[str], so_far: list[_Step]) -> set[str]:
        """Names of the block that a statement may have changed: by their names, or by another name of the object."""
        found: set[str] = set()
        wanted = self._changeable(spoken_of)
        while wanted - found:
            found |= wanted
            wanted = self._changeable(name for _, names, _, _ in so_far if found & {*names} for name in names)
        return found

    def _changeable(self, names: Iterable[str]) -> set[str]:
        return {
            name
            for name in self.targets.intersection(names)
            if name not in self._names or not isinstance(self._names[name], _CANNOT_CHANGE)
        }


class _Nowhere(io.TextIOBase):
    """Takes what is printed and keeps nothing: the block makes names, `report` prints."""

    def write(self, text: str) -> int:
        """Count it."""
        return len(text)


def asked_for(fault: BaseException) -> str:
    """The name that was not there, or an empty text where it is not that what was raised."""
    return fault.name or "" if type(fault) is NameError else ""


def is_inside(fault: BaseException) -> bool:
    """Was it raised in a function of the block that an expression has called?"""
    trace = fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            return True
        trace = trace.tb_next
    return False


def copied(names: Names) -> Names:
    """Copies of all values that can be changed; a tensor with a graph without it, what cannot be copied as it is."""
    memo: dict[int, Any] = {}
    return {name: _copy(value, memo) for name, value in names.items()}


def _copy(value: Any, memo: dict[int, Any]) -> Any:  # noqa: ANN401  any value of an author's
    if isinstance(value, _CANNOT_CHANGE):
        return value
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001  whatever its class does
        return value.detach().clone() if isinstance(value, torch.Tensor) else value


def steps(text: str, code_cache: CodeCache) -> list[_Step]:
    """The statements, compiled. Raises SyntaxError."""
    found: list[_Step] = code_cache.compiled(("judge", text), lambda: _compiled(text))
    return found


def _compiled(text: str) -> list[_Step]:
    body = ast.parse(text, FILE).body
    inside = {name: one for one in body for name in assigned(one) if _holds_code(one)}
    found = []
    for one in body:
        reached = _reached(one, inside)
        names = {node.id for part in reached for node in ast.walk(part) if isinstance(node, ast.Name)}
        in_place = not isinstance(one, ast.FunctionDef | ast.ClassDef) and any(map(_changes, reached))
        code = compile(ast.Module([one], []), FILE, "exec")
        found.append((tuple(sorted(_made(one))), tuple(sorted(names | _made(one))), in_place, code))
    return found


def _holds_code(statement: ast.stmt) -> bool:
    """Does it make what can be called later?"""
    return any(isinstance(one, ast.FunctionDef | ast.ClassDef | ast.Lambda) for one in ast.walk(statement))


def _reached(statement: ast.stmt, inside: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """A statement, and those whose functions it may call."""
    found, waiting = [], [statement]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.append(one)
            spoken_of = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
            waiting += [inside[name] for name in sorted(spoken_of & inside.keys())]
    return found


def _changes(statement: ast.stmt) -> bool:
    """May it change what is there already? A line `name = …` makes something, and so do those nested in another."""
    return any(
        isinstance(one, ast.AugAssign | ast.Delete | ast.Global | ast.Nonlocal | ast.NamedExpr)
        or (isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store))
        or (isinstance(one, ast.Expr) and not isinstance(one.value, ast.Constant))
        for one in ast.walk(statement)
    )


def _made(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement makes, those that it imports too."""
    imported = {
        (one.asname or one.name).partition(".")[0]
        for node in ast.walk(statement)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for one in node.names
    }
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        imported = set()
    return assigned(statement) | imported
