"""Sizes, counts and axes that are no whole numbers."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import KINDS, Scene, an
from graders.judge.feedback.explanations.source import arguments, is_divided, of_kind, worth

_T = "TypeError"
_QUESTIONS = {
    "float": "Which whole number should arrive there?",
    "str": "Should that text be a number, and where would it become one?",
    "NoneType": "Which line should have given it a number?",
}
_TAKES_SIZES = {"LayerNorm", "GroupNorm", "RMSNorm"}


def _size(scene: Scene, kind: str) -> str | None:
    """What is said where a whole number was wanted and something of another kind came; None if it is not found."""
    culprit = of_kind(scene, kind, arguments(scene.node))
    name = scene.called or f"line {scene.line}"
    if culprit is not None:
        told = worth(scene, culprit, kind)
        return (
            f"{name} on line {scene.line} wants whole numbers (int) there, "
            f"and {told}. {_question(scene, kind, culprit)}"
        )
    return None


def _question(scene: Scene, kind: str, culprit: ast.expr | None = None) -> str:
    if culprit is not None and kind == "float" and is_divided(scene, culprit):
        return "Which other sign divides, so that whole numbers stay whole?"
    return _QUESTIONS.get(kind, "Which number should stand there?")


def _unpacked(scene: Scene, match: re.Match[str]) -> str:
    kind = next(one for one in match.groups() if one)
    word = {"float": "a float"}.get(kind, an(KINDS.get(kind, kind)))
    return _size(scene, kind) or (
        f"{scene.called or f'Line {scene.line}'} takes sizes, and those are whole numbers (int); one of them is "
        f"{word}.{scene.details()} {_question(scene, kind)}"
    )


def _one(scene: Scene, match: re.Match[str]) -> str | None:
    """`chunk(): argument 'chunks' (position 1) must be int, not float`."""
    kind = match[2]
    if kind == "int" and "tuple" in match[0]:
        return (
            f"{scene.called or f'Line {scene.line}'} takes the whole shape at once, as a tuple or list of numbers, and "
            f"got one number. Which brackets make a shape with one axis?"
        )
    return _size(scene, kind) if kind in _QUESTIONS else None


def _combined(scene: Scene, match: re.Match[str]) -> str | None:
    """`randn() received an invalid combination of arguments - got (float, int)`."""
    if scene.callee.rpartition(".")[2] == "randint" and match[1].replace(" ", "") in ("int,int,int", "int,int"):
        return (
            f"`randint` on line {scene.line} wants the shape as its last plain argument, as a tuple such as (2, 3), "
            f"and got whole numbers only. Which of them is the lower end, which the upper, and which is the shape?"
        )
    if "float" not in match[1] or "Tensor" in match[1]:
        return None
    return _size(scene, "float")


def _interpreted(scene: Scene, match: re.Match[str]) -> str | None:
    kind = match[1]
    if kind not in _QUESTIONS:
        return None
    nodes = arguments(scene.node)
    if isinstance(scene.node, ast.BinOp):
        nodes = [scene.node.left, scene.node.right]
    if isinstance(scene.node, ast.Subscript):
        inside = scene.node.slice
        nodes = [one for one in ast.walk(inside) if isinstance(one, ast.expr)]
    culprit = of_kind(scene, kind, nodes)
    if culprit is None:
        return None
    return (
        f"{scene.here} on line {scene.line} needs a whole number, "
        f"and {worth(scene, culprit, kind)}. {_question(scene, kind, culprit)}"
    )


def _slice(scene: Scene, match: re.Match[str]) -> str | None:
    inside = scene.node.slice if isinstance(scene.node, ast.Subscript) else None
    ends = (
        [
            one
            for piece in ast.walk(inside)
            if isinstance(piece, ast.Slice)
            for one in (piece.lower, piece.upper, piece.step)
            if one is not None
        ]
        if inside is not None
        else []
    )
    culprit = of_kind(scene, "float", ends)
    if culprit is None:
        return None
    return (
        f"The ends of a slice are whole numbers, and "
        f"in {scene.here} {worth(scene, culprit, 'float')}. {_question(scene, 'float', culprit)}"
    )


def _times(scene: Scene, match: re.Match[str]) -> str | None:
    culprit = of_kind(scene, "float", list(scene.sides or ()))
    if culprit is None:
        return None
    return (
        f"A list or text is repeated a whole number of times, and in {scene.here} {worth(scene, culprit, 'float')}. "
        f"Should the number be whole, or the list a tensor?"
    )


def _norm(scene: Scene, match: re.Match[str]) -> str | None:
    return _size(scene, match[1]) if scene.callee.rpartition(".")[2] in _TAKES_SIZES else None


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule(
        "size-kind",
        _T,
        r"failed to unpack the object at pos \d+ with error \"type must be tuple of ints,but got (\w+)|must be tuple "
        r"of ints, but found element of type (\w+)|should be of type int, got:? (\w+)",
        _unpacked,
    ),
    ExplanationRule("size-one-kind", _T, r"argument '(\w+)' .{0,20}must be (?:tuple of )?ints?, not (\w+)", _one),
    ExplanationRule("size-combination", _T, r"invalid combination of arguments - got \(([\w, ]{1,80})\)", _combined),
    ExplanationRule("whole-number-wanted", _T, r"'(\w+)' object cannot be interpreted as an integer", _interpreted),
    ExplanationRule("slice-of-float", _T, r"^slice indices must be integers", _slice),
    ExplanationRule("repeated-by-float", _T, r"^can't multiply sequence by non-int of type 'float'", _times),
    ExplanationRule("norm-size-kind", _T, r"^'(float)' object is not iterable", _norm),
)
