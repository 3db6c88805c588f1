"""What goes wrong in Python itself, beside tensors."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _unbound(scene: Scene, match: re.Match[str]) -> str:
    function, name = scene.function, match[1]
    where = f"`{function.name}` (line {function.lineno})" if function else "this function"
    lines = sorted(_stored(function, name)) if function else []
    after = [line for line in lines if line > scene.line]
    if scene.line in lines:
        how = f"line {scene.line} works it out of itself before it has any value in there"
    elif after and len(after) == len(lines):
        how = f"line {scene.line} reads it before that line has run"
    else:
        how = (
            f"line {scene.line} reads it before it got one, for example because that line stands in a block "
            f"that was not come to"
        )
    outside = (
        " The one outside of the function is another."
        if name in scene.setup_names or set(scene.bindings(name)) - set(lines)
        else ""
    )
    given = f" on line {lines[0]}" if lines else " somewhere"
    return (
        f"{where} gives `{name}` a value{given}, so in all of that function `{name}` is a name of its own (local), and "
        f"{how}.{outside} Should the value be handed in as an argument, or the new one have another name?"
    ).replace("this function gives", "This function gives")


def _stored(function: ast.AST, name: str) -> set[int]:
    """The lines of a function itself that give a name a value."""
    found = set()
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and node.id == name:
            found.add(node.lineno)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return found


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("unbound-local", "UnboundLocalError", r"variable '(\w+)'", _unbound),
)
