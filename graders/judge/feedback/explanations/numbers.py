"""Kinds of numbers: ids that are not whole or not there, types that do not go together, tensors that cannot be made."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, quoted
from graders.judge.values.decode_observation import Observed

_R, _I, _T, _V = "RuntimeError", "IndexError", "TypeError", "ValueError"
_NAMES = {
    "Long": "int64", "Int": "int32", "Float": "float32", "Double": "float64", "Half": "float16", "Bool": "bool",
    "Byte": "uint8", "Short": "int16", "Char": "int8", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
    "BFloat16": "bfloat16",
    "FloatTensor": "float32",
         "DoubleTensor": "float64", "BoolTensor": "bool", "LongTensor": "int64", "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "float": "float32",
         "double": "float64", "c10::Half": "float16", "long": "int64", "long int": "int64", "bool": "bool",
}  # fmt: skip


def dtype_name(word: str) -> str:
    """The name that students know of a dtype that a message of torch names in another way."""
    bare = word.removeprefix("torch.").removeprefix("CPU").removesuffix("Type").removesuffix("Tensor")
    return _NAMES.get(bare) or _NAMES.get(word) or bare.lower()


def looked_up(scene: Scene) -> tuple[Observed, Observed] | None:
    """The ids and the table of a failed look-up."""
    ids, table = scene.fault.operands.get("input"), scene.fault.operands.get("weight")
    return (ids, table) if ids is not None and table is not None else None


def _out_of_range(scene: Scene, _: re.Match[str]) -> str:
    found = looked_up(scene)
    table_name = _table_name(scene) or "this table"
    if found is None or found[0].tensor is None or not found[0].tensor.numel() or not found[1].shape:
        return (
            f"An id is larger than the last row of the table it is looked up in on line {scene.line}. "
            "How many rows has that table?"
        )
    ids, rows = found[0], found[1].shape[0]
    assert ids.tensor is not None  # noqa: S101  looked at above
    values = ids.tensor.double().nan_to_num()
    low, high = int(values.min()), int(values.max())
    wrong = f"go up to {high}" if high >= rows else f"go down to {low}"
    numbered = f"has {rows} rows, numbered 0 to {rows - 1}"
    name = _ids_name(scene, ids)
    whose = f"The ids in {name}" if name else "The ids you look up"
    if low == 1 and high == rows and len(ids.shape) == 1:
        return (
            f"{whose} begin at 1 and {wrong}, but {table_name} {numbered}: one past its last row. "
            "What number does the first row have?"
        )
    return (
        f"{whose} have the shape {list(ids.shape)} and {wrong}, but {table_name} {numbered}. "
        "Are these the ids this table is meant for, and does it have a row for each?"
    )


def _table_name(scene: Scene) -> str:
    name = scene.callee
    part = scene.part(name) if name else None
    return f"`{name}`" if part is not None and part.type in ("Embedding", "EmbeddingBag") else ""


def _ids_name(scene: Scene, ids: Observed) -> str:
    """The name under which just these ids were handed over."""
    if not isinstance(scene.node, ast.Call):
        return ""
    for given in scene.node.args:
        part = scene.part(given)
        if part is not None and part.shape == ids.shape and part.range is not None:
            return quoted(given)
    return ""


def _classes(scene: Scene, _: re.Match[str]) -> str:
    ranges = [
        f" `{name}` goes up to {part.range[1]}."
        for name, part in scene.fault.parts.items()
        if part.range and part.shape
    ]
    return (
        f"`one_hot` on line {scene.line} is given fewer classes than the ids need: "
        f"an id of n needs at least n + 1 of them, because counting begins at 0.{ranges[0] if ranges else ''} "
        "How many different ids can there be?"
    )


def _negative(scene: Scene, _: re.Match[str]) -> str:
    ranges = [
        f" `{name}` goes down to {part.range[0]}."
        for name, part in scene.fault.parts.items()
        if part.range and part.range[0] < 0
    ]
    return f"`one_hot` needs ids of at least 0.{ranges[0] if ranges else ''} Where does a negative one come from?"


def _same_dtype(scene: Scene, match: re.Match[str]) -> str:
    first, second = (dtype_name(one) for one in match.groups()[:2])
    return (
        "A product needs numbers of one type on both sides, "
        f"and {scene.here} has {first} and {second}.{scene.details()} "
        "Which of the two should be converted?"
    )


def _expected(scene: Scene, match: re.Match[str]) -> str:
    wanted, got = dtype_name(match[1] or match[3]), dtype_name(match[2] or match[4])
    more = (
        " Class numbers of a loss are whole numbers; probabilities have a point."
        if "entropy" in scene.callee or "loss" in scene.callee.lower()
        else ""
    )
    return (
        f"{scene.called or f'Line {scene.line}'} wants numbers of type {wanted} here "
        f"and got {got}.{more}{scene.details()} Which tensor is that?"
    )


def _bits(scene: Scene, match: re.Match[str]) -> str:
    if match[1].startswith("xor"):
        return "`^` does not raise to a power in Python, it works on single bits. Powers are written `**`."
    return (
        f"The signs `&`, `|` and `~` on line {scene.line} join true and false or whole numbers, "
        "and there are fractions on a side. "
        "Is a comparison missing its round brackets?"
    )


def _not_implemented(scene: Scene, match: re.Match[str]) -> str:
    got = dtype_name(match[2])
    return (
        f"{scene.here} cannot be worked out on {got} numbers.{scene.details()} "
        f"Which type of numbers does it need, and where did yours become {got}?"
    )


def _floating_wanted(scene: Scene, _: re.Match[str]) -> str:
    return (
        f"{scene.called or 'This function'} gives numbers with a point and works on such only; "
        f"these are whole numbers or true and false.{scene.details()} "
        "Where should they become floating-point numbers?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("id-out-of-range", _I, r"index out of range in self", _out_of_range),
    ExplanationRule("table-axes", _R, r"'weight' must be 2-D", lambda s, _: (
        "A table to look up in has two axes, rows and the numbers in each, "
        f"and the one that {s.called or 'line ' + str(s.line)} got has another number of axes.{s.details()} "
        "In which order does this function want ids and table?")),
    ExplanationRule("one-hot-classes", _R, r"Class values must be smaller than num_classes", _classes),
    ExplanationRule("one-hot-negative", _R, r"Class values must be non-negative", _negative),
    ExplanationRule("index-is-no-index",
         "IndexError TypeError",
         r"new\(\): invalid data type|only integers, slices|only integer tensors of a single element|only integer "
         r"scalar arrays", lambda s, _: (None if not isinstance(s.node, ast.Subscript) else
        f"What stands in the brackets of {s.here} is no index: "
        f"whole numbers, slices, masks and tensors of whole numbers are.{s.details()} "
        "Which place do you mean?")),
    ExplanationRule("index-number",
         _R, r"(\w+)\(\): Expected.{0,40}index|index (-?\d+) is out of bounds for dimension|index out of range|"
              r"index_select.*out of", lambda s, m: (
        f"An index on line {s.line} is larger than what it points into, or below 0.{s.details()} "
        "Which numbers does it hold?")),
    ExplanationRule("product-types",
         _R, r"expected m1 and m2 to have the same dtype, but got: ([\w:]+(?: int)?) != ([\w:]+(?: int)?)",
              _same_dtype),
    ExplanationRule("product-types-2",
         _R, r"(?:mat1 and mat2 must have the same dtype, but got|dot : expected both vectors to have same dtype, "
              r"but found) (\w+) and (\w+)", _same_dtype),
    ExplanationRule("other-type-wanted",
         _R, r"expected scalar type (\w+) but found (\w+)|expected target dtype to be (Long) or Byte, but got (\w+)",
              _expected),
    ExplanationRule("bit-operator",
         "RuntimeError NotImplementedError",
         r"\"bitwise_(\w+)\" not implemented", _bits),
    ExplanationRule("kind-not-implemented",
         "RuntimeError NotImplementedError", r"\"(\w+)\" not implemented for '(\w+)'", _not_implemented),
    ExplanationRule("mean-of-whole",
         _R, r"could not infer output dtype|Input dtype must be either a floating point|expects? (?:a )?floating "
              r"point|only supports floating", _floating_wanted),
    ExplanationRule("result-type",
         _R, r"result type (\w+) can't be cast to the desired output type (\w+)", lambda s, m: (
        f"{s.here} would change {dtype_name(m[2])} numbers in place, "
        f"and the result is {dtype_name(m[1])}, which does not fit into them.{s.details()} "
        "Should the result have a name of its own?")),
    ExplanationRule("bool-minus", _R, r"Subtraction, the `-` operator, with (?:a|two) bool", lambda s, _: (
        f"True and false are not subtracted in torch.{s.details()} Is it “not” that you want, or numbers?")),
    ExplanationRule("bool-negative",
         _R, r"Negation, the `-` operator, on a bool", "A minus before true and false means nothing in torch. Is it "
              "“not” that "
         "you want on line {line}?"),
    ExplanationRule("whole-cannot-learn",
         _R, r"[Oo]nly Tensors of floating point and complex dtype can require gradients", lambda s, _: (
        f"Only floating-point numbers can learn, and those on line {s.line} are whole numbers: "
        f"between 3 and 4 there would be no small step.{s.details()} "
        "How could they be made with a point?")),
    ExplanationRule("ragged",
         _V, r"expected sequence of length (\d+) at dim (\d+) \(got (\d+)\)", "A tensor is a full box of numbers, "
              "and these lists are of different "
         "lengths: one has {0} and another {2}. Should the short ones be filled up, or cut?"),
    ExplanationRule("tensor-of-text",
         _V, r"too many dimensions '(\w+)'", "A tensor holds numbers, and line {line} gives it texts ({0}). Which "
              "numbers stand for "
         "them?"),
    ExplanationRule("tensor-of-other",
         "TypeError RuntimeError ValueError",
         r"new\(\): (?:invalid data type|data must be)|[Cc]ould not infer dtype of ([\w.]+)|can't convert "
         r"np\.ndarray of type|not a sequence", lambda s, m: (
        "A tensor is made of numbers and lists of numbers, "
        f"and what line {s.line} gives it is something else{f' ({m[1]})' if m[1] else ''}.{s.details()} "
        "What is in it?")),
    ExplanationRule("list-of-tensors",
         _V, r"only one element tensors can be converted to Python scalars", lambda s, _: (
        f"`torch.tensor` makes a tensor of plain numbers, and this list holds whole tensors.{s.details()} "
        "Which function puts tensors together?")),
    ExplanationRule("dtype-unknown",
         _T, r"data type '?(.{1,30}?)'? not understood|dtype must be|invalid dtype", "The type of numbers that is "
              "asked for on line {line} is "
         "none that there is. Types are names of torch, as in `torch.` and then the type."),
    ExplanationRule("range-of-numbers",
         _R, r"upper bound and lower bound inconsistent|from=\d+ .*expected to be less|random_ expects 'from' to be "
              r"less", lambda s, _: (
        f"The lower end on line {s.line} is above the upper one, or there is nothing between them.{s.details()} "
        "In which order do they come?")),
    ExplanationRule("embedding-sizes",
         "AssertionError",
         r"Padding_idx must be within|padding_idx must be within", "`padding_idx` names a row of the table, and "
              "there is no such row. "
         "How are the rows numbered?"),
)  # fmt: skip
