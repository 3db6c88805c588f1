"""Names that mean nothing here: misspelt, made later, made elsewhere, or of a module that is not there."""

import ast
import re
import sys
from collections.abc import Mapping

from graders.judge.feedback.explanations.rules import ExplanationRule, nearest
from graders.judge.feedback.explanations.scene import Scene, walk

_NOT_DEFINED = r"^name '(\w+)' is not defined"
_MODULES: Mapping[str, str] = {
    "np": "numpy", "numpy": "numpy", "F": "torch.nn.functional", "nn": "torch.nn", "torch": "torch", "math": "math",
    "random": "random", "os": "os", "sys": "sys", "time": "time", "re": "re", "json": "json", "copy": "copy",
    "itertools": "itertools", "functools": "functools", "collections": "collections", "optim": "torch.optim",
    "defaultdict": "collections", "Counter": "collections", "partial": "functools", "dataclass": "dataclasses",
    "Path": "pathlib", "deque": "collections", "datetime": "datetime", "typing": "typing", "Optional": "typing",
    "DataLoader": "torch.utils.data", "Dataset": "torch.utils.data", "string": "string",
}  # fmt: skip
_MEANT_ELSEWHERE: Mapping[str, str] = {
    "B": "the number of windows in a batch", "T": "the length of a window", "C": "the numbers in a row of a table",
    "L": "the length of a sequence", "N": "the number of examples", "H": "the number of heads",
    "V": "the size of the vocabulary", "D": "the numbers in a row of a table", "E": "the numbers in a row of a table",
    "d_model": "the numbers in a row of a table", "seq_len": "the length of a sequence",
    "device": "the place where tensors are kept", "model": "a whole network", "optimizer": "what changes the tables",
    "config": "the settings of a model", "batch": "one batch of data", "criterion": "the loss function",
}  # fmt: skip
_OTHER_LANGUAGES = {
    "true": "True", "false": "False", "null": "None", "nil": "None", "none": "None", "TRUE": "True", "FALSE": "False",
    "undefined": "None", "NULL": "None", "this": "self", "elseif": "elif", "printf": "print", "echo": "print",
    "strlen": "len", "length": "len", "size": "len", "NaN": 'float("nan")', "nan": 'float("nan")',
    "inf": 'float("inf")', "console": "print", "String": "str", "integer": "int",
}  # fmt: skip
_PACKAGES = {
    "sklearn": "scikit-learn", "cv2": "opencv", "PIL": "pillow", "matplotlib": "matplotlib", "pandas": "pandas",
    "transformers": "transformers", "tensorflow": "tensorflow", "keras": "keras", "scipy": "scipy",
    "torchvision": "torchvision", "torchtext": "torchtext", "tiktoken": "tiktoken", "einops": "einops", "tqdm": "tqdm",
    "requests": "requests", "seaborn": "seaborn", "jax": "jax", "plt": "matplotlib", "torchinfo": "torchinfo",
    "lightning": "lightning", "datasets": "datasets", "IPython": "IPython", "gensim": "gensim",
}  # fmt: skip
_HERE = ("torch", "numpy", "nn", "functional", *sorted(sys.stdlib_module_names))


def _on_self(scene: Scene, match: re.Match[str]) -> str | None:
    if not scene.fault.on_self:
        return None
    return (
        f"There is nothing called `{match[1]}` in this method. "
        f"What `__init__` keeps for the object is on `self`: write `self.{match[1]}`."
    )


def _self_missing(scene: Scene, match: re.Match[str]) -> str | None:
    if match[1] != "self":
        return None
    function = scene.function
    if function is None:
        return (
            "`self` is the object inside a method, and this line is in none. "
            "Should it be indented under a `def` of a class?"
        )
    return (
        f"`{function.name}` (line {function.lineno}) uses `self`, which is not among its parameters. "
        "What does Python hand a method before everything else?"
    )


def _later(scene: Scene, match: re.Match[str]) -> str | None:
    name = match[1]
    lines = scene.bindings(name)
    if not lines or name in scene.setup_names:
        return None
    if deleted := [line for line in _deleted(scene, name) if line <= scene.line]:
        return f"`{name}` was there, but line {deleted[-1]} deletes it. Is it needed after that line?"
    after = [line for line in lines if line > scene.line]
    if after and len(after) == len(lines):
        return (
            f"There is nothing called `{name}` yet when line {scene.line} runs: it gets its value on line {after[0]}. "
            "Python goes from top to bottom; which of the two lines should come first?"
        )
    if scene.line in lines and len(lines) == 1:
        return (
            f"Line {scene.line} uses `{name}` to work out `{name}` itself, and nothing is called so before that line. "
            "What should it begin with?"
        )
    return (
        f"There is nothing called `{name}` when line {scene.line} runs: "
        f"line {lines[0]} would give it a value, but that line was not come to. "
        "Under which condition, or in which block, does it stand?"
    )


def _deleted(scene: Scene, name: str) -> list[int]:
    found = (node for node in walk(scene.tree) if isinstance(node, ast.Delete))
    return sorted(one.lineno for one in found for target in one.targets if getattr(target, "id", None) == name)


def _local(scene: Scene, match: re.Match[str]) -> str | None:
    for function in scene.functions():
        own = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
        made = {one.id for one in walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        if match[1] in own | made and function is not scene.function:
            what = "a parameter of" if match[1] in own else "made inside"
            return (
                f"`{match[1]}` is {what} the function `{function.name}` (line {function.lineno}) "
                "and is known only there. "
                "How does what a function has worked out get to the lines outside?"
            )
    return None


def _in_class(scene: Scene, match: re.Match[str]) -> str | None:
    for one in scene.classes():
        if match[1] in {method.name for method in one.body if isinstance(method, ast.FunctionDef)}:
            return (
                f"`{match[1]}` is a method of the class `{one.name}` and is not known by that name alone. "
                "On which object should it be called?"
            )
    return None


def _case(scene: Scene, match: re.Match[str]) -> str | None:
    name = next((one for one in scene.known_names if one.lower() == match[1].lower() and one != match[1]), None)
    if name is None:
        return None
    return (
        f"There is nothing called `{match[1]}`, but there is `{name}`: "
        "capital and small letters are different names to Python."
    )


def _other_language(_: Scene, match: re.Match[str]) -> str | None:
    name = _OTHER_LANGUAGES.get(match[1])
    return f"`{match[1]}` is how other languages say it; Python's word is `{name}`." if name else None


def _other_code(scene: Scene, match: re.Match[str]) -> str | None:
    meaning = _MEANT_ELSEWHERE.get(match[1])
    if meaning is None:
        return None
    names = [one for one in scene.setup_names if one.islower() and "_" in one]
    given = f" (among them {', '.join(f'`{one}`' for one in names[:4])})" if names else ""
    return (
        f"There is nothing called `{match[1]}` here. "
        f"In other code it often stands for {meaning}; the starting code has names of its own{given}. "
        "Which of them holds what you need?"
    )


def _module(_: Scene, match: re.Match[str]) -> str | None:
    module = _MODULES.get(match[1])
    if module is None:
        return None
    return (
        f"There is nothing called `{match[1]}` here: "
        f"it belongs to Python's way of writing `{module}`, which this code has not imported. "
        "Which line would bring it in?"
    )


def _cell(scene: Scene, _: re.Match[str]) -> str | None:
    if not re.match(r"(?:In|Out)\s?\[\d*\]", scene.code):
        return None
    return (
        f"Line {scene.line} begins with a notebook's number of a cell, which is not part of the code. "
        "What is left of it without?"
    )


def _meant(scene: Scene, match: re.Match[str]) -> str | None:
    name = nearest(match[1], scene.known_names)
    if name is None:
        return None
    line = next(iter(scene.bindings(name)), None)
    where = (
        f", made on line {line}" if line else " in the starting code" if name in scene.setup_names else ", Python's own"
    )
    return f"There is nothing called `{match[1]}`, but there is `{name}`{where}. Is that the one you mean?"


def _unknown(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"There is nothing called `{match[1]}` when line {scene.line} runs: "
        "no line of yours and none of the starting code gives it a value. "
        "Which name do you mean, or which line should make it?"
    )


def _no_module(scene: Scene, match: re.Match[str]) -> str:
    name = match[1].partition(".")[0]
    if name in _PACKAGES:
        return (
            f"`{name}` is not installed here: an exercise has torch, numpy and Python's own modules. "
            "Can it be done without?"
        )
    if "." in match[1]:
        parent, _, last = match[1].rpartition(".")
        return f"There is no module `{last}` in `{parent}`. What is it called in the documentation?"
    if meant := nearest(name, _HERE):
        return f"There is no module `{name}` here, but there is `{meant}`. Is it misspelt on line {scene.line}?"
    return f"There is no module `{name}` here: there are torch, numpy and Python's own modules."


def _no_such_import(_: Scene, match: re.Match[str]) -> str:
    from_where = sys.modules.get(match[2])
    known = [name for name in vars(from_where) if not name.startswith("_")] if from_where is not None else []
    meant = nearest(match[1], known)
    more = f" It has `{meant}`: is that what you mean?" if meant else " Where does the documentation say that it is?"
    return f"The module `{match[2]}` has nothing called `{match[1]}`.{more}"


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("unbound-outer",
         "NameError", r"free variable '(\w+)'", "`{0}` belongs to the function around this one, which has not "
         "given it a value yet when line {line} reads it. Which of the two must come first?"),
    ExplanationRule("name-on-self", "NameError", _NOT_DEFINED, _on_self),
    ExplanationRule("self-unknown", "NameError", _NOT_DEFINED, _self_missing),
    ExplanationRule("name-later", "NameError", _NOT_DEFINED, _later),
    ExplanationRule("name-in-function", "NameError", _NOT_DEFINED, _local),
    ExplanationRule("name-of-method", "NameError", _NOT_DEFINED, _in_class),
    ExplanationRule("cell-run", "NameError", r"^name '(In|Out)' is not defined", _cell),
    ExplanationRule("name-other-language", "NameError", _NOT_DEFINED, _other_language),
    ExplanationRule("name-other-case",
         "NameError", _NOT_DEFINED, lambda s, m: None if m[1] in _MODULES else _case(s, m)),
    ExplanationRule("name-not-imported", "NameError", _NOT_DEFINED, _module),
    ExplanationRule("name-of-other-code", "NameError", _NOT_DEFINED, _other_code),
    ExplanationRule("name-misspelt", "NameError", _NOT_DEFINED, _meant),
    ExplanationRule("name-unknown", "NameError", _NOT_DEFINED, _unknown),
    ExplanationRule("no-module", "ModuleNotFoundError", r"No module named '([\w.]+)'", _no_module),
    ExplanationRule("no-such-import", "ImportError", r"cannot import name '(\w+)' from '([\w.]+)'", _no_such_import),
    ExplanationRule("relative-import",
         "ImportError", r"attempted relative import", "A dot before a module's name means “beside this "
         "file”, and here there is one program and no other file. What should be brought in, and from which module?"),
)  # fmt: skip
