"""Questions with numbers in them, worked out: shapes with other sizes, numbers that a layer holds, memory."""

import math
import re
from collections.abc import Mapping

from app.clients.tutor.port import TutorContext
from app.services.tutor.offline.diagnosis import asked_shape, mentioned

_MOST = 10**15
_GIVEN = re.compile(r"\b([A-Za-z][A-Za-z_]{0,30}?)(?:[ _]?size)? ?(?:=|is|of) ?(\d{1,9})\b")
_SHAPE = re.compile(r"\[ ?(\d{1,9}(?: ?, ?\d{1,9}){0,9}) ?\]")
_TABLE = re.compile(
    r"\bembedding ?\( ?(?:num_embeddings ?= ?)?(\d{1,9}) ?, ?(?:embedding_dim ?= ?)?(\d{1,9})\b", re.IGNORECASE
)
_LINEAR = re.compile(
    r"\blinear ?\( ?(?:in_features ?= ?)?(\d{1,9}) ?, ?(?:out_features ?= ?)?(\d{1,9})(?: ?, ?(bias ?= ?false))?",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b(how many|number of|count|parameters?|numbers|weights|learnable)\b", re.IGNORECASE)
_MEMORY = re.compile(r"\b(bytes?|memory|mb|mib|kib|gb|gib|megabytes?|ram|big)\b", re.IGNORECASE)
_SHAPED = re.compile(r"\b(shapes?|sizes?|dimensions?|come out|comes out|output|result|give|gives)\b", re.IGNORECASE)
_OPERATION = re.compile(r"\] ?(\+|@|\*|plus|times|and) ?\[")
_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_SETUP = re.compile(r"^([A-Za-z_]\w{0,40}) {0,10}= {0,10}(\d{1,9})\b", re.MULTILINE)
_LITERAL = re.compile(r"(?<![\w.])(\d{1,9})(?![\w.])")
_CALL = re.compile(r"\b[A-Za-z_][\w.]{0,60}\([^()\n]{0,200}\)")


def worked_out(context: TutorContext, question: str) -> str:
    """Return the answer to a question that gives all the numbers it needs; empty if it is none of that kind."""
    if _is_the_task(context, question):
        return ""
    for answer in (
        _quantity_of(question),
        _looked_up(question),
        _combined(question),
        _with_other_sizes(context, question),
    ):
        if answer:
            return answer
    return ""


def literal_sizes(context: TutorContext, question: str) -> str:
    """Say which name of the starting code a number typed into a call stands for; empty if there is no such call."""
    named: dict[int, list[str]] = {}
    for name, number in _SETUP.findall(context.setup):
        named.setdefault(int(number), []).append(name)
    typed = [int(number) for call in _CALL.findall(question) for number in _LITERAL.findall(call)]
    fits = [number for number in typed if number in named]
    if not fits:
        return ""
    names = " and ".join(f"`{name}`" for name in named[fits[0]])
    is_are = "is" if len(named[fits[0]]) == 1 else "are"
    return (
        f"With today's sizes it gives the right numbers, but {fits[0]} stands for something here: {names} {is_are} "
        f"{fits[0]}. Your code is tried with other sizes as well, where a typed-in {fits[0]} is wrong."
    )


def _is_the_task(context: TutorContext, question: str) -> bool:
    """Is the number asked for the one that a question of the course asks for? Then it stays the student's to find."""
    given = set(_LITERAL.findall(question))
    return not context.names and bool(given & set(_LITERAL.findall(context.statement)))


def _quantity_of(question: str) -> str:
    """Count what a layer holds, or its bytes."""
    table, linear = _TABLE.search(question), _LINEAR.search(question)
    if not (_COUNTED.search(question) or _MEMORY.search(question)):
        return ""
    if table:
        rows, length = int(table[1]), int(table[2])
        number, how = rows * length, f"{rows} rows of {length} numbers are {rows} × {length} = {rows * length}"
    elif linear:
        ins, outs = int(linear[1]), int(linear[2])
        bias = 0 if linear[3] else outs
        number = ins * outs + bias
        how = f"{ins} × {outs} = {ins * outs} weights" + (
            f" and {bias} numbers of the bias, {number} in all" if bias else ""
        )
    else:
        return ""
    if number > _MOST:
        return ""
    if not _MEMORY.search(question):
        return f"{how}. Each of them can learn."
    size = number * 4
    return (
        f"{how}. In `float32` each takes 4 bytes: {size} bytes, that is {size / 1e6:.6g} MB or {size / 2**20:.6g} MiB."
    )


def _looked_up(question: str) -> str:
    """Say what comes out of a table for ids of a given shape."""
    table, shape = _TABLE.search(question), _SHAPE.search(question)
    if not table or not shape:
        return ""
    ids = _sizes(shape[1])
    return (
        f"Ids of shape `{ids}` give `{[*ids, int(table[2])]}`: the shape of the ids stays, and one axis of {table[2]} "
        f"is added at the end. The {table[1]} rows only say which ids may be asked for."
    )


def _combined(question: str) -> str:
    """Say what a sum or a product of two shapes gives."""
    shapes = [_sizes(found) for found in _SHAPE.findall(question)]
    operation = _OPERATION.search(question)
    if len(shapes) != 2 or operation is None:  # noqa: PLR2004  two sides
        return ""
    one, other = shapes
    if operation[1] == "@":
        return _product(one, other)
    if operation[1] == "and":
        return ""
    together = _broadcast(one, other)
    if together is None:
        return (
            f"`{one}` and `{other}` do not go together: lined up from the right, two sizes are neither equal nor 1. "
            "PyTorch stops there with an error."
        )
    return f"`{one}` and `{other}` together give `{together}`: lined up from the right, sizes are equal, 1 or missing."


def _product(one: list[int], other: list[int]) -> str:
    if len(one) != 2 or len(other) != 2:  # noqa: PLR2004  matrices
        return ""
    if one[1] != other[0]:
        return (
            f"`{one}` @ `{other}` cannot be multiplied: the {one[1]} columns of the first are not as many as the "
            f"{other[0]} rows of the second."
        )
    return f"`{one}` @ `{other}` gives `{[one[0], other[1]]}`: the inner size {one[1]} is summed over."


def _broadcast(one: list[int], other: list[int]) -> list[int] | None:
    longest = max(len(one), len(other))
    pairs = zip([1] * (longest - len(one)) + one, [1] * (longest - len(other)) + other, strict=True)
    found = [max(a, b) if a == b or 1 in (a, b) else -1 for a, b in pairs]
    return None if -1 in found else found


def _with_other_sizes(context: TutorContext, question: str) -> str:
    """Put the sizes that a question gives into the shapes that the task's table writes with names."""
    given = {name.lower(): int(number) for name, number in _GIVEN.findall(question)}
    if not given or not _SHAPED.search(question):
        return ""
    names = mentioned(context, question) or list(context.names)
    said = []
    for name in names:
        shape = asked_shape(context, name)
        symbols = [part.strip() for part in shape.strip("[]").split(",")] if shape else []
        sizes = [_size(symbol, given) for symbol in symbols]
        if symbols and all(size is not None for size in sizes):
            said.append(f"`{name}` is `{sizes}`, for the task writes it as `{shape}`")
    if not said:
        return ""
    rest = (
        " The number of rows of a table does not show in a shape, only how long a row is."
        if "vocab" in question
        else ""
    )
    return f"With these sizes {'; '.join(said)}.{rest}"


def _size(symbol: str, given: Mapping[str, int]) -> int | None:
    if symbol.isdigit():
        return int(symbol)
    exact = given.get(symbol.lower())
    if exact is not None:
        return exact
    near = [
        number for name, number in given.items() if symbol.lower().startswith(name) or name in symbol.lower().split("_")
    ]
    return near[0] if len(near) == 1 and _SYMBOL.fullmatch(symbol) else None


def _sizes(text: str) -> list[int]:
    sizes = [int(size) for size in text.split(",")]
    return sizes if math.prod(sizes) <= _MOST else sizes[:1]
