"""
Slips: what students commonly get wrong in any exercise, put into a solution.

A misconception's predicate (`when`) is written with one mix-up in mind, and another one can fulfil it. So `kelolo
check` puts each of these slips into the exercise's own solution, and nothing but what happened may be named then: one
of the slip's own `tags`, the names that the shipped exercises have for it, or a variant that would be recognised
without its predicate too, since its program makes the very same.

A slip is a change of the parsed solution at a kind of place that every exercise has: where a table is made, where
data are read, where a result is made (an output's assignment, or what a method returns), and the text as a whole.
Where a solution has no such place, there is nothing to try. `app.authoring.self_test.slip_catalogue` lists them.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.authoring.exercise import CodeExercise

Change = Callable[[ast.Module, CodeExercise], bool]  # changes the tree; False where there is no place for it


@dataclass(frozen=True)
class Slip:
    """One slip."""

    name: str
    change: Change
    tags: frozenset[str]  # the misconceptions that it may be called

    def on(self, exercise: CodeExercise) -> str | None:
        """The exercise's solution with this slip in it; None where it has no place for it."""
        tree = ast.parse(exercise.solution)
        before = ast.unparse(tree)
        if not self.change(tree, exercise):
            return None
        source = ast.unparse(ast.fix_missing_locations(tree))
        return source if source != before else None


def table(text: str, *, which: int = 0, layer: bool = False) -> Change:
    """
    Another table in the place of one.

    Args:
        text: an expression over TABLE, the call that makes it, and ROWS and WIDTH, its sizes.
        which: of those that the solution makes.
        layer: only where it is a layer, not a parameter.
    """

    def change(tree: ast.Module, _: CodeExercise) -> bool:
        found = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and _makes_table(one, layer=layer)]
        if not found[which:]:
            return False
        call = found[which]
        sizes = call if len(call.args) > 1 else call.args[0]
        if not isinstance(sizes, ast.Call) or len(sizes.args) < 2:  # noqa: PLR2004  rows and columns
            return False
        parts = {"TABLE": call, "ROWS": sizes.args[0], "WIDTH": sizes.args[1]}
        return _replaced(tree, call, _filled(text, parts))

    return change


def result(text: str, *, which: int = -1) -> Change:
    """
    Another value in the place of a result.

    Args:
        text: an expression over VALUE.
        which: of the results, in the order of the lines.
    """

    def change(tree: ast.Module, exercise: CodeExercise) -> bool:
        found = [one.value for one in _results(tree, exercise) if one.value is not None]
        if not found:
            return False
        value = found[which]
        return _replaced(tree, value, _filled(text, {"VALUE": value}))

    return change


def data(text: str) -> Change:
    """The exercise's first input given to what reads it first as another value: an expression over DATA."""

    def change(tree: ast.Module, exercise: CodeExercise) -> bool:
        names = [one.name for one in exercise.inputs]
        read = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id in names]
        found = [one for one in read if isinstance(one.ctx, ast.Load)]
        if not found:
            return False
        return _replaced(tree, found[0], _filled(text, {"DATA": found[0]}))

    return change


def line(text: str, *, at: int | None = None) -> Change:
    """One more line, behind so many of the others, or behind all."""

    def change(tree: ast.Module, _: CodeExercise) -> bool:
        place = len(tree.body) if at is None else at
        tree.body[place:place] = ast.parse(text).body
        return True

    return change


def renamed(*, which: int) -> Change:
    """A result under a name that nobody asked for."""

    def change(tree: ast.Module, exercise: CodeExercise) -> bool:
        names = [name for one in _results(tree, exercise) for name in _targets(one)]
        if not names:
            return False
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == names[which]:
                node.id = f"my_{names[which]}"
        return True

    return change


def misspelled(*, which: int) -> Change:
    """A result worked out from a name that is spelled wrong."""

    def change(tree: ast.Module, exercise: CodeExercise) -> bool:
        loads = [
            one
            for value in _results(tree, exercise)
            for one in ast.walk(value)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
        ]
        if not loads:
            return False
        loads[which].id += "s_"
        return True

    return change


def wrapped(head: str) -> Change:
    """All of it inside a block that is never gone through."""

    def change(tree: ast.Module, _: CodeExercise) -> bool:
        block = ast.parse(f"{head}\n    pass").body[0]
        assert isinstance(block, ast.If | ast.FunctionDef)  # noqa: S101  parsed as such
        block.body, tree.body = tree.body, [block]
        return True

    return change


def dropped(*, which: int) -> Change:
    """A line that was forgotten."""

    def change(tree: ast.Module, _: CodeExercise) -> bool:
        if len(tree.body) == 1:
            return False
        del tree.body[which]
        return True

    return change


def _results(tree: ast.Module, exercise: CodeExercise) -> list[ast.Assign | ast.Return]:
    names = {one.name for one in exercise.outputs if one.kind == "tensor"}
    made = [one for one in ast.walk(tree) if isinstance(one, ast.Return) or _assigns(one, names)]
    return sorted((one for one in made if isinstance(one, ast.Assign | ast.Return)), key=lambda one: one.lineno)


def _assigns(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Assign) and bool(names & set(_targets(node)))


def _targets(node: ast.Assign | ast.Return) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else []:
        if isinstance(target, ast.Name):
            yield target.id


def _makes_table(call: ast.Call, *, layer: bool) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return bool(call.args) and (name == "Embedding" or (name == "Parameter" and not layer))


def _filled(text: str, parts: dict[str, ast.expr]) -> ast.expr:
    class Filling(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return copy.deepcopy(parts.get(node.id, node))

    made = Filling().visit(ast.parse(text, mode="eval"))
    assert isinstance(made, ast.Expression)  # noqa: S101  parsed as such
    return made.body


def _replaced(tree: ast.Module, old: ast.expr, new: ast.expr) -> bool:
    class Replacing(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else super().visit(node)

    Replacing().visit(tree)
    return True
