"""
The small changes of a module that a test should find out.

A mutation replaces one node of the syntax tree: a comparison is turned or moved by one, `and` becomes `or`, a `not`
goes, a whole number is one more, another twice as large, a name in a string another, a returned value None, a condition
its opposite, a statement nothing.
What only people read is left alone: docstrings, prose in strings, annotations and decorators.
"""

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLS = {"all": "any", "any": "all", "min": "max", "max": "min", "sum": "len"}
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_UNREAD = {"annotation", "returns", "decorator_list", "type_comment", "bases"}


@dataclass(frozen=True)
class Mutation:
    """One small change of a module."""

    name: str
    """Which, for people and for the list of survivors: function, before and after, and a number where that repeats."""
    line: int
    """Where, from 1."""
    source: str
    """The whole module with the change in it."""


@dataclass(frozen=True)
class _Change:
    node: ast.expr | ast.stmt
    function: str
    after: str


def mutations_of(source: str) -> list[Mutation]:
    """Return all mutations of a module, in the order of its text. Raises SyntaxError if it is no module."""
    seen: Counter[str] = Counter()
    found = []
    for change in sorted(_changes(ast.parse(source), "module"), key=lambda one: (one.node.lineno, one.node.col_offset)):
        before = ast.unparse(change.node)
        name = f"{change.function}: {_short(before)} -> {_short(change.after)}"
        seen[name] += 1
        numbered = name if seen[name] == 1 else f"{name} #{seen[name]}"
        found.append(Mutation(numbered, change.node.lineno, _replaced(source, change)))
    return found


def _short(text: str) -> str:
    return " ".join(text.split())[:90]


def _replaced(source: str, change: _Change) -> str:
    """Put the change into the text, and leave every other character as it is."""
    lines = source.encode().splitlines(keepends=True)
    node = change.node
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or 1) - 1])) + (node.end_col_offset or 0)
    after = f"({change.after})" if isinstance(node, ast.expr) else change.after
    raw = source.encode()
    return (raw[:start] + after.encode() + raw[end:]).decode()


def _changes(node: ast.AST, function: str) -> Iterator[_Change]:
    """Yield the changes of a node and of all that is in it."""
    if isinstance(node, ast.JoinedStr):
        return  # Its parts have no places of their own in the text.
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    yield from _own_changes(node, function)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name not in _UNREAD and isinstance(child, ast.AST) and not _is_prose(child):
                yield from _changes(child, function)


def _own_changes(node: ast.AST, function: str) -> Iterator[_Change]:
    if isinstance(node, ast.expr):
        yield from (_Change(node, function, ast.unparse(one)) for one in _expressions(node))
    elif isinstance(node, ast.stmt):
        yield from (_Change(node, function, one) for one in _statements(node))
        yield from (_Change(one, function, f"not ({ast.unparse(one)})") for one in _conditions(node))


def _is_prose(node: ast.AST) -> bool:
    """Is it a docstring, or an import?"""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


def _conditions(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the condition of an `if` or `while`, where no other mutation turns it round."""
    if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield node.test


def _statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return None"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"


def _expressions(node: ast.expr) -> Iterator[ast.expr]:  # noqa: C901  a case a kind
    match node:
        case ast.Compare(left=left, ops=[op], comparators=more):
            for other in _COMPARISONS[type(op)]:
                yield ast.Compare(left, [other()], more)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS and not _is_text(left, right):
            yield ast.BinOp(left, _OPERATORS[type(op)](), right)
        case ast.IfExp(test=test, body=body, orelse=orelse) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Call(func=ast.Name(id=called), args=args, keywords=keywords) if called in _CALLS:
            yield ast.Call(ast.Name(_CALLS[called], ast.Load()), args, keywords)
        case ast.Constant(value=value):
            yield from (ast.Constant(one) for one in _constants(value))


def _is_text(*nodes: ast.expr) -> bool:
    is_string = (isinstance(one, ast.Constant) and isinstance(one.value, str) for one in nodes)
    return any(itertools.chain(is_string, (isinstance(one, ast.JoinedStr) for one in nodes)))


def _constants(value: object) -> Iterator[bool | float | str]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield value * 2 or 1.0
    elif isinstance(value, str) and _NAME.fullmatch(value):
        yield f"{value}_"
