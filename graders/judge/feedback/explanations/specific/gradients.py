"""Changes in place that a way back does not survive."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, walk
from graders.student.failing_expression import changed_in_place, dotted_name

_MOST = 3


def _changes(scene: Scene, shape: str | None) -> list[tuple[str, int, str]]:
    """The names that the text changes in place, with line and code; those of the shape alone where that is known."""
    found = []
    for node in walk(scene.tree):
        target = changed_in_place(node)
        name = dotted_name(target) if target is not None else None
        if name is None or not isinstance(node, ast.stmt | ast.expr):
            continue
        part = scene.part(name)
        if part is not None and (part.type not in ("Tensor", "Parameter") or part.shape is None):
            continue
        if part is not None and shape is not None and str(list(part.shape or ())) != f"[{shape}]":
            continue
        found.append((name, node.lineno, _code(scene, node.lineno)))
    known = [one for one in found if scene.part(one[0]) is not None]
    return sorted(known or found, key=lambda one: one[1])


def _code(scene: Scene, line: int) -> str:
    return scene.lines[line - 1].split("#")[0].strip().replace("`", "'")[:60] if line <= len(scene.lines) else ""


def _changed(scene: Scene, _: re.Match[str]) -> str:
    shape = re.search(r"\[(?:torch\.)?\w+ \[([\d, ]{0,60})\]\]", scene.message)
    which = f" of shape [{shape[1]}]" if shape else ""
    changes = _changes(scene, shape[1] if shape else None)
    if len({name for name, _, _ in changes}) == 1:
        name, line, code = changes[0]
        return (
            f"`{name}` is changed in place on line {line} (`{code}`), after something was worked out with it. The way "
            f"back that `backward()` on line {scene.line} goes needs the numbers{which} as they were then. Should the "
            f"new numbers have a name of their own?"
        )
    said = "; ".join(f"`{code}` on line {line}" for _, line, code in changes[:_MOST])
    candidates = f" What changes tensors in place here: {said}." if said else ""
    return (
        f"A tensor{which} that the way back needs was changed in place after something was worked out with it, so "
        f"`backward()` on line {scene.line} cannot work out gradients.{candidates} Which of these changes "
        f"comes between "
        f"the computation and its way back?"
        if said
        else f"A tensor{which} that the way back needs was changed in place after something was worked out with it, so "
        f"line {scene.line} cannot work out gradients. Which line above has a `+=`, a method with `_` at its end, or "
        f"`x[…] = …`, or an optimiser's `step()` before `backward()`?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("changed-in-place", "RuntimeError", r"modified by an inplace operation", _changed),
)
