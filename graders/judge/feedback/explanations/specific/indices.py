"""Ids and indices of a dtype that no look-up takes."""

import ast
import re

from graders.judge.feedback.explanations.numbers import dtype_name, looked_up
from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, quoted
from graders.judge.feedback.explanations.source import arguments

_R, _I = "RuntimeError", "IndexError"
_WRONG_BEGINNINGS = ("float", "bool", "complex", "uint", "int8", "int16", "half", "bfloat")
_METHODS = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "short": "int16", "cfloat": "complex64",
    "byte": "uint8", "char": "int8",
}  # fmt: skip


def _holder(scene: Scene, got: str = "", nodes: list[ast.expr] | None = None) -> tuple[str, str]:
    """The name that holds the indices, in backticks, and its dtype; empty where neither is known."""
    for one in arguments(scene.node) if nodes is None else nodes:
        part = scene.part(one)
        if part is None or part.type not in ("Tensor", "Parameter") or part.learns:
            continue
        if part.dtype == got or (not got and part.dtype.startswith(_WRONG_BEGINNINGS)):
            return quoted(one), part.dtype
    return "", got or _written(arguments(scene.node) if nodes is None else nodes)


def _written(nodes: list[ast.expr]) -> str:
    """A dtype that is named inside of expressions, as in `x.float()` and `x.to(torch.uint16)`; or an empty text."""
    names = (one.attr for node in nodes for one in ast.walk(node) if isinstance(one, ast.Attribute))
    found = (_METHODS.get(name, name) for name in names)
    return next((name for name in found if name.startswith(_WRONG_BEGINNINGS) or name == "int32"), "")


def _meaning(dtype: str) -> str:
    """What numbers of a dtype are, where it matters, and the question that leads on."""
    if dtype.startswith(("float", "bfloat")):
        return "floating-point numbers, even where nothing stands after the point. Where do they become fractions?"
    if dtype == "bool":
        return "true and false, and no row numbers. What was it made of, and which rows do you mean?"
    if dtype.startswith("complex"):
        return "complex numbers. Where do they come from?"
    return "whole, but not stored in the way that is wanted here. Which line gives them that dtype, and is it needed?"


def _not_whole(scene: Scene, match: re.Match[str]) -> str:
    found = looked_up(scene)
    if found is not None and found[1].dtype in ("int64", "int32") and len(found[0].shape) > 1:
        return (
            f"The look-up was given numbers of the shape {list(found[0].shape)} in the place of the ids, and whole "
            f"numbers in the place of the table. In which order does this function want the two?"
        )
    got = dtype_name(match[1])
    name, _ = _holder(scene, got)
    return (
        f"A table is looked up by row numbers, and those must be whole numbers of dtype int64 (long) or int32; "
        f"{name or 'yours'} {'has' if name else 'have'} dtype {got}: {_meaning(got)}"
    )


def _one_hot(scene: Scene, _: re.Match[str]) -> str:
    name, got = _holder(scene)
    told = "what it got has another dtype. Where is it given one, and should that come before or after this step?"
    if got:
        told = f"{name or 'what it got'} has dtype {got}: {_meaning(got)}"
    return f"`one_hot` counts with ids, and takes only whole numbers of dtype int64 (long); {told}"


def _index(scene: Scene, _: re.Match[str]) -> str:
    inside = scene.node.slice if isinstance(scene.node, ast.Subscript) else None
    entries = inside.elts if isinstance(inside, ast.Tuple) else [inside] if inside is not None else []
    name, got = _holder(scene, nodes=entries)
    if got:
        told = f"{name or quoted(inside) if inside else name} has dtype {got}: {_meaning(got)}"
    else:
        told = f"{'that of ' + quoted(inside) if inside is not None else 'yours'} is another. Which line gives it?"
    return f"A tensor is indexed by whole numbers (int64 or int32), or by true and false; {told}"


def _index_argument(scene: Scene, match: re.Match[str]) -> str:
    got = dtype_name(match[3]) if match[3] else ""
    name, got = _holder(scene, got)
    told = f"{name or 'the index'} has dtype {got}: {_meaning(got)}" if got else "those it got are not. Which are they?"
    return f"`{match[1] or match[2]}` is told places by an index of whole numbers, dtype int64 (long); {told}"


def _target(scene: Scene, match: re.Match[str]) -> str:
    got = dtype_name(match[1])
    name, _ = _holder(scene, got)
    means = ": numbers with a point would be probabilities" if got.startswith("float") else ""
    return (
        f"{scene.called or f'Line {scene.line}'} takes the right classes as their numbers, of dtype int64 (long), and "
        f"{name or 'the target'} has dtype {got}{means}.{scene.details()} Where does its dtype come from?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("ids-not-whole", _R, r"scalar types: Long, Int; but got ([\w.]+) instead", _not_whole),
    ExplanationRule("one-hot-of-fractions", _R, r"one_hot is only applicable to index tensor", _one_hot),
    ExplanationRule("index-of-fractions", _I, r"tensors used as indices must be long", _index),
    ExplanationRule(
        "index-type",
        _R,
        r"^(\w+)\(\): Expected dtype int\S{0,12}(?: or int64)? for index(?: but got: (?:\w+))?$|^(\w+)\(\): "
        r"Expected a long tensor "
        r"for index, but got (\w+)",
        _index_argument,
    ),
    ExplanationRule("target-type", _R, r"expected target dtype to be Long or Byte, but got (\w+)", _target),
)
