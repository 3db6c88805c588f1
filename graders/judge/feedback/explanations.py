"""What an exception means, in the words of someone who teaches. Nothing here depends on an exercise."""

import re
from collections.abc import Callable

from graders.judge.feedback.descriptions import with_article
from graders.judge.values.decode_observation import Fault, Observed

_LOOKED_AT = 500  # of a message, so that no pattern can be made slow
Explanation = Callable[[Fault, re.Match[str]], str]


def explain(fault: Fault) -> str:
    """One or two sentences about a fault; never its raw text alone."""
    for kind, pattern, words in _RULES:
        match = re.search(pattern, fault.message[:_LOOKED_AT]) if fault.type == kind else None
        if match:
            return words(fault, match)
    return _GENERAL.get(fault.type, f"Python raised {fault.type}. Read its message, then look at the marked line.")


def _ids(fault: Fault) -> tuple[Observed, Observed] | None:
    """The ids and the table of a failed look-up."""
    ids, table = fault.operands.get("input"), fault.operands.get("weight")
    return (ids, table) if ids is not None and table is not None else None


def _out_of_range(fault: Fault, _: re.Match[str]) -> str:
    looked_up = _ids(fault)
    if looked_up is None or looked_up[0].tensor is None or not looked_up[0].tensor.numel():
        return "An id is larger than the last row of the table it is looked up in."
    ids, table = looked_up
    assert ids.tensor is not None  # noqa: S101  looked at above
    numbers = ids.tensor.double().nan_to_num()
    low, high = int(numbers.min()), int(numbers.max())
    rows = table.shape[0] if table.shape else 0
    wrong = f"go up to {high}" if high >= rows else f"go down to {low}"
    return (
        f"The ids you look up have the shape {list(ids.shape)} and {wrong}, but this table has {rows} rows, numbered "
        f"0 to {rows - 1}. Are these the ids this table is meant for, and does it have a row for each?"
    )


def _not_whole(fault: Fault, match: re.Match[str]) -> str:
    looked_up = _ids(fault)
    if looked_up is not None and looked_up[1].dtype in ("int64", "int32") and len(looked_up[0].shape) > 1:
        return (
            f"The look-up was given numbers of the shape {list(looked_up[0].shape)} in the place of the ids, and whole "
            "numbers in the place of the table. In which order does this function want the two?"
        )
    got = {"FloatTensor": "float32", "DoubleTensor": "float64", "BoolTensor": "bool"}.get(match[1], match[1])
    return (
        f"A table is looked up by row numbers, and those must be whole numbers (int64 or int32); yours are {got}. "
        "Where do they become fractions?"
    )


def _sizes_differ(_: Fault, match: re.Match[str]) -> str:
    return (
        f"Two tensors do not line up: along axis {match[3]} one has {match[1]} and the other {match[2]}. Axes are "
        "matched from the last one backwards, and must be equal or 1: print both shapes and compare."
    )


def _product(_: Fault, match: re.Match[str]) -> str:
    return (
        f"A matrix product of {match[1]} and {match[2]} needs the first one's columns to be as many as the second "
        "one's rows. Which of the two is the wrong way round?"
    )


def _missing_name(fault: Fault, match: re.Match[str]) -> str:
    if fault.on_self:
        return (
            f"Nothing is called `{match[1]}` in this method. What `__init__` keeps for the object is on `self`: write "
            f"`self.{match[1]}`."
        )
    return (
        f"Nothing is called `{match[1]}` at this point. Is it spelled so above, is it made before this line, and "
        "is it imported?"
    )


def _not_subscriptable(_: Fault, match: re.Match[str]) -> str:
    if match[1] == "NoneType":
        return "There is nothing here yet (it is None), so it cannot be indexed. Which line should have made it?"
    return (
        f"{_one(match[1])} cannot be indexed with square brackets. A layer is used like a function, with round "
        "brackets, on a tensor of ids."
    )


def _one(kind: str) -> str:
    """At the beginning of a sentence."""
    said = with_article(kind)
    return said[0].upper() + said[1:]


def _too_many(_: Fault, match: re.Match[str]) -> str:
    """A function was called with more arguments than it has parameters."""
    function, takes, given = match[1], match[2], match[3]
    said = f"`{function}` was called with {given} arguments, and has room for {takes}."
    if "." not in function:
        return said
    said += " For a method, the object itself is the first of them:"
    if function.endswith(".__init__"):
        return (
            f"{said} is there an `__init__` (two underscores on each side) with `self` and a parameter for each other?"
        )
    return f"{said} do its parameters begin with `self`?"


def _too_few(_: Fault, match: re.Match[str]) -> str:
    missing = re.sub("['\"](\\w+)['\"]", r"`\1`", match[2])
    return f"`{match[1]}` was called without {missing}. What should stand there?"


def _operator(_: Fault, match: re.Match[str]) -> str:
    sign, left, right = match[1], match[2], match[3]
    if sign.startswith("^"):
        return "`^` does not raise to a power in Python, it works on single bits. Powers are written `**`."
    if "method" in f"{left} {right}" or "function" in f"{left} {right}":
        return f"`{sign}` was given a function where its result is meant. Is a pair of round brackets missing?"
    return f"`{sign}` cannot work on {with_article(left)} and {with_article(right)}. Is each of the two what you mean?"


def _number_wanted(fault: Fault, match: re.Match[str]) -> str:
    wanted = fault.message.partition("must be ")[2].rpartition(", not ")[0]
    if wanted == "Tensor":
        got = "one single number" if match[2] in {"int", "float"} else with_article(match[2])
        return f"`{match[1]}` wants a tensor here, and got {got}. Which numbers should stand in it?"
    if "Number" in wanted or "int" in wanted:
        return f"`{match[1]}` wants one number here, and got a whole {match[2]}. Which single number do you mean?"
    return f"`{match[1]}` cannot take {with_article(match[2])} here."


_RULES: tuple[tuple[str, str, Explanation], ...] = (
    ("IndexError", r"index out of range in self", _out_of_range),
    (
        "IndexError",
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        lambda _, m: (
            f"Row {m[1]} was asked for along axis {m[2]}, which has {m[3]} rows, numbered 0 to {int(m[3]) - 1}."
        ),
    ),
    (
        "RuntimeError",
        r"can't start new thread",
        lambda *_: (
            "No more threads can be started: a run may have some 60 at a time, and they share one processor. Let those "
            "that are done end, or use a pool with fewer workers."
        ),
    ),
    ("RuntimeError", r"scalar types: Long, Int; but got torch\.(\w+) instead", _not_whole),
    (
        "IndexError",
        r"tensors used as indices must be (long|.*)",
        lambda *_: "A tensor can only be indexed by whole numbers (or by true and false); yours holds fractions.",
    ),
    (
        "RuntimeError",
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at .*dimension (\d+)",
        _sizes_differ,
    ),
    ("RuntimeError", r"shapes cannot be multiplied \((\d+x\d+) and (\d+x\d+)\)", _product),
    (
        "RuntimeError",
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)",
        lambda _, m: (
            f"A tensor was to be stretched to {m[1]} along an axis where it has {m[2]}; only size 1 stretches."
        ),
    ),
    (
        "RuntimeError",
        r"shape '(\[.*\])' is invalid for input of size (\d+)",
        lambda _, m: (
            f"A tensor of {m[2]} numbers cannot be given the shape {m[1]}: the product of the sizes must stay the same."
        ),
    ),
    (
        "RuntimeError",
        r"Expected all tensors to be on the same device",
        lambda *_: "The tensors are on different devices; move them all to one with `.to(device)`.",
    ),
    (
        "TypeError",
        r"cannot assign '.*' as parameter '(\w+)'",
        lambda _, m: (
            f"`{m[1]}` of a layer must stay a parameter, so that it can learn: wrap the tensor in `nn.Parameter(…)`."
        ),
    ),
    ("TypeError", r"'(\w+)' object is not subscriptable", _not_subscriptable),
    ("TypeError", r"(\w+)\(\): argument '\w+' .*must be .*, not (\w+)", _number_wanted),
    (
        "TypeError",
        r"(\w+)\(\) received an invalid combination",
        lambda _, m: f"`{m[1]}` was given arguments of kinds it cannot take.",
    ),
    (
        "TypeError",
        r"'(\w+)' object is not callable",
        lambda _, m: (
            f"{_one(m[1])} was called with round brackets, but it is not a function or a layer. Has a name been used "
            "twice?"
        ),
    ),
    (
        "TypeError",
        r"([\w.]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given",
        _too_many,
    ),
    ("TypeError", r"([\w.]+)\(\) missing \d+ required (?:\w+-only |positional )?arguments?: (.+)", _too_few),
    ("TypeError", r"unsupported operand type\(s\) for (\S+)(?: or pow\(\))?: '([\w.]+)' and '([\w.]+)'", _operator),
    (
        "NotImplementedError",
        r"is missing the required \"forward\" function",
        lambda *_: (
            "The layer was called, and has no method `forward`. Is it there, spelled like this, inside the class?"
        ),
    ),
    (
        "RuntimeError",
        r"backward through the graph a second time",
        lambda *_: (
            "The way back was gone already, or part of it: each `backward()` uses up what the steps before it have "
            "kept. Call it once, or work the number out anew before you call it again."
        ),
    ),
    (
        "RuntimeError",
        r"leaf Variable that requires grad .*in-place",
        lambda *_: (
            "A parameter was to be overwritten while torch takes notes for its gradient. Filling it with other numbers "
            "is no step to be learned from: do it where no notes are taken, inside `with torch.no_grad():`."
        ),
    ),
    (
        "RuntimeError",
        r"(?:to have the same dtype, but got: |same dtype.*: )([\w ]+?) != ([\w ]+)",
        lambda _, m: (
            f"The two sides of a product hold different kinds of numbers, {m[1]} and {m[2]}. Turn one into the kind of "
            "the other first."
        ),
    ),
    (
        "RuntimeError",
        r"Only Tensors of floating point and complex dtype can require gradients",
        lambda *_: "Only floating-point numbers can learn, and these are whole ones or truth values.",
    ),
    (
        "RuntimeError",
        r"grad can be implicitly created only for scalar outputs",
        lambda *_: (
            "`backward()` starts from one number, and this tensor holds several. Which single number is the loss?"
        ),
    ),
    (
        "RuntimeError",
        r"does not require grad and does not have a grad_fn",
        lambda *_: (
            "Nothing that can learn went into this number, or its way back was cut (`.detach()`, `.data`, "
            "`torch.no_grad()`), so `backward()` has nowhere to go."
        ),
    ),
    ("NameError", r"name '(\w+)' is not defined", _missing_name),
    ("UnboundLocalError", r"variable '(\w+)'", _missing_name),
    (
        "AttributeError",
        r"'(\w+)' object has no attribute '(\w+)'",
        lambda _, m: (
            f"{_one(m[1])} has nothing called `{m[2]}`. Is it spelled right, and is this the object you think it is?"
        ),
    ),
    (
        "AttributeError",
        r"cannot assign .* before Module.__init__\(\) call",
        lambda *_: "Call `super().__init__()` first thing in `__init__`: before that, a module can hold nothing.",
    ),
    (
        "SyntaxError",
        r"'(.)' was never closed",
        lambda _, m: f"The bracket `{m[1]}` on this line is opened but never closed.",
    ),
    ("SyntaxError", r"unmatched '(.)'", lambda _, m: f"The bracket `{m[1]}` closes something that was never opened."),
    (
        "SyntaxError",
        r"expected ':'",
        lambda *_: "A line that begins a block (def, for, if, class …) ends with a colon.",
    ),
    (
        "SyntaxError",
        r"cannot assign to .*",
        lambda *_: "Only a name can stand left of `=`; to compare two things write `==`.",
    ),
    ("SyntaxError", r"await.* outside", lambda *_: "`await` works only inside an `async def` function."),
)

_GENERAL = {
    "SyntaxError": "Python cannot read this line. Look at its brackets, quotes and commas, and at the line above.",
    "IndentationError": "The spaces at the beginning of this line do not fit the lines around it.",
    "TabError": "Tabs and spaces are mixed at the beginning of this line; use four spaces.",
    "RecursionError": "A function calls itself without end, or an expression is nested too deep.",
    "MemoryError": "Your code asks for more memory than a run may use. Which line makes a very large tensor or list?",
    "EOFError": "Nothing can be typed in here, so `input()` finds nothing to read. Write the value into your code.",
    "ModuleNotFoundError": "There is no such module here: there are torch, numpy and Python's own modules.",
    "ImportError": "That name cannot be imported from this module.",
    "PermissionError": (
        "A run may not do this: it has no network, no other processes or programs and no files but its own. Threads "
        "and asyncio do work."
    ),
    "KeyboardInterrupt": "Your code interrupted itself.",
    "ZeroDivisionError": "Something is divided by zero on this line.",
    "AssertionError": "One of your own `assert` lines does not hold.",
    "KeyError": "This dictionary has no such key.",
    "ValueError": "A function was given a value of the right kind that it cannot use. Its message says which.",
    "TypeError": "A function was given something of a kind that it cannot use. Its message says which.",
    "IndexError": "An index is outside of what it indexes.",
    "RuntimeError": "torch could not carry this line out; its message says what did not fit.",
}
