"""What gives an exercise away: its statements and right-hand sides, as sequences of tokens to look for."""

import ast
import builtins
import keyword
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from app.services.tutor.leak_guard.tokens import Tokens, canonical, is_word
from app.services.tutor.leak_guard.trie import WILD

_SAY_NOTHING = (ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.Starred, ast.Lambda)
"""Right-hand sides that tell nothing without the name that they are given."""
_FUNCTIONS = {ast.Add: "add", ast.Mult: "mul", ast.Div: "div", ast.Sub: "sub", ast.MatMult: "matmul"}
_MODULES = {"torch", "nn", "F", "np"}
_OWN_NAMES = {*dir(builtins), *keyword.kwlist, "self", *_MODULES, "functional"}
_LEAST = 2


@dataclass(frozen=True)
class Pattern:
    """A sequence of tokens that gives `says` away."""

    tokens: Tokens
    """In canonical form; some may be `WILD`."""
    says: str
    """The statement, for the log and for tests."""


def patterns(content: dict[str, Any]) -> Iterator[Pattern]:
    """Yield what gives away an exercise, from a version's stored content."""
    asked = {one["name"] for one in content.get("outputs", [])}
    sizes = _sizes(content.get("setup", ""))
    for code in [content.get("solution", ""), *(one["code"] for one in content.get("equivalents", []))]:
        yield from _Code(code, asked, sizes).patterns()
    yield from _answers(content.get("answer") or {})


class _Code:
    """One right way to solve an exercise."""

    def __init__(self, code: str, asked: set[str], sizes: dict[str, ast.expr]) -> None:
        self._tree = ast.parse(code)
        self._asked = asked
        self._bound = set(_bound(self._tree))
        own = {name: value for name, value in sizes.items() if name not in self._bound}
        numbers = {name: value for name, value in own.items() if isinstance(value, ast.Constant)}
        lengths = {name: value for name, value in own.items() if name not in numbers}
        self._sizes: list[dict[str, ast.expr]] = [{**numbers}, lengths, own]

    def patterns(self) -> Iterator[Pattern]:
        """Yield those of each statement that says something."""
        for statement in ast.walk(self._tree):
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and statement.value is not None:
                yield from self._assignment(statement, statement.value)
            elif (value := _value(statement)) is not None:
                yield from self._expression(value, says=ast.unparse(value))

    def _assignment(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, value: ast.expr) -> Iterator[Pattern]:
        says = ast.unparse(statement)
        yield from self._expression(value, says=says)
        if isinstance(value, ast.Call) and not value.args and not value.keywords:
            yield from self._expression(_receiver(value), says=says)  # `.float()` left off
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            if isinstance(target, ast.Subscript) or (
                isinstance(value, ast.Attribute | ast.Tuple) and _weight(value) >= _LEAST
            ):
                yield Pattern((*_unwrapped(target), "=", *_unwrapped(value)), says)
                yield Pattern((*_unwrapped(target), "=", *canonical(ast.unparse(value))), says)
            if isinstance(target, ast.Name) and target.id in self._asked and _tells(value):
                for form in _forms(value):
                    # Whatever else is called how: this is where the name that is asked for gets its value.
                    yield Pattern((*canonical(target.id), "=", *self._wild(form)), says)
                yield from _in_place(target, value, says)

    def _expression(self, value: ast.expr, *, says: str) -> Iterator[Pattern]:
        for part in value.elts if isinstance(value, ast.Tuple) else ():
            yield from self._expression(part, says=says)
        if not _tells(value):
            return
        for form in _forms(value):
            tokens = canonical(ast.unparse(form))
            yield Pattern(tokens, says)
            if isinstance(form, ast.Call) and len(form.args) >= _LEAST:
                yield Pattern((*tokens[:-1], ","), says)  # with one more argument
            wild = self._wild(form)
            if len([token for token in wild if _is_specific(token)]) >= _LEAST:
                yield Pattern(wild, says)
            for values in self._sizes:
                typed_in = _Replaced(values).visit(ast.parse(ast.unparse(form), mode="eval"))
                yield Pattern(canonical(ast.unparse(typed_in)), says)

    def _wild(self, value: ast.expr) -> Tokens:
        """Return the tokens with every name that the code makes itself replaced."""
        bound = {token for name in self._bound for token in canonical(name)}
        tokens = canonical(ast.unparse(value))
        return tuple(
            WILD if token in bound and (position == 0 or tokens[position - 1] != ".") else token
            for position, token in enumerate(tokens)
        )


def _unwrapped(value: ast.expr) -> Tokens:
    """Return the tokens of an expression, those of a tuple without its brackets."""
    tokens = canonical(ast.unparse(value))
    return tokens[1:-1] if isinstance(value, ast.Tuple) and tokens[0] == "(" else tokens


def _value(node: ast.AST) -> ast.expr | None:
    """Return the expression that a statement without a target, or a loop, is about."""
    match node:
        case ast.Expr() | ast.Return():
            return node.value
        case ast.For() | ast.comprehension():
            return node.iter
        case ast.If() | ast.While():
            return node.test
    return None


def _in_place(target: ast.Name, value: ast.expr, says: str) -> Iterator[Pattern]:
    """Yield what ends `h = tok; h += pos`."""
    if isinstance(value, ast.BinOp):
        for term in (value.left, value.right):
            yield Pattern(canonical(ast.unparse(ast.AugAssign(target, value.op, term))), says)


class _Replaced(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that has a value."""
        return self._values.get(node.id, node)


def _bound(trie: ast.AST) -> Iterator[str]:
    """Yield the names that code makes: variables, arguments, what it keeps on `self`."""
    for node in ast.walk(trie):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg != "self":
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _sizes(setup: str) -> dict[str, ast.expr]:
    """Return the names that the starting code gives a plain number, or the length of something."""
    return {
        target.id: statement.value
        for statement in ast.parse(setup).body
        if isinstance(statement, ast.Assign) and _is_size(statement.value)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _is_size(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "len"


def _forms(value: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression, and other ways to write the same."""
    yield value
    if isinstance(value, ast.BinOp) and type(value.op) in _FUNCTIONS:
        name, sides = _FUNCTIONS[type(value.op)], [value.left, value.right]
        orders = [sides, sides[::-1]] if isinstance(value.op, ast.Add | ast.Mult) else [sides]
        for left, right in orders:
            yield ast.BinOp(left, value.op, right)
            yield ast.Call(ast.Name(name), [left, right], [])
            yield ast.Call(ast.Attribute(left, name), [right], [])
            if isinstance(value.op, ast.Add):
                yield ast.Call(ast.Name("sum"), [ast.List([left, right])], [])
                yield ast.Call(ast.Name("sum"), [ast.Tuple([left, right])], [])
    if isinstance(value, ast.Call):
        yield from _other_calls(value)


def _other_calls(call: ast.Call) -> Iterator[ast.expr]:
    """Yield a function as a method, or a method as a function."""
    if not isinstance(call.func, ast.Attribute):
        return
    if not _is_module(call.func.value):
        yield ast.Call(ast.Name(call.func.attr), [call.func.value, *call.args], call.keywords)
    elif call.args and call.func.attr.islower() and not isinstance(call.args[0], ast.Constant | ast.Starred):
        yield ast.Call(ast.Attribute(call.args[0], call.func.attr), call.args[1:], call.keywords)


def _is_module(value: ast.expr) -> bool:
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and value.id in _MODULES


def _receiver(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call


def _tells(value: ast.expr) -> bool:
    """Say whether an expression by itself gives something away: not a name, a number, a shape, or `range(n)`."""
    return not isinstance(value, _SAY_NOTHING) and not _is_plain_call(value) and _weight(value) >= _LEAST


def _weight(value: ast.expr) -> int:
    """Return how many names, attributes and constants there are that are not Python's or a module's own."""
    return sum(
        (isinstance(node, ast.Name) and node.id not in _OWN_NAMES)
        or (isinstance(node, ast.Attribute) and node.attr not in _OWN_NAMES)
        or isinstance(node, ast.Constant)
        for node in ast.walk(value)
    )


def _is_plain_call(value: ast.expr) -> bool:
    """Say whether this is `print(…)`, `super().__init__()`, or a method called on a name without arguments."""
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name):
        return value.func.id == "print"
    if not isinstance(value.func, ast.Attribute):
        return False
    is_bare = isinstance(value.func.value, ast.Name) and not value.args and not value.keywords
    return is_bare or value.func.attr == "__init__"


def _is_specific(token: str) -> bool:
    return token != WILD and is_word(token) and token not in _OWN_NAMES


def _answers(answer: dict[str, Any]) -> Iterator[Pattern]:
    """Yield what gives a question away. A choice cannot be told from talk about it, nor a number of two digits."""
    if "shape" in answer:
        sizes = [str(size) for size in answer["shape"]]
        if len(sizes) > 1:
            for between in (",", "*", "x"):
                tokens = [token for size in sizes for token in (between, size)][1:]
                yield Pattern(tuple(tokens), str(answer["shape"]))
    if "number" in answer:
        for written in _written(answer["number"], answer.get("tolerance", 0.0)):
            yield Pattern(canonical(written), str(answer["number"]))


def _written(number: float, tolerance: float) -> Collection[str]:
    """Return the ways in which a number is written down: with and without its last decimals, and in groups."""
    rounded = [f"{number:.{decimals}f}" for decimals in range(10)]
    close = [one for one in rounded if abs(float(one) - number) <= tolerance * abs(number)]
    whole = {form for one in close for form in (one, f"{float(one):,.{len(one.partition('.')[2])}f}")}
    spaced = {form.replace(",", " ") for form in whole}
    return {one for one in whole | spaced if sum(map(str.isdigit, one)) > _LEAST}
