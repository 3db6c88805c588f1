"""What functions of torch demand of the tensors and numbers they are given."""

import ast
import re

from graders.judge.feedback.explanations.numbers import dtype_name
from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import KINDS, Scene, an, quoted, walk
from graders.judge.feedback.explanations.source import called, value_of, with_operands

_R, _T, _V, _I, _A = "RuntimeError", "TypeError", "ValueError", "IndexError", "AttributeError"
_MOVES = {"transpose", "permute", "t", "T", "mT", "swapaxes", "swapdims", "movedim", "expand", "expand_as", "unfold"}
_OF_OTHERS = {
    "astype": "arrays of numpy; a tensor changes its dtype with another method",
    "copy": "arrays and lists; a tensor has another word for a copy of its own",
    "append": "lists; a tensor has a fixed size",
    "extend": "lists; a tensor has a fixed size",
    "concatenate": "numpy; torch has a shorter word for it",
    "values": "dictionaries",
    "keys": "dictionaries",
    "items": "dictionaries",
    "cuda_": "no tensor",
    "array": "numpy",
    "fillna": "tables of pandas",
}


def _view(scene: Scene, _: re.Match[str]) -> str:
    mover, line = _moved(scene)
    by = (
        f"`{mover}`{f' on line {line}' if line and line != scene.line else ''} has changed"
        if mover
        else "something before has changed"
    )
    return (
        f"`view` on line {scene.line} looks at the numbers in the order in which they lie in memory, and {by} "
        f"the order "
        f"of the axes, so that they do not lie one after the other any more (not contiguous).{scene.details()} Which "
        f"other function makes the same shape and copies where it must, and is that the order you want?"
    )


def _moved(scene: Scene) -> tuple[str, int]:
    """The method or attribute that swapped axes, inside the expression or where its tensor was made."""
    func = scene.node.func if isinstance(scene.node, ast.Call) else scene.node
    owner = func.value if isinstance(func, ast.Attribute) else None
    made = value_of(scene, owner)
    for node in (owner, made.value if made is not None else None):
        for one in walk(node):
            if isinstance(one, ast.Attribute) and one.attr in _MOVES:
                return one.attr, one.end_lineno or one.lineno
    return "", 0


def _joined_one(scene: Scene, match: re.Match[str]) -> str:
    name = match[1]
    given = [quoted(one) for one in (scene.node.args if isinstance(scene.node, ast.Call) else [])][:3]
    many = f" ({', '.join(given)})" if len(given) > 1 else ""
    return (
        f"`{name}` takes its tensors together, as one list or tuple, and got a tensor by itself first{many}."
        f"{scene.details()} Which brackets put several tensors into a list?"
    )


def _joined_other(scene: Scene, match: re.Match[str]) -> str:
    kind = match[2]
    word = {"NoneType": "None", "int": "a plain number", "float": "a plain number", "ndarray": "a numpy array"}.get(
        kind, an(KINDS.get(kind, kind))
    )
    return (
        f"Everything in the list that {called(scene)} joins must be a tensor, and number {match[1]} (counted "
        f"from 0) is "
        f"{word}.{scene.details()} Where should it have become a tensor?"
    )


def _dtype_text(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"A dtype is a name of torch's own, and {called(scene)} on line {scene.line} got a text in quotes for it. In "
        f"which module do the dtypes stand?"
    )


def _dtype_called(scene: Scene, _: re.Match[str]) -> str:
    name = quoted(scene.node.func) if isinstance(scene.node, ast.Call) else scene.here
    return (
        f"{name} is a dtype, the name of a kind of number, and no function, so it cannot be called. What makes a "
        f"tensor of that kind, or changes one into it?"
    )


def _shape_called(scene: Scene, _: re.Match[str]) -> str | None:
    func = scene.node.func if isinstance(scene.node, ast.Call) else None
    if not isinstance(func, ast.Attribute) or func.attr != "shape":
        return None
    return (
        f"{quoted(func)} is a shape, a tuple of sizes, and no function: round brackets after it mean a call. "
        f"With which "
        f"brackets is an entry picked from a tuple?"
    )


def _other_word(scene: Scene, match: re.Match[str]) -> str | None:
    of = _OF_OTHERS.get(match[1])
    if of is None:
        return None
    node = scene.node.func if isinstance(scene.node, ast.Call) else scene.node
    what = (
        quoted(node.value)
        if isinstance(node, ast.Attribute) and node.attr == match[1]
        else "What stands before the dot"
    )
    return (
        f"{what} is a tensor, and `{match[1]}` belongs to {of}. What is it called for tensors, or should "
        f"this be something else?"
    )


def _training_word(scene: Scene, match: re.Match[str]) -> str | None:
    """`opt.backward()`, `loss.step()`."""
    whose = {
        "backward": "the loss, a tensor",
        "step": "an optimiser",
        "zero_grad": "an optimiser or a layer",
        "parameters": "a layer",
        "state_dict": "a layer or an optimiser",
        "train": "a layer",
        "eval": "a layer",
    }
    node = scene.node.func if isinstance(scene.node, ast.Call) else scene.node
    if (
        match[2] not in whose
        or not isinstance(node, ast.Attribute)
        or node.attr != match[2]
        or match[1] in ("NoneType", "type")
    ):
        return None
    if scene.classes(match[1]) or match[1].endswith(("function", "method", "builtin_function_or_method")):
        return None
    return (
        f"{quoted(node.value)} is {an(KINDS.get(match[1], match[1]))}, and `{match[2]}` belongs to {whose[match[2]]}. "
        f"Which of your names is that?"
    )


def _from_numpy(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"`from_numpy` takes an array of numpy, and on line {scene.line} it "
        f"got {an(match[1])}.{scene.details()} Which function makes a tensor of other things?"
    )


def _floats_only(scene: Scene, match: re.Match[str]) -> str:
    got = next((one for one in match.groups() if one), "")
    held = f" These are {dtype_name(got)}." if got else ""
    return (
        f"{called(scene)} works on floating-point numbers only.{held}{scene.details()} Where should they "
        f"become numbers with a point?"
    )


def _shape_entry(scene: Scene, match: re.Match[str]) -> str | None:
    """`x.shape[2]` of a tensor with two axes."""
    node = scene.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute) or node.value.attr != "shape":
        return None
    part = scene.part(node.value.value)
    if part is None or part.shape is None or part.type not in ("Tensor", "Parameter"):
        return None
    return (
        f"{quoted(node.value)} is {list(part.shape)}: {len(part.shape)} entries, numbered from 0, "
        f"and {quoted(node)} asks for "
        f"one past them. Which axis do you mean?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("view-of-moved", _R, r"view size is not compatible", _view),
    ExplanationRule(
        "join-one-tensor",
        _T,
        r"^(\w+)\(\): argument 'tensors' .{0,20}must be tuple of Tensors, not (?:Tensor|Parameter)",
        _joined_one,
    ),
    ExplanationRule(
        "join-other-kind", _T, r"^expected Tensor as element (\d+) in argument 0, but got (\w+)", _joined_other
    ),
    ExplanationRule("dtype-as-text", _T, r"argument 'dtype' .{0,20}must be torch\.dtype, not str", _dtype_text),
    ExplanationRule("dtype-called", _T, r"^'torch\.dtype' object is not callable", _dtype_called),
    ExplanationRule("shape-called", _T, r"^'torch\.Size' object is not callable", _shape_called),
    ExplanationRule("shape-entry", _I, r"^tuple index out of range", _shape_entry),
    ExplanationRule("word-of-others", _A, r"^'(?:Tensor|Parameter)' object has no attribute '(\w+)'", _other_word),
    ExplanationRule("word-of-training", _A, r"^'([\w.]+)' object has no attribute '(\w+)'", _training_word),
    ExplanationRule(
        "numpy-in-torch",
        _T,
        r"must be Tensor, not numpy\.ndarray|'numpy\.ndarray' and 'Tensor'|'Tensor' and 'numpy",
        with_operands(
            "{here} on line {line} mixes a numpy array and a tensor, and torch's functions take tensors only.",
            "Which of the two should it be throughout, and where is one made into the other?",
        ),
    ),
    ExplanationRule("from-numpy", _T, r"^expected np\.ndarray \(got (\w+)\)", _from_numpy),
    ExplanationRule(
        "mask-dtype",
        _R,
        r"^(masked_\w+|where)(?: only supports boolean masks, but got mask with dtype| expected condition to "
        r"be a boolean tensor, but got a tensor with dtype) (\w+)",
        lambda s, m: (
            f"A mask says yes or no for each entry, so its dtype is bool; the one that {called(s)} got on "
            f"line {s.line} has "
            f"dtype {dtype_name(m[2])}.{s.details()} Which comparison makes yes and no of these numbers?"
        ),
    ),
    ExplanationRule(
        "draw-too-many",
        _R,
        r"^cannot sample n_sample > prob_dist\.size\(-1\)",
        with_operands(
            "{called} draws without putting back, and more are asked for than there are entries along the last axis.",
            "Should the same one be drawn twice, and how many are there?",
        ),
    ),
    ExplanationRule(
        "draw-from-what",
        _R,
        r"^probability tensor contains either|^invalid multinomial distribution",
        with_operands(
            "{called} draws by shares: none may be below 0, infinite or nan, and their sum must be above 0.",
            "Are these shares already, or scores that something has to make shares of?",
        ),
    ),
    ExplanationRule(
        "draw-axes",
        _R,
        r"^prob_dist must be 1 or 2 dim",
        with_operands(
            "{called} takes one row of shares or a matrix of them, and got another number of axes.",
            "Which axis is one too many?",
        ),
    ),
    ExplanationRule(
        "padding-pairs",
        _R,
        r"^Padding length (?:must be divisible by 2|should be less)",
        with_operands(
            "`pad` takes two numbers for each axis, before and after, beginning with the last axis; what it "
            "got on line {line} does not come out so.",
            "Which axis should become longer, and on which side?",
        ),
    ),
    ExplanationRule(
        "two-axes-wanted",
        _R,
        r"^(\w+): input tensor must have at least 2 dimensions",
        with_operands(
            "`{0}` works on a matrix, and got a tensor with fewer than two axes.", "Which shape should it have?"
        ),
    ),
    ExplanationRule(
        "axes-wanted",
        _R,
        r"^(\w+): Expected (\d)-D argument (\w+), but got (\d)-D",
        with_operands(
            "`{0}` wants a tensor with {1} axis or axes and got one with {3}.",
            "Which axis is too many, or which other product do you mean?",
        ),
    ),
    ExplanationRule(
        "columns-differ",
        _R,
        r"^X1 and X2 must have the same number of columns\. X1: (\d+) X2: (\d+)",
        with_operands(
            "{called} compares rows with rows, so both need as many numbers in a row: here they are {0} and {1}.",
            "Which of the two is not as you think?",
        ),
    ),
    ExplanationRule(
        "floats-only",
        _R,
        r"expected common dtype to be floating point, yet common dtype is (\w+)|Expected a floating point or "
        r"complex tensor as input\. Got (\w+)|only support floating point and complex dtypes",
        _floats_only,
    ),
    ExplanationRule(
        "square-wanted",
        _R,
        r"must be batches of square matrices, but they are (\d+) by (\d+)",
        with_operands(
            "{called} wants a matrix with as many rows as columns, and got {0} by {1}.",
            "Which of the two sizes is right?",
        ),
    ),
    ExplanationRule(
        "no-inverse",
        "_LinAlgError LinAlgError",
        r"singular|not invertible",
        with_operands(
            "The matrix that {called} got has no inverse: one of its rows is made of the others (singular).",
            "Where do its numbers come from?",
        ),
    ),
    ExplanationRule(
        "spread-below-zero",
        _R,
        r"^normal expects (?:all elements of )?std >= 0\.0(?:, but found std (-?[\d.]+))?",
        with_operands("The spread (`std`) of {called} is below 0.", "In which order does it take mean and spread?"),
    ),
    ExplanationRule(
        "init-axes",
        _V,
        r"^Fan in and fan out can not be computed",
        with_operands(
            "{called} looks at how many numbers go in and out, so it needs a tensor with at least two axes, "
            "and got one with fewer.",
            "Is it a bias, and how should that begin?",
        ),
    ),
    ExplanationRule(
        "data-kind",
        _T,
        r"^Variable data has to be a tensor, but got (\w+)",
        with_operands(
            "The numbers (`data`) of a tensor are a tensor, and on line {line} they would be of the kind {0}.",
            "What makes a tensor of it?",
        ),
    ),
    ExplanationRule(
        "data-dtype",
        _R,
        r"^data set to a tensor that requires gradients must be floating point",
        with_operands(
            "A tensor that learns holds floating-point numbers, and line {line} puts others into it.",
            "Where should they become numbers with a point?",
        ),
    ),
    ExplanationRule(
        "no-argument",
        _T,
        r"^(?:\w+\.)?(\w+)\(\) takes no arguments \((\d+) given\)",
        with_operands(
            "`{0}` takes nothing in its brackets and got {1} on line {line}.",
            "Should an entry be picked before it is called?",
        ),
    ),
)
