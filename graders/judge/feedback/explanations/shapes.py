"""Tensors whose sizes do not fit: broadcasting, products, views, joins, axes that there are not."""

import ast
import math
import re

from graders.judge.feedback import descriptions
from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, quoted
from graders.judge.values.decode_observation import ExpressionName

_R, _I, _V = "RuntimeError", "IndexError", "ValueError"
_TENSORS = ("Tensor", "Parameter")


def _side(scene: Scene, node: ast.expr | None) -> ExpressionName | None:
    """A tensor on one side of an operator."""
    part = scene.part(node)
    return part if part is not None and part.type in _TENSORS and part.shape is not None else None


def _axis(scene: Scene, node: ast.expr, axis: int, size: int | str) -> str:
    """`8 of `tok` (position)`, the name where the exercise has one for it."""
    name = quoted(node).strip("`")
    part, dims = scene.part(name), scene.setting.dims.get(quoted(node).strip("`"), ())
    named = part is not None and part.shape is not None and len(part.shape) == len(dims) and -len(dims) <= axis < 0
    return f"{size} of {quoted(node)}{f' ({dims[axis]})' if named else ''}"


def _broadcast(scene: Scene, match: re.Match[str]) -> str:
    """`The size of tensor a (8) must match the size of tensor b (32) at non-singleton dimension 1`."""
    first, second, axis = int(match[1]), int(match[2]), int(match[3])
    sides = scene.sides
    parts = [_side(scene, one) for one in sides] if sides else []
    if sides and all(parts) and all(part is not None and part.shape for part in parts):
        shapes = [part.shape for part in parts if part is not None and part.shape is not None]
        back = axis - max(len(shape) for shape in shapes)
        fits = all(
            len(shape) >= -back and shape[back] == size for shape, size in zip(shapes, (first, second), strict=True)
        )
        sides_described = [
            f"{quoted(one)} is {descriptions.shape(shape, _dims(scene, one))}"
            for one, shape in zip(sides, shapes, strict=True)
        ]
        if fits:
            return (
                f"{sides_described[0]} and {sides_described[1]}. "
                "Axes are lined up from the last one backwards, and must be equal or 1: "
                f"there {_axis(scene, sides[0], back, first)} meets {_axis(scene, sides[1], back, second)}. "
                "What does each of these two axes stand for, and which is not what this line needs?"
            )
    return (
        f"Two tensors do not line up in {scene.here}: "
        f"along axis {axis} one has {first} and the other {second}.{scene.details()} "
        "Axes are matched from the last one backwards, and must be equal or 1. "
        "Which of the two is not as you think?"
    )


def _dims(scene: Scene, node: ast.expr) -> tuple[str, ...]:
    return tuple(scene.setting.dims.get(quoted(node).strip("`"), ()))


def _in_place(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{scene.here} would change a tensor of {match[1]} in place, and the result has {match[2]}: "
        f"a tensor keeps its shape when it is changed in place.{scene.details()} "
        "Should the result have a name of its own?"
    )


def _expand(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"Along axis {match[3]} a tensor of size {match[2]} should become {match[1]} on line {scene.line}; "
        f"only an axis of size 1 can be stretched, or one that is put in front.{scene.details()} "
        "Which axis should that be?"
    )


def _matmul(scene: Scene, match: re.Match[str]) -> str:
    inner, other = match[1].partition("x")[2], match[2].partition("x")[0]
    names = [quoted(one) for one in scene.sides] if scene.sides else ["the first", "the second"]
    layer = scene.part(scene.callee)
    if layer is not None and layer.type == "Linear":
        return (
            f"{scene.called} is a matrix product with rows of {other} numbers, "
            f"and gets rows of {inner}.{scene.details()} "
            "Which of the two sizes is the one you meant?"
        )
    called = f" {scene.called} works out such a product." if scene.called else ""
    return (
        f"A matrix product of {match[1]} and {match[2]}: the {inner} columns of {names[0]} must be as many as the "
        f"{other} rows of {names[1]}.{called}{scene.details()} Which of the two is the wrong way round, or too long?"
    )


def _view(scene: Scene, match: re.Match[str]) -> str:
    sizes = [int(one) for one in re.findall(r"-?\d+", match[1])]
    known = math.prod(one for one in sizes if one != -1)
    wants = f"{known} numbers" if -1 not in sizes else f"a multiple of {known} numbers"
    return (
        f"A tensor of {match[2]} numbers cannot get the shape {match[1]}, which has room for {wants}: "
        f"to reshape keeps every number.{scene.details()} "
        "Which of the sizes should be another?"
    )


def _dimension(scene: Scene, match: re.Match[str]) -> str:
    low, high, got = int(match[1]), int(match[2]), int(match[3])
    return (
        f"{scene.here} asks for axis {got}, and this tensor has {high + 1 if high >= 0 else 1}: "
        f"they are numbered 0 to {high}, or from the end -1 to {low}.{scene.details()} "
        "Which axis do you mean?"
    )


def _bounds(scene: Scene, match: re.Match[str]) -> str:
    index, axis, size = int(match[1]), match[2], int(match[3])
    rows = f"numbered 0 to {size - 1}" if size else "so none at all"
    from_range = _index_range(scene, size)
    return (
        f"Line {scene.line} asks for number {index} along axis {axis}, "
        f"which has {size}, {rows}.{from_range}{scene.details(most=2)} Where does that number come from?"
    )


def _index_range(scene: Scene, size: int) -> str:
    """From where to where the index tensor goes, if it is a name."""
    part = scene.part(scene.node.slice) if isinstance(scene.node, ast.Subscript) else None
    if part is None or part.range is None or (-size <= part.range[0] and part.range[1] < size):
        return ""
    return (
        f" {quoted(scene.node.slice)} goes from {part.range[0]} to {part.range[1]}."
        if isinstance(scene.node, ast.Subscript)
        else ""
    )


def _joined(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"To be joined by {scene.called or 'this line'}, tensors must agree in every axis "
        f"but the one they are joined along; one has {match[1]} where another has {match[2]}.{scene.details()} "
        "Along which axis should they be joined?"
    )


def _class_sizes(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{scene.called or 'The loss'} wants as many targets as there are predictions: "
        f"there are {match[1]} predictions (the first axis) and {match[2]} targets.{scene.details()} "
        "Which axes of the predictions are examples, and which one is the classes?"
    )


def _with_sizes(before: str, question: str) -> object:
    return lambda s, m: f"{before.format(*m.groups(), here=s.here, line=s.line)}{s.details()} {question}"


_ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    ("expand-axes",
         _R, r"expand\(.*\): the number of sizes provided \((\d+)\) must be greater or equal to the number of "
              r"dimensions in the "
     r"tensor \((\d+)\)", "`expand` was given {0} sizes for a tensor with {1} axes: it needs one for each, and may "
          "add some in front.",
     "Which sizes are missing?"),
    ("batched-product",
         _R, r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), "
              r"(\d+)\]",
     "In the batched product {here} the second tensor should begin with [{0}, {1}] and begins with [{2}, {3}].",
     "Which of its axes are swapped or too long?"),
    ("vector-product",
         _R, r"inconsistent tensor size, expected tensor \[(\d+)\] and src \[(\d+)\]", "A product of two vectors "
              "needs as many "
     "numbers in both, and {here} has {0} and {1}.", "Which of the two is too long?"),
    ("matrix-vector",
         _R, r"size mismatch, got input \((\d+)\), mat \((\d+)x(\d+)\), vec \((\d+)\)", "A matrix of {1} rows and "
              "{2} columns "
     "meets a vector of {3} numbers in {here}; there must be as many numbers as columns.",
     "Which of the two is the wrong way round?"),
    ("product-axes",
         _R, r"(both arguments to (?:matmul|linear) need to be at least 1D|batch1 must be a 3D tensor|self must be a "
              r"matrix|"
     r"tensors must be 2-?D|mat2 must be a matrix|1D tensors expected|vector \+ matrix)", "The product {here} does "
          "not know what to do with "
     "tensors of so many axes.", "Which function multiplies tensors of the shapes you have?"),
    ("two-unknown-sizes",
         _R, r"only one dimension can be inferred", "With two sizes of -1 in one shape nobody could say how the "
              "numbers are "
     "shared between them.", "Which of the two do you know?"),
    ("negative-size",
         _R, r"negative dimension|invalid shape dimension (-\d+)|Trying to create tensor with negative",
              "A size on line {line} is "
     "below 0.", "Which subtraction comes out smaller than you thought?"),
    ("join-axes",
         _R, r"Tensors must have same number of dimensions: got (\d+) and (\d+)", "Only tensors with the same number "
              "of axes can be "
     "joined, and here one has {0} and another {1}.", "Which of them lacks an axis?"),
    ("join-nothing",
         "RuntimeError ValueError",
         r"expected a non-empty list of Tensors|stack expects a non-empty", "The list that line {line} "
     "joins is empty.", "What should have put tensors into it?"),
    ("join-numbers",
         _R, r"zero-dimensional tensor \(at position (\d+)\) cannot be concatenated", "A tensor that is a single "
              "number has no "
     "axis along which it could be joined.", "Which function puts single numbers side by side along a new axis?"),
    ("too-many-indices",
         _I, r"too many indices for tensor of dimension (\d+)", "{here} has more indices than the tensor has axes, "
              "which are "
     "{0}.", "Which index is one too many, or which axis was lost before?"),
    ("index-of-number",
         _I, r"invalid index of a 0-dim tensor", "This tensor is one single number, of the shape [], and cannot be "
              "indexed.",
     "What did you want to pick from?"),
    ("indices-apart",
         _I, r"shape mismatch: indexing tensors could not be broadcast together with shapes (\[[\d, ]*\]), (\[[\d, "
              r"]*\])",
     "The index tensors in {here} have the shapes {0} and {1}, which do not line up; "
     "together they name one place each.",
     "Should they have the same shape?"),
    ("mask-shape",
         _I, r"The shape of the mask (\[[\d, ]*\]) at index (\d+) does not match the shape of the indexed tensor "
              r"(\[[\d, ]*\])",
     "The mask has the shape {0} and the tensor it picks from {2}: "
     "along axis {1} they differ, and a mask says yes or no for each entry.",
     "What was the mask worked out from?"),
    ("permute-axes",
         _R, r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)", "`permute` wants the number of each axis "
              "just once, in the new order; the tensor has {0} axes and "
     "got {1} numbers.", "Which one is missing or too many?"),
    ("repeated-axis",
         _R, r"dims? (?:appears multiple times|specified multiple)|[Rr]epeated dim|duplicate dims",
              "The same axis is named twice on "
     "line {line}.", "Which one should the second be?"),
    ("split-sizes",
         _R, r"split_with_sizes expects split_sizes to sum exactly to (\d+) .*got split_sizes=(\[[\d, ]*\])",
              "The parts {1} must add "
     "up to the {0} that the axis has.", "Which of them is too large or too small?"),
    ("one-number-wanted",
         "RuntimeError ValueError",
         r"[Tt]ensor with (\d+) elements cannot be converted to Scalar|only one element tensors can be converted",
     "Line {line} wants one plain number, and the tensor has {0} of them.",
     "Which one do you mean, or what should be done with all of them first?"),
    ("repeat-axes",
         _R, r"Number of dimensions of repeat dims can not be smaller", "`repeat` needs a number for each axis of "
              "the tensor, and may "
     "have more in front; on line {line} it has fewer.", "How often should each axis be repeated?"),
    ("assigned-shape",
         _R, r"shape mismatch: value tensor of shape (\[[\d, ]*\]) cannot be broadcast to indexing result of shape "
              r"(\[[\d, ]*\])",
     "What is put into the tensor has the shape {0}, and the place for it {1}.",
     "Which of the two is not as you think?"),
    ("too-many-asked",
         _R, r"selected index k out of range", "On line {line} more of the largest values are asked for than there "
              "are along that "
     "axis.", "How many are there?"),
    ("slice-past-end",
         _R, r"start \((\d+)\) \+ length \((\d+)\) exceeds dimension size \((\d+)\)", "The piece that line {line} "
              "takes begins at {0} "
     "and is {1} long, and the axis has {2}.", "Where should it end?"),
    ("index-shape",
         _R, r"[Ii]ndex tensor must have the same number of dimensions as (\w+)|Size does not match at dimension "
              r"(\d+) expected index|"
     r"Index is supposed to be a vector|index_select\(\): Index", "The index on line {line} must have the axes that "
          "this function asks for, and has "
     "others.", "What does the documentation say about the index's shape?"),
    ("einsum",
         _R, r"^einsum\(\): (.{1,120})", "The letters of `einsum` on line {line} do not fit its tensors: {0}.",
              "Which letter stands for which "
     "axis of which tensor?"),
    ("weights-shape",
         _R, r"Given groups=|expected (?:\dD|input\[)|Expected \d+D .*input", "The layer on line {line} wants a "
              "tensor with other axes than it "
     "gets.", "In which order does it want them?"),
    ("empty-reduction",
         "RuntimeError IndexError",
         r"Expected reduction dim(?: \d+)? to (?:be specified|have non-zero size)|cannot perform reduction function",
     "The tensor on line {line} is empty, so there is nothing of which this could be the largest or smallest.",
     "Why is nothing left in it?"),
    ("same-shape-loss",
         "ValueError",
         r"Using a target size \(torch\.Size\((\[[\d, ]*\])\)\) that is different to the input size "
         r"\(torch\.Size\((\[[\d, ]*\])\)\)",
     "The loss compares number with number, and the predictions have the shape {1} and the targets {0}.",
     "Which axis is too many?"),
    ("flatten-range",
         _R, r"flatten\(\) has invalid args|unflatten|start_dim cannot come after", "The axes that line {line} joins "
              "or splits do not "
     "fit the tensor.", "Which axes does it have, counted from 0?"),
)  # fmt: skip

RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("broadcast",
         _R, r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
              _broadcast),
    ExplanationRule("broadcast-in-place",
         _R, r"output with shape (\[[\d, ]*\]) doesn't match the broadcast shape (\[[\d, ]*\])", _in_place),
    ExplanationRule("expand",
         _R, r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton "
              r"dimension (\d+)", _expand),
    ExplanationRule("matrix-product", _R, r"shapes cannot be multiplied \((\d+x\d+) and (\d+x\d+)\)", _matmul),
    ExplanationRule("view", _R, r"shape '(\[.{0,80}\])' is invalid for input of size (\d+)", _view),
    ExplanationRule("axis",
         _I, r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
              _dimension),
    ExplanationRule("row-of-tensor",
         _I, r"index (-?\d+) is out of bounds for (?:dimension|axis) (\d+) with size (\d+)", _bounds),
    ExplanationRule("join-sizes",
         _R, r"Sizes of tensors must match except in dimension \d+\. Expected (?:size )?(\d+) (?:in dimension \d+ "
              r")?but got (?:size )?(\d+)", _joined),
    ExplanationRule("stack-sizes",
         _R, r"stack expects each tensor to be equal size, but got \[([\d, ]*)\] at entry 0 and \[([\d, ]*)\] at "
              r"entry (\d+)",
         lambda s, m: (f"{s.called or 'To stack'} puts tensors of one shape side by side, and these differ: [{m[1]}] "
              f"comes first and [{m[2]}] at "
                       f"place {m[3]}.{s.details()} Why is that one of another size?")),
    ExplanationRule("targets",
         _V, r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)", _class_sizes),
    *(
        ExplanationRule(kind, types, pattern, _with_sizes(before, question))  # type: ignore[arg-type]
        for kind, types, pattern, before, question in _ROWS
    ),
)  # fmt: skip
