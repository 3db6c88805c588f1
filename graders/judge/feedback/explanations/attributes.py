"""What something does not have: a misspelt attribute, one of another kind of thing, or of None."""

import ast
import re

import numpy as np
import torch

from graders.judge.feedback.explanations.rules import ExplanationRule, nearest
from graders.judge.feedback.explanations.scene import Scene, an, quoted, walk
from graders.judge.feedback.explanations.source import no_return

_NO_ATTRIBUTE = r"^'([\w.]+)' object has no attribute '(\w+)'"
_NO_MODULE_ATTRIBUTE = r"^module '([\w.]+)' has no attribute '(\w+)'"
_PLACES = {
    "torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional, "torch.optim": torch.optim,
    "torch.nn.init": torch.nn.init, "torch.linalg": torch.linalg,
}  # fmt: skip
_LIBRARIES = ("torch", "nn", "F", "np", "math", "random", "optim")
_KNOWN_TYPES: dict[str, type] = {
    "Tensor": torch.Tensor, "Parameter": torch.Tensor, "list": list, "dict": dict, "str": str, "tuple": tuple,
         "set": set,
    "int": int, "float": float, "ndarray": np.ndarray, "Embedding": torch.nn.Embedding, "Linear": torch.nn.Linear,
    "Sequential": torch.nn.Sequential, "ModuleList": torch.nn.ModuleList, "bool": bool, "Size": torch.Size,
}  # fmt: skip
_GIVES_NONE = {
    "print": "prints and hands back None", "append": "changes the list itself and hands back None",
    "extend": "changes the list itself and hands back None", "sort": "sorts the list itself and hands back None",
    "reverse": "turns the list itself round and hands back None",
         "update": "changes the thing itself and hands back None",
    "backward": "fills in gradients and hands back None", "step": "changes the tables and hands back None",
    "zero_grad": "clears gradients and hands back None", "insert": "changes the list itself and hands back None",
    "remove": "changes the thing itself and hands back None", "add": "changes the set itself and hands back None",
    "clear": "empties the thing itself and hands back None", "shuffle": "shuffles the list itself and hands back None",
}  # fmt: skip


def _owner(scene: Scene) -> ast.expr | None:
    """The expression whose attribute was asked for."""
    node = scene.node
    if isinstance(node, ast.Call):
        node = node.func
    return node.value if isinstance(node, ast.Attribute) else None


def _owner_told(scene: Scene, fallback: str) -> str:
    owner = _owner(scene)
    return quoted(owner) if owner is not None else fallback


def none_from(scene: Scene, owner: ast.expr | None) -> str:
    """Why something is None, as far as the text shows it: a sentence with a space before it, or nothing."""
    call: ast.expr | None = owner
    where = ""
    if isinstance(owner, ast.Name) and (line := scene.bound_before(owner.id)):
        call, where = _assigned(scene, owner.id, line), f" on line {line}"
    if not isinstance(call, ast.Call):
        if isinstance(call, ast.Constant) and call.value is None and where:
            return f" It was made None{where}."
        return ""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if does := _GIVES_NONE.get(name):
        return f" `{name}(…)`{where} {does}."
    return no_return(scene, call)


def _assigned(scene: Scene, name: str, line: int) -> ast.expr | None:
    for node in walk(scene.tree):
        if (
            isinstance(node, ast.Assign)
            and node.lineno == line
            and any(getattr(one, "id", "") == name for one in node.targets)
        ):
            return node.value
    return None


def _of_none(scene: Scene, match: re.Match[str]) -> str | None:
    owner = _owner(scene)
    if match[1] != "NoneType":
        return None
    if isinstance(owner, ast.Attribute) and owner.attr == "grad":
        return (
            f"`{quoted(owner)[1:-1]}` is None: no gradient has arrived there. "
            "It is filled by `backward()`, for leaf tensors that require a gradient. "
            "Did that run before this line, and did this tensor take part?"
        )
    what = _owner_told(scene, "What stands before the dot")
    return (
        f"{what} is None on line {scene.line}, and None has no `{match[2]}`.{none_from(scene, owner)} "
        "Which line should have made it something else?"
    )


def _shadowed(scene: Scene, match: re.Match[str]) -> str | None:
    """A module's name that now stands for something else."""
    owner = _owner(scene)
    if not isinstance(owner, ast.Name) or owner.id not in _LIBRARIES:
        return None
    line = scene.bound_before(owner.id)
    imports = (one for one in walk(scene.tree) if isinstance(one, ast.Import | ast.ImportFrom))
    is_import = any(one.lineno == line for one in imports)
    if line is None or is_import:
        return None
    kind = match[1].rpartition(".")[2]
    return (
        f"Line {line} gives the name `{owner.id}` to something else, "
        f"{an(kind)}, so from there on `{owner.id}` is no longer the library and has no `{match[2]}`. "
        "What other name could that value have, or does it need one at all?"
    )


def _elsewhere(name: str, place: str) -> str | None:
    return next((other for other, module in _PLACES.items() if other != place and name in vars(module)), None)


def _module_other_place(_: Scene, match: re.Match[str]) -> str | None:
    other = _elsewhere(match[2], match[1])
    if other is None or match[1] not in (*_PLACES, "torch.nn.modules"):
        return None
    return (
        f"`{match[1]}` has nothing called `{match[2]}`: that one is in `{other}`. "
        "How is it reached from the names that you have?"
    )


def _module_misspelt(_: Scene, match: re.Match[str]) -> str | None:
    places: dict[str, object] = {**_PLACES, "numpy": np}
    module = places.get(match[1])
    meant = nearest(match[2], (one for one in vars(module) if not one.startswith("_"))) if module is not None else None
    return (
        f"`{match[1]}` has nothing called `{match[2]}`, but it has `{meant}`. Is that what you mean?" if meant else None
    )


def _layer_as_tensor(scene: Scene, match: re.Match[str]) -> str | None:
    kind = _KNOWN_TYPES.get(match[1])
    if kind is None or not issubclass(kind, torch.nn.Module) or not hasattr(torch.Tensor, match[2]):
        return None
    return (
        f"{_owner_told(scene, 'This')} is {an(match[1])}, a layer, and only tensors have `{match[2]}`. "
        "A layer gives a tensor when it is called; its own numbers are its `weight`. "
        "Which of the two do you want to look at?"
    )


def _number_as_tensor(scene: Scene, match: re.Match[str]) -> str | None:
    own = match[1].rpartition(".")[2]
    if own not in ("int", "float", "bool", "list", "tuple", "str", "dict", "ndarray", "Size", "range"):
        return None
    if not hasattr(torch.Tensor, match[2]):
        return None
    word = {
        "ndarray": "numpy array",
        "int": "plain number",
        "float": "plain number",
        "str": "text",
        "dict": "dictionary",
    }
    owner = _owner(scene)
    line = scene.bound_before(owner.id) if isinstance(owner, ast.Name) else None
    where = f" (since line {line})" if line else ""
    return (
        f"{_owner_told(scene, 'This')} is {an(word.get(own, own))}{where}, and `{match[2]}` is what tensors have. "
        "Where should it become a tensor?"
    )


def _misspelt(scene: Scene, match: re.Match[str]) -> str | None:
    kind = _KNOWN_TYPES.get(match[1].rpartition(".")[2])
    meant = nearest(match[2], dir(kind)) if kind is not None else None
    if meant is None:
        return None
    return (
        f"{_owner_told(scene, 'This')} ({an(match[1])}) has nothing called `{match[2]}`, but it has `{meant}`. "
        "Is that what you mean?"
    )


def _own_class(scene: Scene, match: re.Match[str]) -> str | None:
    """An attribute that the student's own class never gets."""
    found = scene.classes(match[1])
    if not found:
        return None
    made = sorted(_kept(found[0]))
    if meant := nearest(match[2], made):
        return (
            f"An object of your class `{match[1]}` has nothing called `{match[2]}`, but it has `{meant}`. "
            "Which spelling is meant?"
        )
    if match[2] in _locals_of_init(found[0]):
        return (
            f"`{match[2]}` is made in `__init__` of `{match[1]}` under a plain name, which ends with that method. "
            "What keeps a value on the object?"
        )
    has = f" What it keeps is {', '.join(f'`{one}`' for one in made[:5])}." if made else ""
    return f"Nothing in your class `{match[1]}` (line {found[0].lineno}) makes `{match[2]}`.{has} Which line should?"


def _kept(one: ast.ClassDef) -> set[str]:
    """Names that a class has: its methods, and what is stored on `self`."""
    stored = {
        node.attr
        for node in ast.walk(one)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and getattr(node.value, "id", "") == "self"
    }
    return stored | {
        node.name for node in one.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
    }


def _locals_of_init(one: ast.ClassDef) -> set[str]:
    inits = [node for node in one.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    nodes = [node for init in inits for node in ast.walk(init)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _of_function(scene: Scene, match: re.Match[str]) -> str:
    owner = _owner_told(scene, "What stands before the dot")
    return (
        f"{owner} is a function that was not called, so there is no result yet that could have `{match[2]}`. "
        "Are its round brackets missing?"
    )


def _other(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{_owner_told(scene, 'What stands before the dot')} "
        f"is {an(match[1].rpartition('.')[2])} on line {scene.line}, which has nothing called `{match[2]}`. "
        "Is it spelled right, and is this the object you think it is?"
    )


_A = "AttributeError"
RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("attribute-before-init", _A, r"cannot assign .* before Module.__init__\(\) call",
         "A class built on `nn.Module` can hold nothing before `nn.Module` has set itself up, "
         "and that is what `super().__init__()` does. "
         "Where should that stand, so that line {line} comes after it?"),
    ExplanationRule("attribute-of-none", _A, _NO_ATTRIBUTE, _of_none),
    ExplanationRule("attribute-of-shadowed", _A, _NO_ATTRIBUTE, _shadowed),
    ExplanationRule("attribute-in-other-module", _A, _NO_MODULE_ATTRIBUTE, _module_other_place),
    ExplanationRule("attribute-of-module-misspelt", _A, _NO_MODULE_ATTRIBUTE, _module_misspelt),
    ExplanationRule("attribute-of-module",
         _A, _NO_MODULE_ATTRIBUTE, "The module `{0}` has nothing called `{1}` in the version that is "
         "here. What is it called in the documentation, and in which module is it?"),
    ExplanationRule("attribute-of-function",
         _A, r"^'(function|builtin_function_or_method|method|method_descriptor|builtin_method)' object "
         r"has no attribute '(\w+)'", _of_function),
    ExplanationRule("attribute-of-layer", _A, _NO_ATTRIBUTE, _layer_as_tensor),
    ExplanationRule("attribute-of-no-tensor", _A, _NO_ATTRIBUTE, _number_as_tensor),
    ExplanationRule("attribute-misspelt", _A, _NO_ATTRIBUTE, _misspelt),
    ExplanationRule("attribute-of-own-class", _A, _NO_ATTRIBUTE, _own_class),
    ExplanationRule("attribute-of-class",
         _A, r"^type object '(\w+)' has no attribute '(\w+)'", "`{0}` is the class itself, not an object "
         "made with it, and the class has no `{1}`. Where is an object made?"),
    ExplanationRule("attribute-read-only",
         _A, r"(?:can't set|not writable|no setter|is read-only|property '(\w+)')", "What stands left of "
         "`=` on line {line} is worked out by the object itself and cannot be set. What would have to change for it "
         "to be "
         "different?"),
    ExplanationRule("attribute-other", _A, _NO_ATTRIBUTE, _other),
)  # fmt: skip
