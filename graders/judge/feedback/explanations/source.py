"""What the student's own text shows of a name: what it was given, on which line, and what a plain sum comes to."""

import ast
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping

import torch

from graders.judge.feedback.explanations.rules import Words
from graders.judge.feedback.explanations.scene import KINDS, Scene, an, quoted, walk
from graders.student.failing_expression import dotted_name

Function = ast.FunctionDef | ast.AsyncFunctionDef
Number = int | float
_LARGEST = 1e12  # what is worked out here stays small
_SUMS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_WORDS = {"float": "float", "str": "text (a string)", "NoneType": "None", "int": "whole number"}
_METHOD_KINDS = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, list, dict, str)
_RUN_BY_CALL = ("forward", "__call__")
_CALLABLE = {
    "function", "builtin_function_or_method", "type", "method", "method_descriptor", "_TensorMeta", "_ParameterMeta",
}  # fmt: skip


def with_operands(before: str, question: str) -> Words:
    """
    Words with the groups of a pattern as `{0}`, `{1}` …, what is known of the failing expression, and a question.

    `{here}` is that expression, `{called}` what was called in it, `{line}` its line.
    """
    return lambda s, m: (
        f"{before.format(*(one or '' for one in m.groups()), here=s.here, called=called(s), line=s.line)}"
        f"{s.details()} {question}"
    )


def called(scene: Scene) -> str:
    """What was called, with the line that made it; or the failing line."""
    if not isinstance(scene.node, ast.Call):
        return scene.here if scene.here.startswith("`") else f"line {scene.line}"
    return f"{scene.called}{made_on(scene, scene.node.func)}"


def value_of(scene: Scene, node: ast.AST | None) -> ast.Assign | None:
    """The last assignment before the failing line that gives a name, or an attribute of `self`, its value."""
    name = dotted_name(node) if node is not None else None
    if name is None:
        return None
    on_self = name.startswith("self.")
    found = (
        one
        for one in walk(scene.tree)
        if isinstance(one, ast.Assign)
        and (on_self or one.lineno < scene.line)
        and any(dotted_name(target) == name for target in one.targets)
    )
    return max(found, key=lambda one: one.lineno, default=None)


def made_on(scene: Scene, node: ast.AST | None) -> str:
    """` (made on line 3)` of a name that a call has made, or nothing."""
    found = value_of(scene, node)
    return f" (made on line {found.lineno})" if found is not None and isinstance(found.value, ast.Call) else ""


def number(scene: Scene, node: ast.AST | None, deep: int = 0) -> Number | None:  # noqa: PLR0911  a case a line
    """What a sum of numbers comes to whose names are known; None for everything else."""
    if deep > 6 or node is None:  # noqa: PLR2004  deeper is no plain sum
        return None
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name() | ast.Attribute():
            part = scene.part(node)
            return part.value if part is not None and type(part.value) in (int, float) else None
        case ast.UnaryOp(op=ast.USub()):
            inner = number(scene, node.operand, deep + 1)
            return -inner if inner is not None else None
        case ast.BinOp():
            return _sum(node, number(scene, node.left, deep + 1), number(scene, node.right, deep + 1))
    return None


def _sum(node: ast.BinOp, left: Number | None, right: Number | None) -> Number | None:
    sign = _SUMS.get(type(node.op))
    if sign is None or left is None or right is None or max(abs(left), abs(right)) > _LARGEST:
        return None
    try:
        return sign(left, right)
    except ZeroDivisionError:
        return None


def arguments(node: ast.AST | None) -> list[ast.expr]:
    """What is handed to a call, in order; entries of lists and tuples that are written out, one by one."""
    if not isinstance(node, ast.Call):
        return []
    given = [*node.args, *(one.value for one in node.keywords)]
    return [inner for one in given for inner in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]


def of_kind(scene: Scene, kind: str, nodes: list[ast.expr]) -> ast.expr | None:
    """The first of some expressions that is seen to be of a kind of value (`float`, `str`, `NoneType` …)."""
    for one in nodes:
        part = scene.part(one)
        if part is not None:
            if part.type == kind:
                return one
            continue
        if isinstance(one, ast.Constant) and type(one.value).__name__ == kind:
            return one
        if type(number(scene, one)).__name__ == kind and kind in ("int", "float"):
            return one
        if kind == "float" and isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
            return one
    return None


def worth(scene: Scene, node: ast.expr, kind: str) -> str:
    """Words such as "`n_embd / 2` is the float 16.0 (`/` always gives one)", or where else it comes from."""
    if kind == "NoneType":
        return "what it got is None" if isinstance(node, ast.Constant) else f"{quoted(node)} is None"
    if isinstance(node, ast.Constant):
        return f"{quoted(node)} is {an(_word(kind))}"
    value = number(scene, node)
    shown = f"the {_WORDS[kind]} {value!r}" if value is not None and kind in _WORDS else an(_word(kind))
    return f"{quoted(node)} is {shown}{_from_division(scene, node) if kind == 'float' else ''}"


def _word(kind: str) -> str:
    return _WORDS.get(kind) or KINDS.get(kind, kind)


def is_divided(scene: Scene, node: ast.expr) -> bool:
    """Is a value what `/` gives, here or where its name was given it?"""
    found = value_of(scene, node)
    values = [node, *([found.value] if found is not None else [])]
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div) for one in values)


def _from_division(scene: Scene, node: ast.expr) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return " (`/` gives a float even where nothing is left over)"
    found = value_of(scene, node)
    if found is not None and isinstance(found.value, ast.BinOp) and isinstance(found.value.op, ast.Div):
        return f" (line {found.lineno}: `/` gives a float even where nothing is left over)"
    return f" (since line {found.lineno})" if found is not None else ""


def is_uncalled(scene: Scene, node: ast.AST | None) -> bool:
    """Does an expression stand for a function, method or class, where its result may be meant?"""
    part = scene.part(node)
    if part is not None:
        return part.type in _CALLABLE
    if not isinstance(node, ast.Attribute) or dotted_name(node) in scene.fault.parts:
        return False
    return any(inspect.isroutine(inspect.getattr_static(kind, node.attr, None)) for kind in _METHOD_KINDS)


def returns(function: Function) -> list[ast.Return]:
    """The `return`s with a value, of a function itself and not of those inside it."""
    found: list[ast.Return] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node)
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found


def comes_to_its_end(body: list[ast.stmt]) -> bool:
    """Can the last line of some statements be gone past without a `return`?"""
    match body[-1]:
        case ast.Return() | ast.Raise():
            return False
        case ast.If(body=first, orelse=second) if second:
            return comes_to_its_end(first) or comes_to_its_end(second)
        case ast.With(body=inner):
            return comes_to_its_end(inner)
        case ast.Try() | ast.While() | ast.Match():
            return False  # not looked into
    return True


def functions_called(scene: Scene, call: ast.AST | None) -> Iterator[Function]:
    """The student's functions that a call may run: by its name, or `forward` and `__call__` of the class it is of."""
    if not isinstance(call, ast.Call):
        return
    func = call.func
    yield from scene.functions(func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", ""))
    found = value_of(scene, func)
    maker = found.value if found is not None else func
    kind = maker.func if isinstance(maker, ast.Call) else None
    for one in scene.classes(kind.id) if isinstance(kind, ast.Name) else ():
        yield from (inner for inner in one.body if isinstance(inner, Function) and inner.name in _RUN_BY_CALL)


def no_return(scene: Scene, call: ast.AST | None) -> str:
    """That a function of the student's hands nothing back: a sentence with a space before it, or nothing."""
    for function in functions_called(scene, call):
        where = f"`{function.name}` (line {function.lineno})"
        if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in walk(function)):
            continue
        if not (found := returns(function)):
            return f" {where} has no `return` with a value, so what it hands back is None."
        if comes_to_its_end(function.body):
            return (
                f" {where} has a `return` on line {found[0].lineno}, but can come to its end without it, and then it "
                f"hands back None."
            )
    return ""
