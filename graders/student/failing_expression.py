"""
Where an exception was raised, to the column, and what the names in the failing expression stood for.

The descriptions are plain and small: kinds, shapes, ranges and short values, each cut to what is handed over
(`graders.protocol.observation_schema`). Nothing here calls a method that a student's class may have defined: names are
looked up in frames, attributes in instances' own dictionaries, and numbers are read from plain tensors only.
"""

import ast
import itertools
import types
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from graders.protocol.observation_schema import (
    MAX_AXES,
    MAX_ELEMENTS,
    MAX_INTEGER,
    MAX_NAME_CHARS,
    MAX_PARTS,
    MAX_PRODUCT,
    MAX_SIZE,
)

Span = list[int]  # line, column, end line, end column: lines from 1, columns from 0 and in bytes
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_SIZED = (list, tuple, str, dict, set, torch.Size)
_WAY_BACK = ("backward", "grad")
_MODULES = ("torch", "nn", "F")
_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def span_of(trace: types.TracebackType) -> Span | None:
    """The columns of the instruction that was under way, or None where it has none."""
    positions = list(trace.tb_frame.f_code.co_positions())
    line, end_line, column, end_column = positions[trace.tb_lasti // 2] if trace.tb_lasti >= 0 else (None,) * 4
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return [min(one, MAX_SIZE) for one in (line, column, end_line, end_column)]


def span_of_syntax(fault: BaseException) -> Span | None:
    """Where a text could not be read."""
    if not isinstance(fault, SyntaxError) or fault.lineno is None or fault.offset is None:
        return None
    line, column = fault.lineno, fault.offset - 1
    end_line = max(fault.end_lineno or line, line)
    found = [line, column, end_line, (fault.end_offset or fault.offset) - 1]
    return [max(0, min(one, MAX_SIZE)) for one in found]


def parts_of(tree: ast.AST, span: Span | None, frame: types.FrameType) -> dict[str, dict[str, object]]:
    """
    The names in an expression, and what each stood for when it failed.

    Args:
        tree: the program.
        span: of the expression.
        frame: the one it was run in.

    Returns:
        Descriptions by the name as it is written, `self.table` too; none where the expression is not found. After those
        of the expression itself come those of what it is about (`_around`).
    """
    node = node_at(tree, span) if span is not None else None
    found: dict[str, dict[str, object]] = {}
    for name in itertools.chain.from_iterable(_names(one) for one in (node, *_around(tree, node)) if one is not None):
        if len(found) == MAX_PARTS:
            break
        try:
            value = _value(name, frame)
        except LookupError:
            continue
        if name not in found and len(name) <= MAX_NAME_CHARS:
            found[name] = description_of(value)
    return found


def node_at(tree: ast.AST, span: Span) -> ast.expr | ast.stmt | None:
    """The innermost expression or statement that covers a span; the one of just that extent where there is one."""
    begin, end = (span[0], span[1]), (span[2], span[3])
    best: ast.expr | ast.stmt | None = None
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr | ast.stmt):
            last = (node.end_lineno or node.lineno, node.end_col_offset or 0)
            if last < begin or (node.lineno, node.col_offset) > end:
                continue
            covers = (node.lineno, node.col_offset) <= begin and last >= end
            if covers and (best is None or _extent(node) <= _extent(best)):
                exactly = best is not None and _extent(node) == _extent(best)
                best = best if exactly and isinstance(best, ast.expr) else node
        waiting += ast.iter_child_nodes(node)
    return best


def _around(tree: ast.AST, node: ast.AST | None) -> Iterator[ast.AST]:
    """What else says why it failed: what is taken apart into names, and what is changed before a way back."""
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
        for one in ast.walk(tree):
            if isinstance(one, ast.Assign) and any(node is target for target in one.targets):
                yield one.value
            elif isinstance(one, ast.For | ast.comprehension) and one.target is node:
                yield one.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WAY_BACK:
        for one in ast.walk(tree):
            if (changed := changed_in_place(one)) is not None:
                yield changed


def changed_in_place(node: ast.AST) -> ast.expr | None:
    """What a statement or call changes without making anything new: `a` of `a += 1`, `a[0] = 1` and `a.add_(1)`."""
    target: ast.expr | None = None
    match node:
        case ast.AugAssign():
            target = node.target
        case ast.Assign(targets=[ast.Subscript() as target]):
            pass
        case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name.endswith("_") and not name.endswith("__"):
            of_module = (dotted_name(owner) or "").partition(".")[0] in _MODULES
            target = next(iter(node.args), None) if of_module else owner
        case _:
            return None
    while isinstance(target, ast.Subscript):
        target = target.value
    return target if isinstance(target, ast.Name | ast.Attribute) else None


def _extent(node: ast.expr | ast.stmt) -> tuple[int, int]:
    lines = (node.end_lineno or node.lineno) - node.lineno
    return lines, (node.end_col_offset or 0) - (node.col_offset if not lines else 0)


def _names(node: ast.AST) -> Iterator[str]:
    """Names and dotted names, as they are written, from the outside in."""
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, ast.Name | ast.Attribute):
            dotted = dotted_name(one)
            if dotted is not None:
                yield dotted
                if isinstance(one, ast.Attribute):
                    waiting.append(one.value)
                continue
        waiting += ast.iter_child_nodes(one)


def dotted_name(node: ast.AST) -> str | None:
    """`a.b.c` of such an expression, or None if it is another."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *parts[::-1]]) if isinstance(node, ast.Name) else None


def _value(name: str, frame: types.FrameType) -> Any:  # noqa: ANN401  a student's
    """What a dotted name stands for. Raises LookupError."""
    first, *rest = name.split(".")
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if first in names:
            value = names[first]
            break
    else:
        raise LookupError(name)
    for part in rest:
        value = _attribute(value, part)
    return value


def _attribute(value: Any, name: str) -> Any:  # noqa: ANN401
    attributes: Mapping[str, Any] = getattr(value, "__dict__", {}) if isinstance(value, types.ModuleType | type) else {}
    if not attributes:
        try:
            attributes = object.__getattribute__(value, "__dict__")
        except AttributeError:
            raise LookupError(name) from None
    for names in (attributes, *(attributes.get(part) or {} for part in ("_parameters", "_buffers", "_modules"))):
        if name in names:
            return names[name]
    raise LookupError(name)


def description_of(value: Any) -> dict[str, object]:  # noqa: ANN401  a student's
    """What is handed over of a value."""
    table = _table(value)
    tensor = value if type(value) in _PLAIN else table
    return {
        "type": str(type(value).__name__)[:MAX_NAME_CHARS],
        "dtype": str(tensor.dtype).removeprefix("torch.") if tensor is not None else "",
        "shape": _shape(tensor) if tensor is not None else None,
        "range": _range(value) if type(value) in _PLAIN else None,
        "learns": tensor is not None and bool(tensor.requires_grad),
        "length": min(len(value), MAX_SIZE) if type(value) in _SIZED else None,
        "value": _plain(value),
    }


def _table(value: Any) -> torch.Tensor | None:  # noqa: ANN401
    """The weight of a layer, by which its sizes are told."""
    if not isinstance(value, torch.nn.Module):
        return None
    weight = (vars(value).get("_parameters") or {}).get("weight")
    return weight if type(weight) in _PLAIN else None


def _shape(tensor: torch.Tensor) -> list[int]:
    sizes, room = [], MAX_PRODUCT
    for size in tensor.shape[:MAX_AXES]:
        sizes.append(min(size, MAX_SIZE, room))
        room //= max(1, sizes[-1])
    return sizes


def _range(tensor: torch.Tensor) -> list[int] | None:
    """Least and largest of whole numbers."""
    if tensor.dtype not in _WHOLE or not 0 < tensor.numel() <= MAX_ELEMENTS or tensor.device.type != "cpu":
        return None
    if tensor.layout is not torch.strided or tensor.is_nested:
        return None
    low, high = torch.aminmax(tensor.detach())
    return [max(-MAX_INTEGER, min(int(one), MAX_INTEGER)) for one in (low, high)]


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A short value that can stand in a sentence, or None."""
    if type(value) is bool or (type(value) is int and abs(value) <= MAX_INTEGER):
        return value
    if type(value) is float:
        return value if value - value == 0 else None
    return value[:MAX_NAME_CHARS] if type(value) is str else None
