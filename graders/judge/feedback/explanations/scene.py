"""
An exception as the rules see it: its words, the failing expression, and what the names in it stood for.

The student's text is parsed here and never run; what cannot be parsed, or is nested too deep, has no expression.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from graders.judge.feedback import descriptions
from graders.judge.values.decode_observation import ExpressionName, Fault
from graders.student.failing_expression import dotted_name, node_at

LOOKED_AT = 500  # characters of a message
_SHOWN = 60  # characters of an expression
_DEEPEST = 6
_MOST_NODES = 200_000
BUILTINS = frozenset(vars(builtins))
_SIGNS: Mapping[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@", ast.Mod: "%", ast.Pow: "**",
    ast.FloorDiv: "//", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_DULL = {
    "module", "type", "builtin_function_or_method", "function", "dtype", "classmethod", "tensortype", "_TensorMeta",
    "_ParameterMeta", "_ArrayFunctionDispatcher", "ufunc", "method", "property",
}  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Setting:
    """What is known beside the exception itself."""

    source: str = ""  # the student's text
    setup: str = ""  # the starting code
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # names of the axes, by output


@lru_cache(maxsize=8)
def parsed(source: str) -> ast.Module | None:
    """A text's tree, or None."""
    try:
        return ast.parse(source.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):  # the last after a deep recursion
        return None


class Scene:
    """One exception, with what can be found out about it when a rule asks."""

    def __init__(self, fault: Fault, setting: Setting) -> None:
        """Nothing is parsed yet."""
        self.fault, self.setting = fault, setting
        self.message = fault.message[:LOOKED_AT]
        self.line = fault.line or 0

    @cached_property
    def tree(self) -> ast.Module | None:
        """The student's text, parsed."""
        return parsed(self.setting.source) if self.fault.parsed else None

    @cached_property
    def node(self) -> ast.expr | ast.stmt | None:
        """The failing expression or statement."""
        if self.tree is None or self.fault.span is None or self.fault.span[0] != self.line:
            return None
        return node_at(self.tree, list(self.fault.span))

    @property
    def here(self) -> str:
        """The failing expression in backticks, or `line N`, or `your code`."""
        if isinstance(self.node, ast.expr | ast.AugAssign):
            return quoted(self.node)
        return f"line {self.line}" if self.line else "your code"

    @property
    def code(self) -> str:
        """The line itself, without what surrounds it."""
        return self.fault.code

    @property
    def lines(self) -> list[str]:
        """The student's lines."""
        return re.split(r"\r\n|\r|\n", self.setting.source.removeprefix("\ufeff"))

    @property
    def sides(self) -> tuple[ast.expr, ast.expr] | None:
        """Left and right of the operator that failed, or None."""
        if isinstance(self.node, ast.BinOp):
            return self.node.left, self.node.right
        if isinstance(self.node, ast.AugAssign):
            return self.node.target, self.node.value
        if isinstance(self.node, ast.Compare) and len(self.node.comparators) == 1:
            return self.node.left, self.node.comparators[0]
        return None

    @property
    def called(self) -> str:
        """What was called, in backticks; an empty text if the failing expression is no call."""
        return quoted(self.node.func) if isinstance(self.node, ast.Call) else ""

    @property
    def callee(self) -> str:
        """The dotted name of what was called, or an empty text."""
        return (dotted_name(self.node.func) or "") if isinstance(self.node, ast.Call) else ""

    def part(self, node: ast.AST | str | None) -> ExpressionName | None:
        """What a name in the failing expression stood for."""
        name = node if isinstance(node, str) or node is None else dotted_name(node)
        return self.fault.parts.get(name) if name else None

    def described(self, name: str) -> str:
        """A name with what it stood for: "`tok` is [32, 8, 32] (batch, position, channel)"; empty if unknown."""
        part = self.part(name)
        return f"`{name}` is {self.what(name, part)}" if part is not None else ""

    def what(self, name: str, part: ExpressionName) -> str:
        """What a part is, in words."""
        if part.type in ("Tensor", "Parameter") and part.shape is not None:
            dims = self.setting.dims.get(name, ())
            one = "a single number (shape [])" if not part.shape else descriptions.shape(part.shape, dims)
            return f"{one}, {part.dtype}" if not part.dtype.startswith("float32") else one
        if part.type == "NoneType":
            return "None"
        if part.value is not None and part.type in ("int", "float", "bool"):
            return f"the {'number' if part.type != 'bool' else 'truth value'} {part.value}"
        if part.shape is not None:
            return f"{an(part.type)} layer with a weight of {list(part.shape)}"
        if part.length is not None:
            return f"{an(KINDS.get(part.type, part.type))} of length {part.length}"
        return an(KINDS.get(part.type, part.type))

    def details(self, *, most: int = 3) -> str:
        """The tensors, layers and values of the failing expression in one sentence; empty if there are none."""
        inside = {dotted_name(one) for one in walk(self.node)} if self.node is not None else set(self.fault.parts)
        known = [(name, part) for name, part in self.fault.parts.items() if name in inside]
        own = [self.described(name) for name, part in known if part.type not in _DULL]
        return f" Here {_listed(own[:most])}." if own else ""

    def bindings(self, name: str) -> list[int]:
        """The lines on which the student's text gives a name a value, in order."""
        return sorted({line for known, line in _bound(self.tree) if known == name}) if self.tree else []

    def bound_before(self, name: str) -> int | None:
        """The last line before the failing one that gives a name its value."""
        before = [line for line in self.bindings(name) if line < self.line]
        return before[-1] if before else None

    @cached_property
    def known_names(self) -> list[str]:
        """Names that could have been meant: the student's own of this scope, the starting code's, Python's."""
        own = [name for name, _ in _bound(self.tree, inside=self.function)] if self.tree else []
        return list(dict.fromkeys([*own, *self.setup_names, *sorted(BUILTINS)]))

    @cached_property
    def setup_names(self) -> list[str]:
        """The names that the starting code makes."""
        tree = parsed(self.setting.setup)
        return list(dict.fromkeys(name for name, _ in _bound(tree))) if tree is not None else []

    @cached_property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function that the failing line is in."""
        found = [one for one in self.functions() if one.lineno <= self.line <= (one.end_lineno or 0)]
        return max(found, key=lambda one: one.lineno, default=None)

    def functions(self, name: str | None = None) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The student's functions, methods too; of one name if it is given."""
        nodes = (one for one in walk(self.tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
        return [one for one in nodes if name is None or one.name == name]

    def classes(self, name: str | None = None) -> list[ast.ClassDef]:
        """The student's classes; of one name if it is given."""
        return [one for one in walk(self.tree) if isinstance(one, ast.ClassDef) and name in (None, one.name)]


KINDS = {
    "NoneType": "None", "int": "number", "float": "number", "str": "text", "ndarray": "numpy array",
    "builtin_function_or_method": "function", "method": "method", "dict": "dictionary", "Size": "shape",
}  # fmt: skip


def walk(tree: ast.AST | None) -> Iterator[ast.AST]:
    """The nodes of a tree, as far as that is looked at."""
    for number, node in enumerate(ast.walk(tree) if tree is not None else ()):
        if number == _MOST_NODES:
            return
        yield node


def _bound(tree: ast.AST | None, inside: ast.AST | None = None) -> Iterator[tuple[str, int]]:
    """Names with the lines that bind them: outside functions, and in the function that is given."""
    waiting: list[ast.AST] = [tree] if tree is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name.partition(".")[0]), node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, node.lineno
        outer = not isinstance(node, _SCOPES) or node is inside or _holds(node, inside)
        waiting += ast.iter_child_nodes(node) if outer else ()


def _holds(node: ast.AST, inside: ast.AST | None) -> bool:
    """Is one scope around another?"""
    if inside is None or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return isinstance(inside, ast.stmt) and node.lineno <= inside.lineno <= (node.end_lineno or 0)


def quoted(node: ast.AST) -> str:
    """An expression in backticks, with what is given to its calls left out."""
    text = shown(node).replace("`", "'")
    return f"`{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}`"


def shown(node: ast.AST, deep: int = 0) -> str:  # noqa: C901, PLR0911  a case a line
    """An expression, short."""
    if deep > _DEEPEST:
        return "…"
    match node:
        case ast.Name():
            return node.id
        case ast.Constant():
            return repr(node.value)[:20]
        case ast.Attribute():
            return f"{shown(node.value, deep + 1)}.{node.attr}"
        case ast.Call():
            return f"{shown(node.func, deep + 1)}({'…' if node.args or node.keywords else ''})"
        case ast.Subscript():
            return f"{shown(node.value, deep + 1)}[{shown(node.slice, deep + 1)}]"
        case ast.BinOp():
            sign = _SIGNS.get(type(node.op), "…")
            return f"{shown(node.left, deep + 1)} {sign} {shown(node.right, deep + 1)}"
        case ast.AugAssign():
            sign = _SIGNS.get(type(node.op), "…")
            return f"{shown(node.target, deep + 1)} {sign}= {shown(node.value, deep + 1)}"
        case ast.Compare() | ast.UnaryOp() | ast.Slice() | ast.Tuple() | ast.List() | ast.BoolOp():
            return _unparsed(node)
    return "…"


def _unparsed(node: ast.AST) -> str:
    try:
        return " ".join(ast.unparse(node).split())[: _SHOWN + 1]
    except (RecursionError, ValueError, MemoryError):
        return "…"


def _listed(texts: list[str]) -> str:
    """`a, b and c`."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def an(word: str) -> str:
    """The word with its article; `None` has none."""
    return "None" if word in ("None", "NoneType") else descriptions.with_article(word)
