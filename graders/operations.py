"""
Operations of torch by one name each, however they are called.

`x.softmax(-1)`, `torch.special.softmax(x, -1)`, `nn.Softmax(-1)(x)` and `torch.ops.aten._softmax` are one operation
under four names. What is compared is what is left of a name without its module, underscores and the words that mark a
variant of the same computation (`native_layer_norm`, `nll_loss_forward`). A product of matrices has many names of its
own and is known under each of them and as `matmul`. What only the way back through a graph runs is no operation of the
program's.
"""

import re

_ATEN = re.compile(r"(?:torch\.ops\.)?aten(?:::|\.)([A-Za-z0-9_]+)")
_BEFORE = ("special", "native", "safe", "functional")
_AFTER = ("forward", "loss")
_ALIASES = {
    "expit": "sigmoid", "absolute": "abs", "negative": "neg", "multiply": "mul", "subtract": "sub", "divide": "div",
    "truedivide": "div", "truediv": "div", "concat": "cat", "concatenate": "cat", "clip": "clamp", "index": "getitem",
    "swapaxes": "transpose", "swapdims": "transpose", "invert": "bitwisenot",
}  # fmt: skip
_PRODUCTS = {"matmul", "mm", "bmm", "mv", "dot", "vdot", "addmm", "addmv", "baddbmm", "addbmm"}
_ATTENTION = "scaleddotproductattention"


def operations(name: str) -> frozenset[str]:
    """
    What an operation is known as.

    Args:
        name: as it is called (`torch.nn.functional.softmax`, `torch.Tensor.__matmul__`), or as torch itself names what
            runs in the end (`aten::_softmax`).
    """
    aten = _ATEN.match(name)
    parts = [part for part in name.split(".") if part != "__get__"]
    plain = (aten[1] if aten else parts[-1] if parts else "").replace("_", "").lower()
    if "backward" in plain and plain != "backward":
        return frozenset()
    for word in _BEFORE:
        plain = plain.removeprefix(word) or plain
    for word in _AFTER:
        plain = plain.removesuffix(word) or plain
    if plain.startswith("scaleddotproduct"):
        plain = _ATTENTION
    plain = _ALIASES.get(plain, plain)
    return frozenset({plain, "matmul"} if plain in _PRODUCTS else {plain})


def operation(name: str) -> str:
    """The one operation that an author means."""
    known = operations(name)
    return min(known - {"matmul"}, default="matmul") if known else ""
