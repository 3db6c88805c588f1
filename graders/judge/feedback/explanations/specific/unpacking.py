"""Several names left of `=`, and another number of values on its right."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import KINDS, Scene, an, quoted, walk
from graders.judge.feedback.explanations.source import functions_called, returns, value_of

_PAIRS = {"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"}
_TWO = {
    "LSTM": "the output and a pair (h, c)",
    "GRU": "the output and the last state",
    "RNN": "the output and the last state",
    "MultiheadAttention": "the output and the weights of attention",
}
_PER_ROUND = {"enumerate": (2, "a count and an entry"), "items": (2, "a key and a value")}
_MOST_SIZES = 6


def _taken_apart(scene: Scene) -> tuple[ast.expr | None, bool]:
    """What is taken apart, and whether that is each entry of it, as in the head of a loop."""
    for one in walk(scene.tree):
        if isinstance(one, ast.Assign) and any(target is scene.node for target in one.targets):
            return one.value, False
        if isinstance(one, ast.For | ast.comprehension) and one.target is scene.node:
            return one.iter, True
    return None, False


def _content(scene: Scene, node: ast.expr | None, *, each: bool) -> tuple[int | None, str]:
    """How many values an expression gives, where that can be seen, and a sentence about what they are."""
    if node is None:
        return None, ""
    if each:
        return _entries(scene, node)
    part = scene.part(node)
    if part is not None and part.type in ("Tensor", "Parameter") and part.shape:
        told = (
            f"{quoted(node)} is a tensor of shape {list(part.shape)}, and a tensor is taken apart along its "
            f"first axis: {_count(part.shape[0])}"
        )
        return part.shape[0], told
    if part is not None and part.length is not None:
        kind = an(KINDS.get(part.type, part.type))
        return part.length, f"{quoted(node)} is {kind} with {_count(part.length)}"
    return _shape_of(scene, node) or _written(scene, node) or _call(scene, node) or (None, "")


def _count(number: int) -> str:
    return f"{number} entr{'y' if number == 1 else 'ies'}"


def _shape_of(scene: Scene, node: ast.expr) -> tuple[int, str] | None:
    """Of `x.shape` and `x.size()`."""
    inner = node.func if isinstance(node, ast.Call) and not node.args else node
    if not isinstance(inner, ast.Attribute) or inner.attr not in ("shape", "size"):
        return None
    part = scene.part(inner.value)
    if part is None or part.shape is None or part.type not in ("Tensor", "Parameter"):
        return None
    sizes = f"{quoted(node)} is {list(part.shape)}" if len(part.shape) <= _MOST_SIZES else f"{quoted(node)} is longer"
    return len(part.shape), f"{sizes}: {len(part.shape)} number{'' if len(part.shape) == 1 else 's'}, one for each axis"


def _written(scene: Scene, node: ast.expr) -> tuple[int, str] | None:
    if isinstance(node, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in node.elts):
        return len(node.elts), f"on its right stand {len(node.elts)}"
    return None


def _call(scene: Scene, node: ast.expr) -> tuple[int | None, str] | None:
    """Of a call whose result is known: the student's own function, or one of torch that gives a pair."""
    if not isinstance(node, ast.Call):
        return None
    for function in functions_called(scene, node):
        given = [one.value for one in returns(function)]
        if len(given) != 1 or given[0] is None:
            return None
        where = f"`{function.name}` hands back"
        if isinstance(given[0], ast.Tuple):
            return len(given[0].elts), f"{where} {len(given[0].elts)} values (line {given[0].lineno})"
        return None, f"{where} one thing, {quoted(given[0])} (line {given[0].lineno}), and that is what is taken apart"
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in _PAIRS and (node.args or node.keywords):
        return 2, f"`{name}` along an axis gives two things, values and their places"
    return _layer(scene, node)


def _layer(scene: Scene, node: ast.Call) -> tuple[int, str] | None:
    part = scene.part(node.func)
    found = value_of(scene, node.func)
    maker = found.value if found is not None else node.func
    written = maker.func.attr if isinstance(maker, ast.Call) and isinstance(maker.func, ast.Attribute) else ""
    kind = part.type if part is not None else written
    if kind in _TWO:
        return 2, f"{an(kind)} gives two things, {_TWO[kind]}"
    return None


def _entries(scene: Scene, node: ast.expr) -> tuple[int | None, str]:
    """Of each entry that a loop takes apart."""
    name = ""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _PER_ROUND:
        many, what = _PER_ROUND[name]
        return many, f"`{name}` gives {what} in each round"
    if name == "zip" and isinstance(node, ast.Call):
        return len(node.args), f"`zip` gives one value of each of the {len(node.args)} things it is given in each round"
    part = scene.part(node)
    if part is None:
        return None, ""
    if part.type in ("Tensor", "Parameter") and part.shape is not None and len(part.shape) > 1:
        return part.shape[1], f"each row of {quoted(node)} (shape {list(part.shape)}) has {_count(part.shape[1])}"
    if part.type == "dict":
        return None, f"{quoted(node)} is a dictionary, and a loop over one gives its keys alone"
    return None, f"each entry of {quoted(node)} is taken apart"


def _unpack(scene: Scene, match: re.Match[str]) -> str:
    names = _names(scene, match)
    node, each = _taken_apart(scene)
    many, told = _content(scene, node, each=each)
    got = match[2] or (str(many) if many is not None else None)
    if got is not None and many is not None and str(many) != got:
        told = ""  # what the text shows is not what came
    wanted = f"{match[1] or names} name{'' if (match[1] or str(names)) == '1' else 's'}"
    at_least = "at least " if "at least" in match[0] else ""
    place = "in the head of the loop" if each else "left of `=`"
    came = (
        f"{got} value{'' if got == '1' else 's'} come"
        if got
        else "more values come"
        if "too many" in match[0]
        else "fewer values come"
    )
    came = came.replace(" come", " comes") if got == "1" else came
    begin = f"Line {scene.line} has {at_least}{wanted} {place}, and {came}"
    source = (
        f" from {quoted(node)}"
        if node is not None and not each and quoted(node) not in told and quoted(node)[-2:] != "…`"
        else ""
    )
    middle = f": {told}." if told else f"{source}. A tensor is taken apart along its first axis, a list by its entries."
    question = (
        "Which of the values is one too many for your names, or which name is missing?"
        if "too many" in match[0]
        else "Which value is missing, or which name is one too many?"
    )
    return f"{begin}{middle} {question}"


def _names(scene: Scene, match: re.Match[str]) -> int | str:
    return len(scene.node.elts) if isinstance(scene.node, ast.Tuple | ast.List) else match[1] or "several"


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule(
        "too-many-values", "ValueError", r"too many values to unpack(?: \(expected (\d+)(?:, got (\d+))?\))?", _unpack
    ),
    ExplanationRule(
        "too-few-values",
        "ValueError",
        r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)",
        _unpack,
    ),
)
