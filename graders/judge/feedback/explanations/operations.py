"""Operators, brackets and loops on things that do not have them, and values that do not fit."""

import ast
import re

from graders.judge.feedback.explanations.attributes import none_from
from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import KINDS, Scene, an, quoted

_T, _V = "TypeError", "ValueError"
_LAYERS = {
    "Embedding", "Linear", "Sequential", "Dropout", "LayerNorm", "ReLU", "ModuleList", "GELU", "Conv1d", "Softmax",
    "Module", "EmbeddingBag",
}  # fmt: skip
_DOES = {"+": "added", "-": "subtracted", "*": "multiplied", "@": "multiplied", "/": "divided"}


def _is_layer(scene: Scene, kind: str) -> bool:
    return kind in _LAYERS or bool(scene.classes(kind))


def _word(scene: Scene, kind: str) -> str:
    return f"{an(kind)} layer" if kind in _LAYERS else an(KINDS.get(kind, kind))


def _operands(scene: Scene, match: re.Match[str]) -> str:
    """`unsupported operand type(s) for +: 'Embedding' and 'Embedding'`."""
    sign, kinds = match[1].removesuffix("="), (match[2], match[3])
    names = [quoted(one) for one in scene.sides] if scene.sides else ["the left side", "the right side"]
    return _begin(_of_operands(scene, sign, kinds, names))


def _begin(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _of_operands(  # noqa: PLR0911  a case a paragraph
    scene: Scene, sign: str, kinds: tuple[str, str], names: list[str]
) -> str:
    if "NoneType" in kinds:
        which = kinds.index("NoneType")
        side = scene.sides[which] if scene.sides else None
        return (
            f"{names[which]} is None, and nothing can be worked out with None.{none_from(scene, side)} "
            "Which line should have made it?"
        )
    if sign == "^" and set(kinds) <= {"int", "float", "Tensor", "Parameter"}:
        return "`^` does not raise to a power in Python, it works on single bits. Powers are written `**`."
    layers = [_is_layer(scene, kind) for kind in kinds]
    done = _DOES.get(sign, f"joined by `{sign}`")
    if all(layers):
        return (
            f"{names[0]} and {names[1]} are layers, and layers themselves cannot be {done}. "
            "What comes out when ids are looked up in them can. "
            "Where does each of the two get called?"
        )
    if any(layers):
        which = layers.index(True)
        return (
            f"{names[which]} is {an(kinds[which])}, a layer, and {names[1 - which]} "
            f"is {_word(scene, kinds[1 - which])}: only what a layer gives when it is called can be {done}. "
            f"What should be handed to {names[which]}?"
        )
    if "str" in kinds:
        which = kinds.index("str")
        return (
            f"{names[which]} is a text and {names[1 - which]} is {_word(scene, kinds[1 - which])}, "
            f"and the sign `{sign}` does not join the two. "
            "Should the text be a number, or the other side a text?"
        )
    callables = [kind in ("function", "builtin_function_or_method", "method", "type") for kind in kinds]
    if any(callables):
        which = callables.index(True)
        return f"{names[which]} is a function and not its result. Are its round brackets missing?"
    if "list" in kinds:
        which = kinds.index("list")
        return (
            f"{names[which]} is a list, and {names[1 - which]} is {_word(scene, kinds[1 - which])}: "
            "a list does no arithmetic. "
            "Should it be a tensor?"
        )
    return (
        f"{names[0]} is {_word(scene, kinds[0])} and {names[1]} is {_word(scene, kinds[1])}: "
        f"`{sign}` does not work between the two. "
        "Which of them is not what you think it is?"
    )


def _shift_print(scene: Scene, match: re.Match[str]) -> str | None:
    return (
        "`print >> …` is how Python 2 wrote it; what is printed stands in the brackets of `print`."
        if "print" in scene.code
        else None
    )


def _owner(scene: Scene) -> ast.expr | None:
    return scene.node.value if isinstance(scene.node, ast.Subscript) else None


def _not_indexed(scene: Scene, match: re.Match[str]) -> str:
    kind, owner = match[1], _owner(scene)
    what = quoted(owner) if owner is not None else "What stands before the bracket"
    if kind == "NoneType":
        return f"{what} is None, so there is nothing to index.{none_from(scene, owner)} Which line should have made it?"
    if _is_layer(scene, kind):
        used = "ids" if "Embedding" in kind else "a tensor"
        return (
            f"{what} is {an(kind)}, a layer, and cannot be indexed with square brackets. "
            f"A layer is used like a function, with round brackets, on {used}; its own rows are in its `weight`."
        )
    if kind in ("int", "float", "bool"):
        held = scene.described(what.strip("`")) or f"{what} is one plain number"
        return f"{held}: it has nothing inside that square brackets could pick. Which name holds the many?"
    if kind in ("function", "builtin_function_or_method", "method", "type"):
        return f"{what} is a function, and square brackets do not call it. Which brackets does a call have?"
    return f"{what} is {an(kind)}, which square brackets cannot pick anything from. Which name did you want to index?"


def _no_assignment(scene: Scene, match: re.Match[str]) -> str:
    kind, owner = match[1], _owner(scene)
    what = quoted(owner) if owner is not None else "What stands left"
    why = {"tuple": "a tuple is never changed", "str": "a text is never changed", "Size": "a shape is never changed"}
    word = f"an {kind}, a layer" if _is_layer(scene, kind) else an(KINDS.get(kind, kind))
    return (
        f"{what} is {word}: {why.get(kind, 'no entry of it can be set')}. Which object should be changed, or made anew?"
    )


def _bad_index(scene: Scene, match: re.Match[str]) -> str:
    kind, got = match[1], match[2]
    owner, inside = _owner(scene), scene.node.slice if isinstance(scene.node, ast.Subscript) else None
    what = quoted(owner) if owner is not None else f"A {kind}"
    index = f" {quoted(inside)}" if inside is not None else ""
    if got == "tuple" and kind == "list":
        return (
            f"{what} is a list, and a list takes one index at a time, "
            f"not several with commas{index and f' as{index}'}. "
            "Should it be a tensor?"
        )
    if got == "Tensor":
        return (
            f"{what} is a {kind}, and its index{index} is a tensor: a {kind} is indexed by one plain whole number. "
            f"Should {what} be a tensor, or the index a number?"
        )
    if got == "float":
        return (
            f"The index{index} is a number with a fraction; places are whole numbers. Is it a `/` that should be `//`?"
        )
    return (
        f"{what} is a {kind} and is indexed by whole numbers; the index{index} is {an(KINDS.get(got, got))}. "
        "Which place do you mean?"
    )


def _not_iterable(scene: Scene, match: re.Match[str]) -> str:
    kind, node = match[1], scene.node
    node = node.iter if isinstance(node, ast.For) else node
    what = quoted(node) if isinstance(node, ast.expr) else f"What line {scene.line} goes through"
    if kind == "NoneType":
        return (
            f"{what[:1].upper()}{what[1:]} is None on line {scene.line}, "
            f"and there is nothing in it to go through.{none_from(scene, _expression(node))} "
            "Which line should have made it?"
        )
    if kind in ("int", "float"):
        return (
            f"Line {scene.line} goes through {an(KINDS[kind])} as if it were many things. "
            "A loop needs the numbers themselves: what counts from 0 up to a number?"
        )
    return (
        f"Line {scene.line} goes through {_word(scene, kind)}, and it has no parts to go through one by one. "
        "Which name holds them?"
    )


def _expression(node: ast.AST | None) -> ast.expr | None:
    return node if isinstance(node, ast.expr) else None


def _key(scene: Scene, match: re.Match[str]) -> str:
    key = scene.message[:60].replace("`", "'")
    owner = _owner(scene)
    what = quoted(owner) if owner is not None else "The dictionary"
    tensor = " The key is a tensor, and tensors are equal to no number as keys." if key.startswith("tensor(") else ""
    return f"{what} has no key {key}.{tensor} Which keys does it have, and of what kind are they?"


def _list_range(scene: Scene, match: re.Match[str]) -> str:
    owner = _owner(scene)
    name = quoted(owner).strip("`") if owner is not None else ""
    part = scene.part(name)
    inside = scene.part(scene.node.slice) if isinstance(scene.node, ast.Subscript) else None
    index = f" {inside.value}" if inside is not None and type(inside.value) is int else ""
    what = f"`{name}`" if name else f"The {match[1]}"
    if part is not None and part.length is not None:
        count = f"has {part.length} entries, numbered 0 to {part.length - 1}" if part.length else "is empty"
        return (
            f"{what} {count}; there is none at the place{index} that line {scene.line} asks for. "
            "Where does that number come from?"
        )
    return (
        f"{what} has no entry at the place{index} that line {scene.line} asks for: counting begins at 0. "
        "How many entries are there?"
    )


def _cannot_order(scene: Scene, match: re.Match[str]) -> str:
    names = [quoted(one) for one in scene.sides] if scene.sides else ["the left side", "the right side"]
    return (
        f"`{match[1]}` asks which of two is larger, "
        f"and {names[0]} is {_word(scene, match[2])} while {names[1]} is {_word(scene, match[3])}. "
        "Which of the two should be something else?"
    )


def _no_length(scene: Scene, match: re.Match[str]) -> str:
    return (
        "`len` counts what is in a thing, "
        f"and was given {_word(scene, match[1])} on line {scene.line}.{scene.details()} "
        "What did you want to count?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("print-shift", _T, r"unsupported operand type\(s\) for >>: 'builtin_function", _shift_print),
    ExplanationRule("operands",
         _T, r"unsupported operand type\(s\) for (?:\*\* or pow\(\)|(\S+)): '([\w.]+)' and '([\w.]+)'",
         lambda s, m: _operands(s, m) if m[1] else None),
    ExplanationRule("text-plus", _T, r"can only concatenate (\w+) \(not \"([\w.]+)\"\) to \w+", lambda s, m: (
        f"With {an({'str': 'text'}.get(m[1], m[1]))} on its left, "
        f"`+` joins two of the same kind, and on the right of {s.here} stands {an(KINDS.get(m[2], m[2]))}. "
        "Should the one become a text, or the other a number or a tensor?")),
    ExplanationRule("text-times", _T, r"can't multiply sequence by non-int of type '([\w.]+)'", lambda s, m: (
        f"In {s.here} one side is a list or a text, and those can only be repeated a whole number of times; "
        f"the other side is {an(KINDS.get(m[1], m[1]))}. "
        "Should the list be a tensor?")),
    ExplanationRule("unary-minus", _T, r"bad operand type for (?:unary ([-+~])|abs\(\)): '([\w.]+)'", lambda s, m: (
        f"What {s.here} is about is {_word(s, m[2])}, and that has no sign. Which value did you want there?")),
    ExplanationRule("not-indexed", _T, r"'([\w.]+)' object is not subscriptable", _not_indexed),
    ExplanationRule("entry-not-set",
         _T, r"'([\w.]+)' object (?:does not support item|doesn't support item) (?:assignment|deletion)",
              _no_assignment),
    ExplanationRule("index-of-other-kind",
         _T, r"^(list|tuple|string|range) (?:object )?ind(?:ices|ex) must be integers(?: or slices)?, not '?(\w+)",
              _bad_index),
    ExplanationRule("slice-of-other-kind",
         _T, r"slice indices must be integers", "The ends of a slice are whole numbers, and on line {line} one of "
         "them is something else. Is it a `/` that should be `//`, or a tensor of several numbers?"),
    ExplanationRule("module-list-index", _T, r"'(\w+)' object cannot be interpreted as an integer", lambda s, m: (
        f"Line {s.line} needs a whole number "
        f"where it has {an(KINDS.get(m[1], m[1])) if m[1] != 'float' else 'a number with a fraction'}.{s.details()} "
        "Is it a `/` that should be `//`, or is it a size that you want?")),
    ExplanationRule("not-iterable",
         _T, r"(?:cannot unpack non-iterable )?'?([\w.]+)'? object (?:is not iterable|is not an iterator)|argument "
              r"of type '([\w.]+)' is not iterable|"
         r"cannot unpack non-iterable ([\w.]+) object",
         lambda s, m: _unpack_nothing(s, m) or (_not_iterable(s, m) if m[1] else (
             f"`in` asks whether something is among others, and on line {s.line} the others are {_word(s, m[2])}. "
             "Which name holds them?"))),
    ExplanationRule("no-length", _T, r"object of type '([\w.]+)' has no len\(\)", _no_length),
    ExplanationRule("length-of-number",
         _T, r"len\(\) of a 0-d tensor|len\(\) of unsized object|iteration over a 0-d", lambda s, _: (
        "A tensor that is one single number, of the shape [], has no parts: "
        f"it cannot be counted or gone through.{s.details()} "
        "Which tensor has the axis that you want to go along?")),
    ExplanationRule("not-ordered",
         _T, r"'(<|>|<=|>=)' not supported between instances of '([\w.]+)' and '([\w.]+)'", _cannot_order),
    ExplanationRule("unhashable", _T, r"unhashable type: '(\w+)'", lambda s, m: (
        "A key of a dictionary or an entry of a set must be something that never changes, "
        f"and line {s.line} uses {an(m[1])}. "
        "Which number or text could stand for it?")),
    ExplanationRule("join-needs-texts",
         _T, r"sequence item (\d+): expected str instance, (\w+) found", "`join` puts texts together, and the entry "
         "number {0} is of the kind {1}. Where does it become a text?"),
    ExplanationRule("exception-wanted",
         _T, r"exceptions must (?:derive|be)", "What is raised on line {line} is no exception. `raise` takes one, such "
         "as `ValueError(…)`."),
    ExplanationRule("real-number-wanted", _T, r"must be real number, not (\w+)", lambda s, m: (
        f"{s.called or 'This function'} works on one plain number and got {_word(s, m[1])}.{s.details()} "
        "torch has a function of its own for whole tensors: which module is this one from?")),
    ExplanationRule("format-of-other-kind",
         "TypeError ValueError",
         r"unsupported format string passed to ([\w.]+)|Unknown format code '(\w)' for object of type '(\w+)'|"
         r"not all arguments converted|%\w format", "What is shown on line {line} is not of the kind that its format "
              "asks for (for example "
         "two digits after the point of a text or a whole tensor). What is it?"),
    ExplanationRule("number-from-other-kind", _T, r"^(int|float)\(\) argument must be .* not '(\w+)'", lambda s, m: (
        f"`{m[1]}` makes a number of a text or a number, and got {_word(s, m[2])}.{s.details()} "
        "Which single number is meant?")),
    ExplanationRule("text-is-no-number",
         _V, r"invalid literal for (int)\(\) with base \d+: (.+)|could not convert string to float: (.+)",
         lambda s, m: (f"`{m[1] or 'float'}` can only read a text that is a number, and got {(m[2] or m[3])[:40]}. "
              f"Should that text be looked "
                       "up somewhere instead?")),
    ExplanationRule("math-domain",
         _V, r"math domain error", "The function on line {line} has no value for the number it got: a logarithm "
              "needs one "
         "above 0, a root one of at least 0. Which number arrives there?"),
    ExplanationRule("empty-sequence", _V, r"(\w+)\(\) arg is an empty sequence|(max|min)\(\) .*empty", lambda s, m: (
        f"`{m[1] or m[2]}` was given nothing to choose from: what goes in on line {s.line} is empty. "
        "Where should its entries come from?")),
    ExplanationRule("not-in-list",
         _V, r"(.{1,60}) is not in list|list\.(remove|index)\(x\)|substring not found|(.{1,40}) is not in (?:tuple|"
              r"deque)", lambda s, m: (
        f"Line {s.line} looks for something in a list or text that does not have it. "
        "Which entries are there, and of what kind are they?")),
    ExplanationRule("numpy-broadcast",
         _V, r"operands could not be broadcast together with shapes (\([\d,]*\)) (\([\d,]*\))", lambda s, m: (
        f"Two numpy arrays of the shapes {m[1]} and {m[2]} do not line up in {s.here}. "
        f"Axes are matched from the last one backwards, and must be equal or 1.{s.details()} "
        "At which axis do they differ?")),
    ExplanationRule("step-zero",
         _V, r"(?:arg 3|step) (?:must not|cannot) be (?:zero|0)", "A step of 0 never comes to an end. By how much "
              "should line "
         "{line} go on each time?"),
    ExplanationRule("closed-file",
         _V, r"I/O operation on closed file", "Line {line} uses a file that is closed already: a file is open only "
              "inside its "
         "`with` block. What should happen before it ends?"),
    ExplanationRule("no-such-key", "KeyError", r"", _key),
    ExplanationRule("list-range",
         "IndexError", r"^(list|tuple|string|range object) (?:assignment )?index out of range", _list_range),
    ExplanationRule("pop-from-empty",
         "IndexError", r"pop (?:from|index)", "Line {line} takes something out of a list that is empty, or has no such "
         "place. What puts something into it before?"),
    ExplanationRule("division-by-zero", "ZeroDivisionError", r"", lambda s, m: (
        f"Line {s.line} divides by zero{' in ' + s.here if s.here.startswith('`') else ''}.{s.details()} "
        "Which value is 0, and should it be?")),
    ExplanationRule("number-too-large", "OverflowError", r"", lambda s, m: (
        f"The result on line {s.line} is larger than such a number can hold.{s.details()} "
        "Is an exponent or a product meant to be that large?")),
    ExplanationRule("iterator-empty",
         "StopIteration",
         r"", "`next` on line {line} asks for one more, and there is none left. How many are there, and are "
         "they used up before?"),
    ExplanationRule("list-grew",
         "RuntimeError",
         r"(dictionary|Set|set) changed size during iteration", "The loop goes through a {0} while line {line} "
         "or its block puts things in or takes them out. Over what could it go instead?"),
)  # fmt: skip


def _unpack_nothing(scene: Scene, match: re.Match[str]) -> str | None:
    """`a, b = 3`, `a, b = None`."""
    if match[3] is None:
        return None
    return (
        f"Line {scene.line} has several names left of `=`, "
        f"and what comes from the right is {_word(scene, match[3])}, which cannot be taken apart. "
        "How many things does the right side give?"
    )
