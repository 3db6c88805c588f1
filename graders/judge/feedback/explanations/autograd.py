"""Gradients: what learns, what backward needs, and what may not be changed in between."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, walk

_R = "RuntimeError"


def _second_backward(scene: Scene, _: re.Match[str]) -> str:
    calls = sorted(
        node.lineno
        for node in walk(scene.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
    )
    before = [line for line in calls if line < scene.line]
    loop = next(
        (node for node in walk(scene.tree) if isinstance(node, ast.For | ast.While) and _inside(node, scene.line)), None
    )
    already = (
        f" (line {before[-1]} was the first)"
        if before
        else f" (the loop of line {loop.lineno} comes to it again)"
        if loop
        else ""
    )
    who = f"`backward()` on line {scene.line}" if "backward" in scene.code else f"Line {scene.line}"
    return (
        f"{who} goes back through the same computation a second time{already}. "
        "What torch keeps for the way back is thrown away after once. "
        "Which lines work out the result, and are they run again before each way back?"
    )


def _inside(node: ast.stmt, line: int) -> bool:
    return node.lineno < line <= (node.end_lineno or 0)


def _not_scalar(scene: Scene, _: re.Match[str]) -> str:
    return (
        "`backward()` begins at one single number, "
        f"such as a loss, and on line {scene.line} there are more.{_owner(scene)} "
        "How do many numbers become one that should get smaller?"
    )


def _owner(scene: Scene) -> str:
    """The tensor whose method was called, with its shape."""
    name = scene.callee.rpartition(".")[0]
    described = scene.described(name) if name else ""
    return f" {described[:1].upper()}{described[1:]}." if described else scene.details()


def _no_gradient(scene: Scene, _: re.Match[str]) -> str:
    learns = [
        f"`{name}`"
        for name, part in scene.fault.parts.items()
        if part.type in ("Tensor", "Parameter") and not part.learns
    ]
    who = f"{learns[0]} on line {scene.line}" if learns else f"What line {scene.line} starts from"
    return (
        f"{who} has no connection to anything that learns, so no gradient can go back from it. "
        "Was it made of a table or parameter, and did `detach()`, `no_grad`, `item()` or numpy cut it off on the way?"
    )


def _leaf_in_place(scene: Scene, _: re.Match[str]) -> str:
    return (
        f"{scene.here} changes numbers in place that learn: "
        f"gradients are about the numbers as they were, so torch refuses.{scene.details()} "
        "Should the result have a name of its own, "
        "or is it an update that gradients need not follow, inside `torch.no_grad()`?"
    )


def _numpy(scene: Scene, _: re.Match[str]) -> str:
    name = scene.callee.rpartition(".")[0]
    what = f"`{name}`" if name else "This tensor"
    return (
        f"{what} learns, or was worked out from something that does, "
        f"and numpy knows no gradients, so torch does not hand it over on line {scene.line}. "
        "Is numpy needed here? "
        "If so, what parts a tensor from its gradients first?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("backward-twice", _R, r"backward through the graph a second time", _second_backward),
    ExplanationRule("backward-of-many", _R, r"grad can be implicitly created only for (?:scalar|real)", _not_scalar),
    ExplanationRule("nothing-learns", _R, r"does not require grad and does not have a grad_fn", _no_gradient),
    ExplanationRule("leaf-in-place",
         _R, r"a leaf Variable that requires grad is being used in an in-place operation|a view of a leaf Variable "
              r"that requires grad", _leaf_in_place),
    ExplanationRule("numpy-of-learning", _R, r"Can't call numpy\(\) on Tensor that requires grad", _numpy),
    ExplanationRule("unused-in-gradient",
         _R, r"differentiated Tensors? .{0,20}appears to not have been used", "A gradient is asked for on line "
              "{line} with respect to a "
         "tensor that the result was not made of. Was another tensor of the same name used on the way?"),
    ExplanationRule("not-a-leaf",
         _R, r"you can only change requires_grad flags of leaf", "Whether a result learns follows from what it was "
              "made of, and line {line} "
         "wants to set it by hand. Which tensor at the beginning should learn, or should this one be cut off?"),
    ExplanationRule("gradient-shape",
         _R, r"attempting to assign a gradient of size|assigned grad has data of a different|Mismatch in shape: "
              r"grad_output\[\d\] has a shape of",
              "The gradient that line {line} puts in has "
         "another shape or type than the tensor it is for; there is one number of it for each number. What shape "
         "should it have?"),
    ExplanationRule("gradient-kind",
         "TypeError",
         r"assigned grad expected to be a Tensor", "A gradient is a tensor or None, and line {line} puts something "
              "else there. Which "
         "shape would it have?"),
    ExplanationRule("copy-of-result",
         _R, r"Only Tensors created explicitly by the user .*support the deepcopy", "`deepcopy` copies what you made "
              "yourself, and not results of a "
         "computation, as on line {line}. Should the result be cut off from its gradients first, and then cloned?"),
    ExplanationRule("inference-tensor",
         _R, r"[Ii]nference tensors? cannot be|Inplace update to inference tensor", "What is made under "
              "`inference_mode` can take no part in learning "
         "afterwards, as on line {line} it should. Which lines should stand outside of that block?"),
    ExplanationRule("retain-grad",
         _R, r"can't retain_grad on Tensor that has requires_grad=False", "`retain_grad` keeps a gradient that "
              "passes by, and through this tensor on line "
         "{line} none will. What should it be made of to learn?"),
    ExplanationRule("hook-of-frozen",
         _R, r"cannot register a hook on a tensor that doesn't require gradient", "A hook waits for a gradient, and "
              "this tensor on line {line} will get "
         "none. Which tensor learns?"),
)  # fmt: skip
