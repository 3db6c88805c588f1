"""
Mutants: small faults put into a solution on purpose, to see whether the checks notice.

Each mutation changes one place of the parsed solution in a way that students also go wrong: a term dropped, an
index shifted, two names or arguments swapped, another size, whole numbers instead of floating-point ones, a
reversed order, a gradient cut. What survives shows a hole in the checks, or is right after all, which only
the author can say (`equivalent_mutants`).

A result is what stands under an output's name in the end, or what a function returns. What a function calls its own
variables has no part in that: a local name is not an output's, though it be spelled the same.
"""

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.authoring.exercise import CodeExercise
from app.authoring.params import IntegerParam

_FLIPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_CUT = ("cuts the gradient", "({0}).detach()")
# The numbers stay, and so only a gradient that is judged by value finds these out.
_GRADIENTS = {
    "turns the gradient round": "({0}).detach() * 2 - ({0})",
    "sends a hundredth of the gradient": "({0}).detach() * 0.99 + ({0}) * 0.01",
    "sends half of the gradient": "torch.cat([({0})[: len({0}) // 2], ({0})[len({0}) // 2 :].detach()])",
    "sends the gradient to the wrong place": "({0}).detach() + ({0}).flip(0) - ({0}).flip(0).detach()",
}
_WRAPPED = {
    "reverses the order": "({0}).flip(0)",
    "rounds to whole numbers": "({0}).long()",
    "scales": "({0}) * 1.5",
    "shifts": "({0}) + 0.25",
    "swaps the last two axes": "({0}).transpose(-1, -2)",
}


@dataclass(frozen=True)
class Mutant:
    """A solution with one fault in it."""

    what: str  # the kind of fault, as a verb
    source: str
    line: str  # the line that was changed, as it is now
    diff: str


def mutants(exercise: CodeExercise) -> list[Mutant]:
    """Every mutant of an exercise's solution, each text once, in the order of the lines."""
    original = ast.unparse(ast.parse(exercise.solution))
    found: dict[str, Mutant] = {}
    for what, tree in _mutations(exercise):
        source = ast.unparse(ast.fix_missing_locations(tree))
        if source != original and source not in found:
            found[source] = _mutant(what, original, source)
    return list(found.values())


def _mutant(what: str, original: str, source: str) -> Mutant:
    diff = list(difflib.unified_diff(original.splitlines(), source.splitlines(), lineterm="", n=0))[3:]
    changed = next((one[1:].strip() for one in diff if one.startswith("+")), "(line dropped)")
    return Mutant(what, source, changed, "\n".join(diff))


def _mutations(exercise: CodeExercise) -> Iterator[tuple[str, ast.Module]]:
    tree = ast.parse(exercise.solution)
    roles = _Roles(exercise)
    local = _local_names(tree)
    for number, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node, roles, local.get(node, frozenset())):
            changed = copy.deepcopy(tree)
            target = list(ast.walk(changed))[number]
            yield what, _replaced(changed, target, change)


def _local_names(tree: ast.Module) -> dict[ast.AST, frozenset[str]]:
    """Of each node inside a function the names that are the function's own."""
    found: dict[ast.AST, frozenset[str]] = {}
    for function in [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]:
        inside = list(ast.walk(function))
        shared = {name for node in inside if isinstance(node, ast.Global) for name in node.names}
        own = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.arg for node in inside if isinstance(node, ast.arg)}
        for node in inside:
            found[node] = found.get(node, frozenset()) | (own - shared)
    return found


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _replaced(tree: ast.Module, target: ast.AST, change: Callable[[ast.AST], ast.AST | None]) -> ast.Module:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST | None:
            return change(node) if node is target else self.generic_visit(node)

    changed = Swap().visit(tree)
    assert isinstance(changed, ast.Module)  # noqa: S101  only what is inside is replaced
    return changed


class _Roles:
    """Which names of the exercise may stand for each other."""

    def __init__(self, exercise: CodeExercise) -> None:
        self.sizes = [name for name, param in exercise.params.items() if isinstance(param, IntegerParam)]
        self.tensors = [one.name for one in exercise.inputs] + _siblings(exercise)
        # where nothing is to learn, a gradient that is cut is no fault
        self.learns = any(one.kind == "table" for one in exercise.outputs)
        self.gradients = {of for of, _ in exercise.task(1).gradients()}
        self.outputs = [one.name for one in exercise.outputs if one.kind == "tensor"]

    def others(self, name: str, *, is_local: bool) -> list[str]:
        """The names that a hurried student might have written instead."""
        groups = (self.sizes, self.tensors, [] if is_local else self.outputs)
        return [other for group in groups if name in group for other in group if other != name]


def _siblings(exercise: CodeExercise) -> list[str]:
    """Names that the starting code makes together with an input, as `y` in `x, y = get_batch()`."""
    inputs = {one.name for one in exercise.inputs}
    found: list[str] = []
    for statement in ast.parse(exercise.setup).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            names = [one.id for one in statement.targets[0].elts if isinstance(one, ast.Name)]
            found += [name for name in names if name not in inputs and inputs & set(names)]
    return found


Change = tuple[str, Callable[[ast.AST], ast.AST | None]]


def _changes(node: ast.AST, roles: _Roles, local: frozenset[str]) -> Iterator[Change]:
    """What can be done to one node; `local`: names of the function that it stands in."""
    match node:
        case ast.BinOp() | ast.Compare():
            yield from _of_operation(node)
        case ast.Constant():
            yield from _of_constant(node.value)
        case ast.Name(ctx=ast.Load(), id=name):
            yield from _of_name(name, roles, is_local=name in local)
        case ast.Call():
            yield from _of_call(node)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in roles.outputs and name not in local:
            yield from _of_result(value, roles)
            yield from _of_gradient(value) if name in roles.gradients else ()
        case ast.Return(value=ast.expr() as value):
            yield from _of_result(value, roles)
            yield from _of_gradient(value) if roles.gradients else ()
        case ast.Expr() | ast.AugAssign():
            yield "drops a line", lambda _: ast.Pass()


def _of_operation(node: ast.BinOp | ast.Compare) -> Iterator[Change]:
    if isinstance(node, ast.BinOp):
        yield "drops the right term", lambda one: one.left  # type: ignore[attr-defined]
        yield "drops the left term", lambda one: one.right  # type: ignore[attr-defined]
        if type(node.op) in _FLIPPED:
            yield "changes the operator", _with(op=_FLIPPED[type(node.op)]())
    elif type(node.ops[0]) in _FLIPPED:
        yield "changes the comparison", _with(ops=[_FLIPPED[type(node.ops[0])](), *node.ops[1:]])


def _of_constant(value: object) -> Iterator[Change]:
    if isinstance(value, bool):
        yield "turns a truth value round", _with(value=not value)
    elif isinstance(value, int):
        yield "adds one", _with(value=value + 1)
        yield "takes one away", _as_expression(str(value - 1))
    elif isinstance(value, float):
        yield "changes a number", _with(value=value * 1.5 + 0.25)


def _of_name(name: str, roles: _Roles, *, is_local: bool) -> Iterator[Change]:
    for other in roles.others(name, is_local=is_local):
        yield f"writes {other} for {name}", _with(id=other)
    if name in roles.sizes:
        yield "adds one to a size", _as_expression(f"{name} + 1")
        yield "takes one from a size", _as_expression(f"{name} - 1")


def _of_call(call: ast.Call) -> Iterator[Change]:
    if len(call.args) > 1:
        yield "swaps two arguments", _with(args=[call.args[1], call.args[0], *call.args[2:]])
    for keyword in call.keywords:
        rest = [one for one in call.keywords if one is not keyword]
        yield f"leaves {keyword.arg} away", _with(keywords=rest)
    text = ast.unparse(call)
    if text.startswith("torch.arange(") and len(call.args) == 1:
        yield "counts from one", _as_expression(f"torch.arange(1, {ast.unparse(call.args[0])} + 1)")
        yield "stops counting early", _as_expression(f"torch.arange({ast.unparse(call.args[0])} - 1)")


def _of_result(value: ast.expr, roles: _Roles) -> Iterator[Change]:
    text = ast.unparse(value)
    for what, pattern in (*_WRAPPED.items(), *([_CUT] if roles.learns else [])):
        yield what, _with(value=ast.parse(pattern.format(text), mode="eval").body)


def _of_gradient(value: ast.expr) -> Iterator[Change]:
    for what, pattern in _GRADIENTS.items():
        yield what, _with(value=ast.parse(pattern.format(ast.unparse(value)), mode="eval").body)


def _with(**fields: object) -> Callable[[ast.AST], ast.AST]:
    """A change of some fields of a node."""

    def change(node: ast.AST) -> ast.AST:
        for name, value in fields.items():
            setattr(node, name, copy.deepcopy(value))
        return node

    return change


def _as_expression(text: str) -> Callable[[ast.AST], ast.AST]:
    """A change of a whole expression."""
    return lambda _: ast.parse(text, mode="eval").body
