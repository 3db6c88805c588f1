"""
Do an exercise's texts do anything that outlasts their run?

What a text makes under names of its own is gone with them. What it changes in a module, in a class of torch's, in a
setting or in a file stays, and would be there at the next submission. So a judge is only kept where the texts show
plainly that they do nothing of the kind; of what is not plain, the worse is assumed, and that costs a fork.
"""

import ast
import re
from collections.abc import Iterable

from graders.judge.constructs import dotted, imports
from graders.task import Task

_MODULES = {
    "torch", "numpy", "math", "cmath", "random", "collections", "itertools", "functools", "dataclasses", "typing",
    "string", "operator", "enum", "abc", "copy", "re", "statistics", "fractions",
}  # fmt: skip
_BUILTINS = {
    "setattr", "delattr", "vars", "exec", "eval", "compile", "open", "globals", "breakpoint", "input",
    "__import__", "__builtins__", "__loader__", "__spec__",
}  # fmt: skip
# What a module offers for changing it: settings, hooks, seeds that no trial puts back, files.
_CHANGES = re.compile(
    r"set|use_|register|enable|disable|add_|push|pop|save|load|dump|seed|seterr|compile|export|backends|hub|library|_"
)
_WRITES = {"tofile", "dump", "save", "share_memory_", "register_hook"}


def lasting(task: Task) -> bool:
    """May a run of one of the exercise's texts leave something behind in its process?"""
    known: dict[str, str] = {}
    trees = [tree for text in _texts(task) if (tree := _parsed(text)) is not None]
    for tree in trees:  # the starting code's imports are seen by all
        known |= imports(tree) | _renamed(tree, known)
    return any(_lasts(node, known) for tree in trees for node in ast.walk(tree))


def _texts(task: Task) -> Iterable[str]:
    yield from (task.setup, task.solution, task.require, task.probe, task.report)
    for check in task.checks:
        for leaf in check.leaves:
            yield from (leaf.expression, *leaf.accept)
    yield from (one.valid for one in task.inputs)
    for variant in task.wrong:
        yield from (variant.code, variant.when, *variant.expressions.values())


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text.strip())
    except SyntaxError:
        return None  # then it is not run either


def _renamed(tree: ast.Module, known: dict[str, str]) -> dict[str, str]:
    """Other names for what is a module's: `E = nn.Embedding`."""
    known = known | imports(tree)
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (full := dotted(node.value, known | found)):
            found |= {target.id: full for target in node.targets if isinstance(target, ast.Name)}
    return found


def _lasts(node: ast.AST, known: dict[str, str]) -> bool:
    match node:
        case ast.Import(names=names):
            found = any(one.name.split(".")[0] not in _MODULES for one in names)
        case ast.ImportFrom(module=module, names=names):
            found = (module or "").split(".")[0] not in _MODULES or any(_changes(one.name) for one in names)
        case ast.Name(id=name):
            found = name in _BUILTINS
        case ast.Call(func=ast.Name(id="getattr"), args=[value, *_]):
            found = bool(dotted(value, known))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
            found = name in _WRITES or (bool(dotted(value, known)) and _changes(name))
        case ast.Attribute(value=value) | ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            found = bool(dotted(value, known))
        case _:
            found = False
    return found


def _changes(name: str) -> bool:
    return name == "*" or _CHANGES.match(name) is not None
