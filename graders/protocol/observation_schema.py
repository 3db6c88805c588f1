"""
The form of an observation: what a student's process may hand over of one trial, field by field, with a bound on each.

Theory of operation. A student's code shares its process with the harness that looks at it, and holds the pipe that the
harness speaks through, so every bit of an observation may be chosen by the student. The trusted parent therefore reads
it here, once, before it is passed on and before anything is made of it: plain JSON values and the header of the
tensors (safetensors), no numbers of theirs. Three rules make the rest of the way safe:

- Nothing is optional that a harness always writes, and nothing is there that it never writes: names, kinds and pairs
  are those that were asked for, a tensor is listed exactly where the description says that its numbers were read, and
  both say the same shape and type. What differs was not written by a harness.
- Whatever could later be allocated, counted through, multiplied or printed has a bound here, by itself and, where many
  make it large, in sum: axes, sizes, the product of sizes, leaves, entries, texts, whole numbers (64 bits).
- A harness keeps within these bounds by itself (`graders.student.observation`): an honest program that makes more gets
  a sentence about it from a check. So whoever is refused here has forged.

An observation that is refused counts as a run that handed over nothing: the student's `crashed`.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from graders.protocol.frames import Frame, decode_body
from graders.task import StudentPart

MAX_AXES = 16
MAX_SIZE = (1 << 31) - 1  # of one axis
MAX_PRODUCT = (1 << 62) - 1  # of the sizes of a shape whose numbers were not read
MAX_ELEMENTS = 1 << 20  # of one tensor whose numbers were read
MAX_TENSORS_BYTES = 12 * 1024 * 1024  # of one trial's outputs, inputs and operands
MAX_LEAVES = 64  # of one table
MAX_LEAVES_ELEMENTS = 1 << 21  # of all leaves of an observation together
MAX_MEMORY_STEP = (1 << 40) - 1  # in numbers: offsets and strides of leaves
MAX_INTEGER = (1 << 63) - 1
MAX_LIST, MAX_VALUE_DEPTH, MAX_VALUE_ENTRIES = 16, 8, 4096
MAX_VALUE_CHARS = 1000
MAX_NAME_CHARS = 100
MAX_MESSAGE_CHARS = 2000
MAX_CODE_CHARS = 200
MAX_PRINTED_CHARS = 10_000
MAX_TARGETS = 64
MAX_OPERANDS = 4
MAX_LOOP_NAMES = 3
MAX_PARTS = 12  # names in an expression that failed
MAX_PROBED = 64
MAX_FUNCTIONS = 20
MAX_HEADER_BYTES = 64 * 1024
MAX_LATE = 64
MAX_CALLS = 512
MAX_GRADIENT_FAULT_CHARS = 300
GRADIENT_WORDS = ("tensor", "none", "unusable")
GRADIENT_FAULT = "error "  # before what was raised, in the place of one of these words
DTYPES: Mapping[str, tuple[str, int]] = {  # of safetensors: torch's name, bytes of a number
    "F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "I64": ("int64", 8), "I32": ("int32", 4), "I16": ("int16", 2), "I8": ("int8", 1), "U8": ("uint8", 1),
    "BOOL": ("bool", 1),
}  # fmt: skip
_KINDS = ("missing", "tensor", "array", "table", "value", "other")
_VIAS = ("tensor", "parameter", "weight", "only-parameter", "nothing", "several")
_OPERAND = "operand:"  # before an operand's name, where the tensors are listed
_LENGTH_BYTES = 8
_DTYPE = re.compile(r"[a-z0-9_]{1,40}")
Rule = Callable[[Any], None]
Listed = dict[str, tuple[str, tuple[int, ...]]]  # tensors by name: torch's type, shape


class ObservationRefused(ValueError):
    """An observation is not of the form that a harness writes."""


class ObservationSchema:
    """The form of all observations of one exercise."""

    def __init__(self, part: StudentPart) -> None:
        """`part`: the exercise as a student's process gets it."""
        self._outputs = [name for name, _ in part.outputs]
        self._inputs = list(part.inputs)
        self._calls = part.calls
        self._pairs = {f"{of}>{to}" for of, to in part.gradients}

    def check_observation(self, frame: Frame, *, again: bool = False) -> None:
        """What one trial made; `again`: with other numbers in its tables. Raises ObservationRefused."""
        try:
            body = dict(frame.body)
            if again:
                _listing(body.pop("late"), most=MAX_LATE, each=lambda one: _listing(one, most=2, each=_NAME))
            self._observation(body, _listed(frame.tensors, max_bytes=MAX_TENSORS_BYTES))
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise ObservationRefused(f"not an observation: {fault!r:.200}") from fault

    @staticmethod
    def check_loop(body: Any) -> None:  # noqa: ANN401  any JSON value
        """The loop that a program was in when its time was nearly over. Raises ObservationRefused."""
        try:
            _fields(body, {"line", "word", "unchanged", "no_way_out"})
            _COUNT(body["line"])
            _one_of(("for", "while"))(body["word"])
            _listing(body["unchanged"], most=MAX_LOOP_NAMES, each=_identifier)
            _truth(body["no_way_out"])
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise ObservationRefused(f"not a loop: {fault!r:.200}") from fault

    def check_gradients(self, frame: Frame, *, again: bool = False) -> None:
        """The gradients of one trial; `again` as above, and then there is no third time. Raises ObservationRefused."""
        try:
            listed = _listed(frame.tensors, max_bytes=len(frame.tensors))
            _fields(frame.body, {"gradients"} if again else {"gradients", "again"})
            _truth(frame.body.get("again", False))
            words = frame.body["gradients"]
            _fields(words, self._pairs)
            for word in words.values():
                _gradient_word(word)
            _require(listed.keys() == {pair for pair, word in words.items() if word == "tensor"}, "tensors not listed")
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise ObservationRefused(f"not gradients: {fault!r:.200}") from fault

    def _observation(self, body: dict[str, Any], listed: Listed) -> None:
        asked = {"calls"} if self._calls else set()
        _fields(body, {"outputs", "inputs", "fault", "probed", "exited", "printed", "defined", *asked})
        _listing(body.get("calls", []), most=MAX_CALLS, each=_NAME)
        outputs, inputs, fault = body["outputs"], body["inputs"], body["fault"]
        _require(list(outputs) == self._outputs and list(inputs) == self._inputs, "other names than those asked for")
        named = [*outputs.items(), *inputs.items()]
        if fault is not None:
            _fault(fault, more={"operands"})
            _mapping(fault["operands"], most=MAX_OPERANDS)
            named += [(f"{_OPERAND}{name}", description) for name, description in fault["operands"].items()]
        for _, description in named:
            _description(description)
        _agree(named, listed)
        leaves = [leaf for description in outputs.values() for leaf in description.get("leaves", ())]
        _require(sum(math.prod(leaf["shape"]) for leaf in leaves) <= MAX_LEAVES_ELEMENTS, "leaves too large in sum")
        _mapping(body["probed"], most=MAX_PROBED)
        for one in body["probed"].values():
            _fault(one)
        if body["exited"] is not None:
            _fields(body["exited"], {"line", "code"})
            _maybe(_COUNT)(body["exited"]["line"])
            _text(MAX_CODE_CHARS)(body["exited"]["code"])
        _text(MAX_PRINTED_CHARS)(body["printed"])
        _listing(body["defined"], most=MAX_FUNCTIONS, each=lambda one: _listing(one, most=1 + len(outputs), each=_NAME))


def _require(holds: bool, what: str) -> None:  # noqa: FBT001  the one thing it is about
    if not holds:
        raise ObservationRefused(what)


def _fields(value: Any, names: set[str]) -> None:  # noqa: ANN401  any JSON value
    """An object with just these fields."""
    _require(type(value) is dict and value.keys() == names, "other fields than a harness writes")


def _mapping(value: Any, *, most: int) -> None:  # noqa: ANN401
    """An object with at most so many short names."""
    _require(type(value) is dict and len(value) <= most, "more entries than a harness writes")
    for name in value:
        _NAME(name)


def _listing(value: Any, *, most: int, each: Rule) -> None:  # noqa: ANN401
    _require(type(value) is list and len(value) <= most, "more entries than a harness writes")
    for one in value:
        each(one)


def _text(most: int) -> Rule:
    def rule(value: Any) -> None:  # noqa: ANN401
        _require(type(value) is str and len(value) <= most, "a short text was expected")

    return rule


def _one_of(words: tuple[str, ...]) -> Rule:
    def rule(value: Any) -> None:  # noqa: ANN401
        _require(type(value) is str and value in words, "an unknown word")

    return rule


def _gradient_word(value: Any) -> None:  # noqa: ANN401
    _text(len(GRADIENT_FAULT) + MAX_GRADIENT_FAULT_CHARS)(value)
    _require(value in GRADIENT_WORDS or value.startswith(GRADIENT_FAULT), "an unknown word")


def _whole(most: int, *, least: int = 0) -> Rule:
    def rule(value: Any) -> None:  # noqa: ANN401
        _require(type(value) is int and least <= value <= most, "a whole number within its bounds was expected")

    return rule


def _truth(value: Any) -> None:  # noqa: ANN401
    _require(type(value) is bool, "a truth value was expected")


def _whole_numbers(value: Any, *, most: int) -> None:  # noqa: ANN401
    """A size or step for each axis: in one go, for there are dozens of these lists in each observation."""
    short = type(value) is list and len(value) <= MAX_AXES
    within = short and all(type(one) is int and 0 <= one <= most for one in value)
    _require(within, "whole numbers within their bounds were expected, one for each axis")


def _shape(value: Any, *, most: int = MAX_PRODUCT) -> int:  # noqa: ANN401
    """Sizes; returns how many numbers they are."""
    _whole_numbers(value, most=MAX_SIZE)
    numbers: int = math.prod(value)
    _require(numbers <= most, "a shape of too many numbers")
    return numbers


def _sizes(value: Any) -> None:  # noqa: ANN401
    _shape(value)


def _leaves(value: Any) -> None:  # noqa: ANN401
    _listing(value, most=MAX_LEAVES, each=_leaf)


def _leaf(value: Any) -> None:  # noqa: ANN401
    _fields(value, {"storage", "offset", "shape", "stride"})
    _COUNT(value["storage"])
    _STEP(value["offset"])
    _shape(value["shape"], most=MAX_ELEMENTS)
    _whole_numbers(value["stride"], most=MAX_MEMORY_STEP)
    _require(len(value["shape"]) == len(value["stride"]), "a leaf without as many strides as axes")


def _value(value: Any) -> None:  # noqa: ANN401
    """A plain value; the lists that are still to be looked through are counted before they are."""
    waiting, entries = [(value, 0)], 0
    while waiting:
        one, depth = waiting.pop()
        if type(one) is list:
            entries += len(one)
            within = len(one) <= MAX_LIST and depth < MAX_VALUE_DEPTH and entries <= MAX_VALUE_ENTRIES
            _require(within, "a list larger or deeper than a harness hands over")
            waiting += [(part, depth + 1) for part in one]
        else:
            _plain(one)


def _plain(value: Any) -> None:  # noqa: ANN401
    if type(value) is int:
        _require(abs(value) <= MAX_INTEGER, "a whole number of more than 64 bits")
    elif type(value) is float:
        _require(math.isfinite(value), "a number that is not finite")
    elif value is not None and type(value) is not bool:
        _text(MAX_VALUE_CHARS)(value)


def _dtype(value: Any) -> None:  # noqa: ANN401
    _require(type(value) is str and bool(_DTYPE.fullmatch(value)), "no name of a type of numbers")


def _identifier(value: Any) -> None:  # noqa: ANN401
    _NAME(value)
    _require(value.isidentifier(), "a name was expected")


def _span(value: Any) -> None:  # noqa: ANN401
    """Line, column, end line, end column."""
    _listing(value, most=4, each=_COUNT)
    _require(len(value) == 4, "a span has four numbers")  # noqa: PLR2004


def _parts(value: Any) -> None:  # noqa: ANN401
    """What the names in a failing expression stood for."""
    _mapping(value, most=MAX_PARTS)
    for part in value.values():
        _fields(part, set(_PART))
        for name, rule in _PART.items():
            rule(part[name])


def _maybe(rule: Rule) -> Rule:
    """The same, or None."""
    return lambda value: None if value is None else rule(value)


def _range(value: Any) -> None:  # noqa: ANN401
    """Least and largest of whole numbers."""
    _listing(value, most=2, each=_whole(MAX_INTEGER, least=-MAX_INTEGER))
    _require(len(value) == 2, "a range has two ends")  # noqa: PLR2004


def _short(value: Any) -> None:  # noqa: ANN401
    """A number, a truth value or a short text."""
    _require(type(value) is not str or len(value) <= MAX_NAME_CHARS, "a short text was expected")
    _plain(value)


_NAME, _COUNT, _STEP = _text(MAX_NAME_CHARS), _whole(MAX_SIZE), _whole(MAX_MEMORY_STEP)
_LISTED_DTYPE = _one_of(tuple(DTYPES))
_ABOUT = {"dtype", "shape", "data_offsets"}
_DESCRIPTION: Mapping[str, Rule] = {
    "kind": _one_of(_KINDS),
    "type": _NAME,
    "via": _one_of(_VIAS),
    "dtype": _dtype,
    "shape": _sizes,
    "refused": _text(MAX_CODE_CHARS),
    "requires_grad": _truth,
    "storage": _COUNT,
    "leaves": _leaves,
    "value": _value,
}
_PART: Mapping[str, Rule] = {
    "type": _NAME,
    "dtype": lambda value: None if value == "" else _dtype(value),
    "shape": _maybe(_sizes),
    "range": _maybe(_range),
    "learns": _truth,
    "length": _maybe(_COUNT),
    "value": _short,
}
_FAULT: Mapping[str, Rule] = {
    "type": _NAME,
    "builtin": _truth,
    "message": _text(MAX_MESSAGE_CHARS),
    "memory": _truth,
    "line": _maybe(_COUNT),
    "parsed": _truth,
    "code": _text(MAX_CODE_CHARS),
    "targets": lambda value: _listing(value, most=MAX_TARGETS, each=_NAME),
    "on_self": _truth,
    "span": _maybe(_span),
    "parts": _parts,
}
_READ = {"shape", "dtype", "requires_grad", "storage"}  # there together, if the numbers were read


def _description(description: Any) -> None:  # noqa: ANN401
    """What is said of the value under one name."""
    _require(
        type(description) is dict and description.keys() <= _DESCRIPTION.keys(), "other fields than a harness writes"
    )
    for name, value in description.items():
        _DESCRIPTION[name](value)
    kind = description["kind"]
    if kind == "missing":
        _fields(description, {"kind"})
    _require(("value" in description) == (kind == "value"), "a value that is none")
    if "storage" in description:
        _require(
            kind not in ("missing", "value") and description.keys() >= _READ and "refused" not in description,
            "read or not?",
        )
    if "leaves" in description:
        _require(kind == "table" and "storage" in description, "leaves of what is no table")


def _fault(description: Any, *, more: frozenset[str] | set[str] = frozenset()) -> None:  # noqa: ANN401
    """An exception."""
    _fields(description, {*_FAULT, *more})
    for name, rule in _FAULT.items():
        rule(description[name])


def _agree(named: list[tuple[str, Any]], listed: Listed) -> None:
    """The tensors are just those whose numbers were read, of the type and shape that the description says."""
    # of an input that is an output too, what was looked at last is listed
    read = {
        name: (description["dtype"], tuple(description["shape"]))
        for name, description in named
        if "storage" in description
    }
    _require(read == listed, "the tensors are not those that the descriptions speak of")


def _listed(packed: bytes, *, max_bytes: int) -> Listed:
    """The tensors that the header of safetensors lists; it must account for every byte, and for none twice."""
    if not packed:
        return {}
    size = int.from_bytes(packed[:_LENGTH_BYTES], "little")
    begin = _LENGTH_BYTES + size
    _require(size <= MAX_HEADER_BYTES and begin <= len(packed), "the tensors' header is longer than what there is")
    header = decode_body(packed[_LENGTH_BYTES:begin])
    _require(len(packed) - begin <= max_bytes, "the tensors are too large in sum")
    listed: Listed = {}
    places = []
    for name, about in header.items():
        _fields(about, _ABOUT)
        _LISTED_DTYPE(about["dtype"])
        numbers = _shape(about["shape"], most=MAX_ELEMENTS)
        _whole_numbers(about["data_offsets"], most=MAX_SIZE)
        first, last = about["data_offsets"]
        dtype, item_bytes = DTYPES[about["dtype"]]
        _require(last - first == numbers * item_bytes, "a tensor of other bytes than its shape has")
        places.append((first, last))
        listed[name] = dtype, tuple(about["shape"])
    end = 0
    for first, last in sorted(places):
        _require(first == end, "bytes of the tensors belong to none or to two")
        end = last
    _require(end == len(packed) - begin, "more bytes than tensors")
    return listed
