"""Functions, methods and classes used without their round brackets, and layers made where one should be called."""

import ast
import inspect
import re

import torch

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, an, quoted, walk
from graders.judge.feedback.explanations.source import arguments, is_uncalled

_T = "TypeError"
_KINDS = r"(?:builtin_function_or_method|method_descriptor|method|function|type|property)"
_SAID = rf"'{_KINDS}'|(?:\bnot|\bgot|\bto) {_KINDS}\b"
_MODULE = torch.nn.Module


def _operands(scene: Scene) -> list[ast.expr]:  # noqa: C901, PLR0911  a case a line
    """What the failing expression works on, one step down."""
    node = scene.node
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.AugAssign():
            return [node.target, node.value]
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.UnaryOp():
            return [node.operand]
        case ast.Call():
            return arguments(node)
        case ast.Subscript():
            return [node.slice]
        case ast.For():
            return [node.iter]
        case ast.JoinedStr() | ast.FormattedValue():
            return [one.value for one in ast.walk(node) if isinstance(one, ast.FormattedValue)]
    return [node] if isinstance(node, ast.expr) else []


def _culprit(scene: Scene) -> ast.expr | None:
    found = next((one for one in _operands(scene) if is_uncalled(scene, one)), None)
    inside = (
        [one for one in ast.walk(scene.node) if isinstance(one, ast.Attribute)]
        if found is None and scene.node is not None
        else []
    )
    called = {id(one.func) for one in walk(scene.node) if isinstance(one, ast.Call)} if inside else set()
    return found or next((one for one in inside if id(one) not in called and is_uncalled(scene, one)), None)


def _word(scene: Scene, node: ast.expr) -> str:
    part = scene.part(node)
    if part is not None and part.type == "type":
        return "the class itself, and no object was made of it"
    return (
        "the method itself, which was not called"
        if isinstance(node, ast.Attribute)
        else "the function itself, which was not called"
    )


def _uncalled(scene: Scene, _: re.Match[str]) -> str | None:
    culprit = _culprit(scene)
    if culprit is None or scene.callee in ("super", "map", "filter", "isinstance") or "for >>" in scene.message:
        return None
    return (
        f"{quoted(culprit)} on line {scene.line} is {_word(scene, culprit)}: there is no result yet "
        f"that {_use(scene)}. "
        f"What has to stand after its name so that it is called?"
    )


def _use(scene: Scene) -> str:
    match scene.node:
        case ast.BinOp() | ast.AugAssign() | ast.UnaryOp():
            return "could be worked out with"
        case ast.Compare():
            return "could be compared"
        case ast.Call():
            return f"{scene.called} could use" if scene.called else "could be used"
        case ast.For():
            return "could be gone through"
    return "could be used here"


def _context(scene: Scene, match: re.Match[str]) -> str | None:
    node = scene.node
    if isinstance(node, ast.With) and node.items:
        node = node.items[0].context_expr
    if not isinstance(node, ast.expr):
        return None
    if match[1] in ("type", "function", "builtin_function_or_method", "method"):
        return (
            f"`with` on line {scene.line} needs an object that can be entered and left, and {quoted(node)} is "
            f"{_class_word(match[1])}: it makes such an object only when it is called. What is missing after its name?"
        )
    return (
        f"`with` on line {scene.line} needs something that can be entered and left, such as an opened file or what "
        f"switches gradients off; {quoted(node)} is {an(match[1])}. Which object did you want to enter?"
    )


def _class_word(kind: str) -> str:
    return "the class itself" if kind == "type" else "a function itself"


def _class_in_layers(scene: Scene, match: re.Match[str]) -> str | None:
    """`nn.Sequential(nn.ReLU)`."""
    name = match[1].rpartition(".")[2]
    for one in arguments(scene.node):
        part = scene.part(one)
        if (
            isinstance(one, ast.Name | ast.Attribute)
            and quoted(one).strip("`").rpartition(".")[2] == name
            and part is not None
            and part.type == "type"
        ):
            return (
                f"{quoted(one)} on line {scene.line} is the class itself, and {scene.called or 'this'} holds layers, "
                f"the objects that are made of it. What has to stand after its name to make one?"
            )
    return None


def _made_of_tensors(scene: Scene, _: re.Match[str]) -> str | None:
    """`nn.CrossEntropyLoss(logits, targets)`."""
    layer = _layer_class(scene)
    if layer is None or not isinstance(scene.node, ast.Call):
        return None
    return (
        f"`{layer}` is a class: the brackets after it take settings and make a layer or loss, and only the object that "
        f"is made takes tensors. On line {scene.line} the tensors are put where the settings go.{scene.details()} "
        f"Where is such an object made, and where is it called?"
    )


def _layer_class(scene: Scene) -> str | None:
    name = scene.callee.rpartition(".")[2]
    kind = getattr(torch.nn, name, None)
    return (
        scene.callee
        if isinstance(kind, type) and issubclass(kind, _MODULE) and scene.callee.startswith(("nn.", "torch.nn."))
        else None
    )


def _layer_not_tensor(scene: Scene, match: re.Match[str]) -> str | None:
    """`nn.ReLU(h).shape`, or a name that holds a layer and was thought to hold a result."""
    kind = getattr(torch.nn, match[1], None)
    if not (isinstance(kind, type) and issubclass(kind, _MODULE)) or not _of_tensor(match[2]):
        return None
    node = scene.node.func if isinstance(scene.node, ast.Call) else scene.node
    if (
        not isinstance(node, ast.Attribute)
        or node.attr != match[2]
        or match[1] in ("Embedding", "Linear", "Sequential", "ModuleList")
    ):
        return None
    return (
        f"{quoted(node.value)} is {an(match[1])}, a layer, and only tensors have `{match[2]}`. The first brackets make "
        f"a layer with its settings; a tensor comes out when the layer is called. On what should it be called?"
    )


def _of_tensor(name: str) -> bool:
    return inspect.getattr_static(torch.Tensor, name, None) is not None


def _inside_library(scene: Scene, match: re.Match[str]) -> str | None:
    """An attribute that a library's function looked for on what it was given: no attribute of the failing line."""
    node = scene.node
    if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Attribute) and node.func.attr == match[2]):
        return None
    if any(isinstance(one, ast.Attribute) and one.attr == match[2] for one in ast.walk(node)) or scene.functions(
        scene.callee.rpartition(".")[2]
    ):
        return None
    if not _of_tensor(match[2]) or match[1] in ("Tensor", "Parameter") or scene.classes(match[1]):
        return None
    own = match[1].rpartition(".")[2]
    word = {
        "int": "a plain number",
        "float": "a plain number",
        "ndarray": "a numpy array",
        "str": "a text",
        "NoneType": "None",
    }.get(own, an(own))
    given = [one for one in arguments(node) if (part := scene.part(one)) is not None and part.type == own]
    which = f"{quoted(given[0])} is {word}" if given else f"one of the things that it is given is {word}"
    layer = getattr(torch.nn, own, None)
    more = ", the layer itself" if isinstance(layer, type) and issubclass(layer, _MODULE) else ""
    return (
        f"{scene.called} on line {scene.line} works on tensors, and {which}{more}. Where should it become a tensor, or "
        f"which tensor did you mean?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule(
        "not-a-context",
        "TypeError AttributeError",
        r"^'([\w.]+)' object does not support the (?:asynchronous )?context manager",
        _context,
    ),
    ExplanationRule("uncalled", "TypeError ValueError IndexError RuntimeError", _SAID, _uncalled),
    ExplanationRule("class-among-layers", _T, r"^([\w.]+) is not a Module subclass", _class_in_layers),
    ExplanationRule(
        "layer-made-of-tensors",
        "RuntimeError TypeError",
        r"Boolean value of Tensor with more|__init__\(\) takes|must be bool, not Tensor",
        lambda s, m: _made_of_tensors(s, m) if _is_given_tensors(s) else None,
    ),
    ExplanationRule(
        "layer-not-called", "AttributeError", r"^'(\w+)' object has no attribute '(\w+)'", _layer_not_tensor
    ),
    ExplanationRule(
        "argument-no-tensor", "AttributeError", r"^'([\w.]+)' object has no attribute '(\w+)'", _inside_library
    ),
)


def _is_given_tensors(scene: Scene) -> bool:
    parts = [scene.part(one) for one in arguments(scene.node)]
    return any(part is not None and part.type == "Tensor" for part in parts)
