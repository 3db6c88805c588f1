"""Calls that do not fit: too few, too many or unknown arguments, and things that are no functions."""

import ast
import builtins
import inspect
import re
from collections.abc import Callable

import torch

from graders.judge.feedback.explanations.attributes import none_from
from graders.judge.feedback.explanations.rules import ExplanationRule, nearest
from graders.judge.feedback.explanations.scene import BUILTINS, KINDS, Scene, an, quoted

_T = "TypeError"
_SIGNATURE = 120  # characters


def _own_function(scene: Scene, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The student's function that a message names, as `forward` or `Table.forward`."""
    *owner, last = name.split(".")
    for one in scene.classes(owner[-1]) if owner else ():
        for method in one.body:
            if isinstance(method, ast.FunctionDef) and method.name == last:
                return method
    found = scene.functions(last) if not owner else []
    return found[0] if found else None


def _parameters(scene: Scene, name: str) -> str:
    """A sentence with the signature of what a message names; empty if that is unknown."""
    own = _own_function(scene, name)
    if own is not None:
        return f" Line {own.lineno} says what it takes: `{name.rpartition('.')[2]}({_arguments(own)})`."
    first, _, last = name.rpartition(".")
    target = getattr(torch.nn, first.partition(".")[0], None) if first else getattr(torch.nn.functional, name, None)
    target = getattr(builtins, last, None) if target is None and not first else target
    signature = _signature(target) if target is not None else ""
    if not signature or len(signature) > _SIGNATURE:
        return ""
    return f" It takes `{(first or last).partition('.')[0]}{signature}`."


def _signature(target: Callable[..., object]) -> str:
    """The parameters of a function in round brackets, without their types; empty if they are not known."""
    try:
        found = inspect.signature(target)
    except (TypeError, ValueError):
        return ""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return ", ".join(one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs))


def _missing(scene: Scene, match: re.Match[str]) -> str:
    names = match[3].replace("'", "`").replace('"', "`")
    short = match[1].removesuffix(".__init__")
    own = _own_function(scene, match[1])
    if own and "'self'" in match[3] and own.args.args and own.args.args[0].arg == "self":
        return (
            f"`{own.name}` was called on the class itself, "
            "so `self` and what should come after it did not get their values. "
            "Which object should it be called on? "
            "An object is made by calling the class."
        )
    return f"`{short}` was called without {names}.{_parameters(scene, match[1])} What should it be given there?"


def _too_many(scene: Scene, match: re.Match[str]) -> str | None:
    name, given = match[1], match[3]
    own = _own_function(scene, name)
    if own is not None and _is_method(scene, own) and (not own.args.args or own.args.args[0].arg != "self"):
        takes = f"`{own.args.args[0].arg}`" if own.args.args else "nothing"
        return (
            f"`{own.name}` (line {own.lineno}) takes {takes} first and no `self`. "
            "Python hands a method the object itself as its first argument, before yours. "
            "What is its first parameter to be?"
        )
    if own is None and "." not in name:
        return (
            f"`{name}` has room for {match[2]} and was given {given} arguments on line {scene.line}: "
            "they are too many, or one of them is of a kind "
            f"that it does not know.{_parameters(scene, name)}{scene.details()} What does each of them stand for?"
        )
    is_known = own is not None or hasattr(torch.nn, name.partition(".")[0]) or hasattr(torch, name.partition(".")[0])
    if not is_known and name.endswith(".__init__"):
        return (
            f"`{name.removesuffix('.__init__')}` was made with {int(given) - 1} arguments, "
            "and nothing in that class takes them. "
            "Is there an `__init__` (two underscores on each side) with `self` and a parameter for each?"
        )
    if not is_known:
        return (
            f"`{name}` has room for {match[2]} and was given {given}, "
            "and for a method the object itself is the first of them. "
            "Do its parameters begin with `self`?"
        )
    counted = f"{int(given) - 1} besides the object itself" if own is not None and _is_method(scene, own) else given
    if own is not None and name.endswith("__init__") and len(own.args.args) <= 1:
        return (
            f"`{name.removesuffix('.__init__')}` takes nothing when it is made, "
            f"and was given {counted}.{_parameters(scene, name)}"
        )
    return (
        f"`{name.removesuffix('.__init__')}` was given more than it takes: {counted}.{_parameters(scene, name)} "
        "Which of them is one too many?"
    )


def _is_method(scene: Scene, function: ast.AST) -> bool:
    return any(function in one.body for one in scene.classes())


def _unexpected(scene: Scene, match: re.Match[str]) -> str:
    name, wrong = match[1].removesuffix(".__init__"), match[2]
    own = _own_function(scene, match[1])
    known = [one.arg for one in (*own.args.args, *own.args.kwonlyargs)] if own else _known_arguments(match[1])
    meant = nearest(wrong, known)
    more = f" It has one called `{meant}`: is that what you mean?" if meant else _parameters(scene, match[1])
    return f"`{name}` has no argument called `{wrong}`.{more}"


def _known_arguments(name: str) -> list[str]:
    first = name.partition(".")[0]
    target = getattr(torch.nn, first, None) or getattr(torch.nn.functional, first, None)
    try:
        return list(inspect.signature(target).parameters) if target is not None else []
    except (TypeError, ValueError):
        return []


def _not_callable(scene: Scene, match: re.Match[str]) -> str | None:
    kind, node = match[1], scene.node
    func = node.func if isinstance(node, ast.Call) else None
    what = quoted(func) if func is not None else "What stands before the brackets"
    if isinstance(func, ast.Name) and (line := scene.bound_before(func.id)):
        given = scene.part(func.id)
        holds = scene.what(func.id, given) if given is not None else an(KINDS.get(kind, kind))
        if func.id in BUILTINS:
            return (
                f"Line {line} gave the name `{func.id}` to a value of yours, "
                f"so Python's own `{func.id}()` is hidden, and what is called here is {holds}. "
                "What else could that value be called?"
            )
        if kind not in ("Tensor", "Parameter", "NoneType"):
            return (
                f"`{func.id}` is {holds} since line {line}, and that is no function or layer, so it cannot be called. "
                "Was the name used twice, or is an operator missing before the bracket?"
            )
    if kind in ("Tensor", "Parameter"):
        described = scene.described(what.strip("`")) or f"{what} is a tensor"
        return (
            f"{described}: a tensor of numbers, which cannot be called with round brackets. "
            "Rows are picked with square ones; layers and functions are what one calls. "
            "Which do you want?"
        )
    if kind == "NoneType":
        return f"{what} is None, so there is nothing to call.{none_from(scene, func)} Which line should have made it?"
    if kind == "module":
        return (
            f"{what} is a module, a drawer of functions, and is not called itself. Which of its functions do you want?"
        )
    return (
        f"{what} is {an(KINDS.get(kind, kind))}, no function and no layer, so round brackets after it mean nothing. "
        "Was the name used twice, or is a comma or an operator missing before the bracket?"
    )


def _wrong_argument(scene: Scene, match: re.Match[str]) -> str:
    """`embedding(): argument 'indices' (position 2) must be Tensor, not list`."""
    function, argument, wanted, got = match[1], match[2], match[3], match[4]
    name = scene.called or f"`{function}`"
    where = f" for `{argument}`"
    if wanted == "Tensor":
        if got in ("Embedding", "Linear"):
            return (
                f"{name} wants a tensor{where}, and got {an(got)}, the layer itself. "
                "A layer gives a tensor when it is called, and keeps its numbers in `weight`. "
                f"Which of the two belongs here?{scene.details()}"
            )
        if got == "NoneType":
            return f"{name} wants a tensor{where}, and got None.{scene.details()} Which line should have made it?"
        kind = {"int": "one single number", "float": "one single number", "ndarray": "a numpy array"}.get(got, an(got))
        return (
            f"{name} wants a tensor{where}, and got {kind}.{scene.details()} Which numbers should stand in the tensor?"
        )
    if "int" in wanted.lower() or "Number" in wanted:
        kind = {"float": "a number with a fraction", "Tensor": "a whole tensor", "str": "a text"}.get(got, an(got))
        number = "numbers" if "tuple" in wanted else "number"
        return (
            f"{name} wants whole {number}{where}, and got {kind}.{scene.details()} "
            "Which number do you mean, and of what kind is it?"
        )
    return f"{name} wants {an(wanted)}{where}, and got {an(got)}.{scene.details()} What should it be given there?"


def _combination(scene: Scene, match: re.Match[str]) -> str:
    got = re.search(r"got \(([^)]{0,120})", scene.message)
    kinds = f" It got ({got[1]})." if got else ""
    return (
        f"`{match[1]}` cannot take what it is given on line {scene.line}: it wants other kinds of arguments, "
        f"or another order.{kinds}{scene.details()} Which of them is not what you think it is?"
    )


def _assign_parameter(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"`{match[2]}` of a layer is a parameter, "
        f"something that learns, and line {scene.line} puts a plain {match[1].rpartition('.')[2]} in its place. "
        "What does a tensor need to be one that learns?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("argument-missing",
         _T, r"^([\w.<>]+)\(\) missing (\d+) required (?:positional|keyword-only) arguments?: (.+)$", _missing),
    ExplanationRule("argument-too-many",
         _T, r"^([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given",
         _too_many),
    ExplanationRule("argument-unknown", _T, r"^([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'", _unexpected),
    ExplanationRule("argument-twice",
         _T, r"^([\w.<>]+)\(\) got multiple values for argument '(\w+)'", "`{0}` gets `{1}` twice on line {line}: "
         "once by its place and once by its name. Which of the two do you mean?"),
    ExplanationRule("takes-no-arguments",
         _T, r"^(\w+)(?:\(\))? takes no (?:keyword )?arguments", "`{0}` takes nothing of the kind that "
         "line {line} gives it. Where should these values go? A class takes them in `__init__`: is that spelled with "
         "two "
         "underscores on each side?"),
    ExplanationRule("call-count",
         _T, r"^(\w+)\(\) takes (?:exactly|at most|at least) (\w+) (?:positional )?arguments? \((\d+) given\)|"
         r"^(\w+) expected (?:exactly |at (?:most|least) )?(\d+) arguments?, got (\d+)", lambda s, m: (
             f"`{m[1] or m[4]}` takes another number of arguments "
             f"than the {m[3] or m[6]} that line {s.line} gives it (it takes {m[2] or m[5]}). "
             "What does each of them stand for?")),
    ExplanationRule("not-callable", _T, r"'([\w.]+)' object is not callable", _not_callable),
    ExplanationRule("argument-of-other-kind",
         _T, r"^(\w+)\(\): argument '(\w+)' .{0,20}must be (.{1,60}), not (\w+)", _wrong_argument),
    ExplanationRule("arguments-of-other-kinds",
         _T, r"^([\w.]+?)\(\)?:? ?received an invalid combination", _combination),
    ExplanationRule("parameter-replaced",
         _T, r"cannot assign '([\w.]+)' (?:object )?(?:to|as) parameter '(\w+)'", _assign_parameter),
    ExplanationRule("child-replaced",
         _T, r"cannot assign '([\w.]+)' as child module '(\w+)'", "`{1}` holds a layer, and line {line} puts "
         "something else, of the kind {0}, in its place. What should the result be called instead?"),
    ExplanationRule("not-a-layer",
         _T, r"([\w.]+) is not a Module subclass", "Only layers can be put in here, and line {line} gives it "
         "`{0}`, which is none. A function or a number is no layer: which layer does the same?"),
    ExplanationRule("abstract-forward",
         "NotImplementedError", r'Module \[(\w+)\] is missing the required "forward" function', "An object of "
         "your class `{0}` was called, and the class has no method `forward`. Is it there under another name, or "
         "indented "
         "inside another method?"),
    ExplanationRule("super-arguments",
         _T, r"^super\(type, obj\)", "`super(…)` was given a class that the object does not belong to. In "
         "a method it needs nothing in its brackets."),
)  # fmt: skip
