"""Optimisers, schedulers and saved tables that refuse what they are given."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule, Words
from graders.judge.feedback.explanations.scene import KINDS, Scene, an, quoted, walk
from graders.judge.feedback.explanations.source import arguments, called, is_uncalled, made_on, value_of, with_operands
from graders.student.failing_expression import dotted_name

_R, _T, _V = "RuntimeError", "TypeError", "ValueError"
_OPTIMISERS = {
    "SGD", "Adam", "AdamW", "SparseAdam", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
    "LBFGS",
}  # fmt: skip
_MOST_KEYS = 3


def _is_optimiser(scene: Scene) -> bool:
    return scene.callee.rpartition(".")[2] in _OPTIMISERS


def _owner(scene: Scene) -> tuple[str, str]:
    """The optimiser whose method was called, with the line that made it, and the name of its class."""
    node = scene.node.func if isinstance(scene.node, ast.Call) else None
    owner = node.value if isinstance(node, ast.Attribute) else None
    part = scene.part(owner)
    name = part.type if part is not None else ""
    return (f"{quoted(owner)}{made_on(scene, owner)}" if owner is not None else "The optimiser"), name


def _sparse_made(scene: Scene) -> str:
    """Where the text makes a sparse table."""
    for node in walk(scene.tree):
        if isinstance(node, ast.keyword) and node.arg == "sparse" and getattr(node.value, "value", None) is True:
            return (
                f" A table is made with `sparse=True` on line {node.value.lineno}, so only the rows that "
                f"were used have a gradient."
            )
    return " A table that is made with `sparse=True` gets such gradients."


def _sparse(scene: Scene, match: re.Match[str]) -> str:
    who, kind = _owner(scene)
    return (
        f"{who} is {an(kind or match[1])} and cannot work with sparse gradients, those that hold only some rows."
        f"{_sparse_made(scene)} Which of the two should change: how the table is made, or which optimiser there is?"
    )


def _sparse_decay(scene: Scene, _: re.Match[str]) -> str | None:
    if not scene.callee.endswith(".step"):
        return None
    return (
        f"{_owner(scene)[0]} wants to add something for every row (such as `weight_decay`) to a sparse gradient, which "
        f"holds only some rows.{_sparse_made(scene)} Is either of the two needed?"
    )


def _dense(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{_owner(scene)[0]} is {an(match[1])}: it works with sparse gradients only, and the tables here have "
        f"ordinary (dense) ones. How would a table have to be made, or which optimiser takes ordinary ones?"
    )


def _nothing(scene: Scene, _: re.Match[str]) -> str:
    plain = _plain_tables(scene)
    what = quoted(scene.node.args[0]) if isinstance(scene.node, ast.Call) and scene.node.args else "the list"
    return (
        f"The optimiser on line {scene.line} was given nothing to change: {what} holds no parameters, it is "
        f"empty.{plain} Where "
        f"does your model keep its tables, and would `nn.Module` find them there as parameters?"
    )


def _plain_tables(scene: Scene) -> str:
    """An attribute of the student's layers that holds a plain tensor, or layers in a plain list."""
    for one in walk(scene.tree):
        if not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Call | ast.List | ast.ListComp | ast.Dict):
            continue
        name = next((dotted_name(target) for target in one.targets), None) or ""
        maker = dotted_name(one.value.func) or "" if isinstance(one.value, ast.Call) else "a list"
        if name.startswith("self.") and maker.startswith(
            ("torch.rand", "torch.zeros", "torch.ones", "torch.empty", "torch.tensor")
        ):
            return f" `{name}` (line {one.lineno}) is a plain tensor of `{maker}`."
        if name.startswith("self.") and not isinstance(one.value, ast.Call) and _holds_layers(one.value):
            word = "dictionary" if isinstance(one.value, ast.Dict) else "list"
            return f" `{name}` (line {one.lineno}) is a plain Python {word} of layers."
    return ""


def _holds_layers(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and (dotted_name(one.func) or "").startswith("nn.") for one in ast.walk(node))


def _not_leaf(scene: Scene, _: re.Match[str]) -> str:
    given = [one for one in arguments(scene.node) if value_of(scene, one) is not None]
    made = value_of(scene, given[0]) if given else None
    what = f"{quoted(given[0])} is" if given and made else "is given"
    where = f", worked out on line {made.lineno}" if made else ""
    return (
        f"The optimiser on line {scene.line} can only change tensors at the beginning of a computation (leaves, such "
        f"as parameters), and {what} a result{where}. Which table was it made of?"
    )


def _wrong_tensors(scene: Scene, match: re.Match[str]) -> str:
    given = quoted(scene.node.args[0]) if isinstance(scene.node, ast.Call) and scene.node.args else "what it gets"
    got = (match[1] or match[2]).rpartition(".")[2]
    if match[2]:
        word = "one tensor by itself" if got.endswith("Tensor") or got == "Parameter" else an(KINDS.get(got, got))
        return (
            f"An optimiser is given many tensors: a list, or what a layer's `parameters()` gives; {given} "
            f"on line {scene.line} is {word}. What makes a list of it, or which layer does it belong to?"
        )
    word = "a text, such as a name" if got == "str" else an(KINDS.get(got, got))
    return (
        f"An optimiser changes tensors (parameters), and among {given} on line {scene.line} there is {word}. Which "
        f"method of a layer gives the tensors that learn?"
    )


def _not_a_list(scene: Scene, match: re.Match[str]) -> str | None:
    if not _is_optimiser(scene) or not isinstance(scene.node, ast.Call) or not scene.node.args:
        return None
    given = scene.node.args[0]
    if is_uncalled(scene, given):
        return (
            f"{scene.called} on line {scene.line} goes through parameters, and {quoted(given)} is the method itself, "
            f"which was not called. Are its round brackets missing?"
        )
    return (
        f"{scene.called} on line {scene.line} goes through the parameters that it is to change, and {quoted(given)} is "
        f"{_what(scene, given, match[1])}. Which method of a layer gives its parameters?"
    )


def _what(scene: Scene, node: ast.expr, kind: str) -> str:
    part = scene.part(node)
    is_layer = part is not None and part.shape is not None and part.type not in ("Tensor", "Parameter")
    return f"{an(kind)}, the layer itself" if is_layer or scene.classes(kind) else an(KINDS.get(kind, kind))


def _setting_text(scene: Scene, match: re.Match[str]) -> str | None:
    if not _is_optimiser(scene):
        return None
    texts = [one for one in getattr(scene.node, "keywords", []) if isinstance(getattr(one.value, "value", None), str)]
    which = (
        f"`{texts[0].arg}={texts[0].value.value!r}`" if texts and isinstance(texts[0].value, ast.Constant) else "one"
    )
    return (
        f"The settings of {scene.called} on line {scene.line} are numbers, and {which} is a text: what stands in "
        f"quotes is no number. What should it be?"
    )


def _setting(scene: Scene, match: re.Match[str]) -> str:
    name = {"learning rate": "The learning rate (`lr`)"}.get(
        match[1], f"`{match[1].removesuffix(' value').removesuffix(' parameter')}`"
    )
    return (
        f"{name} of {called(scene)} on line {scene.line} is {match[2][:20]}, and that is outside of what it "
        f"may be: such settings are "
        f"not below 0, and shares such as betas lie under 1. Which number was meant?"
    )


def _loading(scene: Scene, match: re.Match[str]) -> str:
    """`Error(s) in loading state_dict for Linear: …`."""
    text = scene.message
    layer = (
        scene.node.func.value
        if isinstance(scene.node, ast.Call) and isinstance(scene.node.func, ast.Attribute)
        else None
    )
    who = (
        f"{quoted(layer)} ({an(match[1])}{made_on(scene, layer).replace(' (made', ', made').rstrip(')')})"
        if layer is not None
        else an(match[1])
    )
    missing = _keys(re.search(r"Missing key\(s\) in state_dict: ([^\n]{1,300})", text))
    unexpected = _keys(re.search(r"Unexpected key\(s\) in state_dict: ([^\n]{1,300})", text))
    size = re.search(
        r"size mismatch for ([\w.]{1,80}): copying a param with shape torch\.Size\((\[[\d, ]{0,60}\])\) from "
        r"checkpoint, the shape in current model is torch\.Size\((\[[\d, ]{0,60}\])\)",
        text,
    )
    said = []
    if missing:
        said.append(f"{who} needs {missing}, and what is loaded has no entry of that name (missing)")
    if unexpected:
        said.append(
            f"{'it' if said else 'what is loaded'} has {unexpected}, which {'the layer' if said else who} does "
            f"not know (unexpected)"
        )
    if size:
        said.append(
            f"`{size[1]}` has the shape {size[2]} in what is loaded, and {size[3]} "
            f"in {who if not said else 'the layer'}"
        )
    if not said:
        said.append(
            f"what is loaded does not fit into {who}: each entry must be a tensor under the name that the "
            f"layer has for it"
        )
    sentence = "; ".join(said)
    question = (
        "Which of the two shapes is the one you meant, and do the axes stand in the same order?"
        if size and not (missing or unexpected)
        else "Was the layer made in the same way as the one that the entries are from?"
    )
    return f"{sentence[:1].upper()}{sentence[1:]}. {question}"


def _keys(found: re.Match[str] | None) -> str:
    keys = re.findall(r'"([\w.]{1,80})"', found[1]) if found else []
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    return ", ".join(f"`{one}`" for one in keys[:_MOST_KEYS]) + more


def _state_kind(scene: Scene, match: re.Match[str]) -> str:
    got = match[1].rpartition(".")[2]
    word = {"str": "a text, such as a file's name", "list": "a list"}.get(got, an(got))
    return (
        f"`load_state_dict` on line {scene.line} takes a dictionary, names and their tensors, and got {word}. What "
        f"gives such a dictionary of a layer's tables?"
    )


def _when(fits: object, words: Words) -> Words:
    return lambda s, m: words(s, m) if fits(s) else None  # type: ignore[operator]


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("sparse-gradient", _R, r"^(\w+) does not support sparse gradients", _sparse),
    ExplanationRule("sparse-decay", _R, r"^add\(sparse, dense\) is not supported", _sparse_decay),
    ExplanationRule("dense-gradient", _R, r"^(\w+) does not support dense gradients", _dense),
    ExplanationRule("nothing-to-optimise", _V, r"optimizer got an empty parameter list", _nothing),
    ExplanationRule("optimise-no-leaf", _V, r"can't optimize a non-leaf Tensor", _not_leaf),
    ExplanationRule(
        "optimise-no-tensor",
        _T,
        r"optimizer can only optimize Tensors, but one of the params is ([\w.]+)|params argument given to the "
        r"optimizer should be an iterable of Tensors or dicts, but got ([\w.]+)",
        _wrong_tensors,
    ),
    ExplanationRule("optimise-no-list", _T, r"^'([\w.]+)' object is not iterable", _not_a_list),
    ExplanationRule(
        "optimiser-setting-text", _T, r"^'<=?' not supported between instances of '\w+' and 'str'", _setting_text
    ),
    ExplanationRule(
        "optimiser-setting",
        _V,
        r"^Invalid (learning rate|[\w ]{1,40}?)(?: at index \d)?: (.{1,40})$",
        _when(_is_optimiser, _setting),
    ),
    ExplanationRule(
        "optimiser-nesterov",
        _V,
        r"^Nesterov momentum requires",
        with_operands(
            "Nesterov's way in {called} needs a `momentum` above 0, and its `dampening` to be 0.",
            "Which momentum did you want?",
        ),
    ),
    ExplanationRule(
        "parameters-twice",
        _V,
        r"some parameters appear in more than one parameter group",
        with_operands(
            "The same table is in two groups that {called} is given: it could not know by which settings to change it.",
            "In which of the two should it be?",
        ),
    ),
    ExplanationRule(
        "no-optimiser",
        _T,
        r"^(\w+) is not an Optimizer",
        with_operands(
            "{called} plans the learning rate of an optimiser, and got `{0}`, which is none.",
            "Which name holds the optimiser?",
        ),
    ),
    ExplanationRule("state-dict", _R, r"Error\(s\) in loading state_dict for (\w+)", _loading),
    ExplanationRule("state-dict-kind", _T, r"Expected state_dict to be dict-like, got <class '([\w.]+)'>", _state_kind),
)
