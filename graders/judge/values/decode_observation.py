"""
Reading a student's observations, which the parent has found to be within `graders.protocol.observation_schema`. Where
one is not what was asked for all the same, `UnreadableObservation` says so, and the run counts as having handed over
nothing.
"""

import builtins
import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from safetensors import deserialize

from graders.protocol.frames import Frame
from graders.protocol.observation_schema import DTYPES
from graders.protocol.wire import (
    DescriptionJson,
    ExitJson,
    ExpressionNameJson,
    FaultJson,
    LeafJson,
    TensorView,
)
from graders.task import StudentPart

_DTYPES = {name: getattr(torch, known) for name, (known, _) in DTYPES.items()}


class UnreadableObservation(Exception):
    """The observation is not of the form that a harness writes."""


@dataclass(frozen=True)
class Leaf:
    """Numbers that take a gradient themselves, by where they lie in memory."""

    storage: int
    offset: int  # in numbers, as the stride
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class Observed:
    """What a student made under one name."""

    kind: str  # missing | tensor | array | table | value | other
    type: str = ""  # the type's name, for words only
    via: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    refused: str = ""  # why its numbers were not read
    requires_grad: bool = False
    storage: int = -1
    leaves: tuple["Leaf", ...] = ()  # of a table: what an optimiser would have to change
    tensor: torch.Tensor | None = None
    value: Any = None  # of a plain value

    @property
    def readable(self) -> bool:
        """Are its numbers there?"""
        return self.tensor is not None


MISSING = Observed("missing")
Gradients = Mapping[str, torch.Tensor | str]  # by "of>to": a tensor, "none", "unusable" or "error …"


class AwaitedGradients(Gradients):
    """
    Gradients that a student's process is still at: whoever looks at them waits for them, and the rest can go on.

    Looking raises each time what `receive` raises.
    """

    def __init__(self, receive: Callable[[], Gradients]) -> None:
        """`receive`: waits for them; called until it does not raise."""
        self._receive = receive

    @functools.cached_property
    def _received(self) -> Gradients:
        return self._receive()

    def wait(self) -> None:
        """Until they are here. Raises UnreadableObservation."""
        _ = self._received

    def __getitem__(self, pair: str) -> torch.Tensor | str:
        """By "of>to"."""
        return self._received[pair]

    def __iter__(self) -> Iterator[str]:
        """The pairs."""
        return iter(self._received)

    def __len__(self) -> int:
        """How many pairs."""
        return len(self._received)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Ones that wait with these, and then are a copy of them."""
        return type(self)(lambda: copy.deepcopy(self._received))


@dataclass(frozen=True)
class ExpressionName:
    """What a name in the failing expression stood for."""

    type: str
    dtype: str = ""
    shape: tuple[int, ...] | None = None  # a layer's: that of its weight
    range: tuple[int, int] | None = None  # least and largest of whole numbers
    learns: bool = False
    length: int | None = None
    value: Any = None  # of a number, a truth value or a short text


@dataclass(frozen=True)
class Fault:
    """The exception that ended the student's code."""

    type: str
    builtin: bool
    message: str
    memory: bool
    line: int | None
    parsed: bool
    code: str
    targets: tuple[str, ...]
    on_self: bool = False  # the name that was looked for is one that `self` holds
    operands: dict[str, Observed] = field(default_factory=dict)
    span: tuple[int, int, int, int] | None = None  # line, column, end line, end column of the expression
    parts: dict[str, ExpressionName] = field(default_factory=dict)  # by the name as it is written


@dataclass(frozen=True)
class Exit:
    """Where the student's code ended itself before its last line."""

    line: int | None
    code: str


@dataclass(frozen=True)
class Observation:
    """All that one trial handed over."""

    outputs: dict[str, Observed]
    inputs: dict[str, Observed]
    fault: Fault | None
    probed: dict[str, Fault]  # how a line of the probe failed, by the output it was to make
    printed: str
    defined: tuple[tuple[str, ...], ...]  # functions with the outputs that are made inside them
    gradients: Gradients
    exited: Exit | None = None
    calls: tuple[str, ...] = ()  # names of operations that ran, where they were asked for
    late: tuple[tuple[str, str], ...] = ()  # [table, output]: the output was there before the table was found

    def made(self, name: str) -> Observed:
        """What stands under an output's name."""
        return self.outputs.get(name, MISSING)


def read(part: StudentPart, made: Frame, found: Frame | None) -> Observation:
    """
    One trial's observation.

    Args:
        part: what the student's process was asked for; just that must come back.
        made: the observation frame.
        found: the gradient frame, or None if it never came.

    Raises:
        UnreadableObservation: in any way not what a harness writes.
    """
    return read_awaiting(part, made, read_gradients(part, found))


def read_awaiting(part: StudentPart, made: Frame, gradients: Gradients) -> Observation:
    """The same with gradients that are known, or awaited. Raises UnreadableObservation."""
    try:
        return _observation(part, made.body, unpack(made.tensors), gradients)
    except Exception as fault:
        raise UnreadableObservation("what came out of the run cannot be read") from fault


def read_gradients(part: StudentPart, found: Frame | None) -> Gradients:
    """One trial's gradients: none if they never came. Raises UnreadableObservation."""
    if found is None:
        return {}
    try:
        gradients = _gradients(found.body["gradients"], unpack(found.tensors))
    except Exception as fault:
        raise UnreadableObservation("what came out of the run cannot be read") from fault
    if gradients.keys() != {f"{of}>{to}" for of, to in part.gradients}:
        raise UnreadableObservation("other gradients than those asked for")
    return gradients


def _observation(
    part: StudentPart, body: dict[str, Any], tensors: dict[str, torch.Tensor], gradients: Gradients
) -> Observation:
    outputs = {name: _observed(name, description, tensors) for name, description in body["outputs"].items()}
    inputs = {name: _observed(name, description, tensors) for name, description in body["inputs"].items()}
    if list(outputs) != [name for name, _ in part.outputs] or tuple(inputs) != part.inputs:
        raise UnreadableObservation("other names than those asked for")
    return Observation(
        outputs=outputs,
        inputs=inputs,
        fault=_fault(body["fault"], tensors),
        probed={_text(name): _known_fault(one, {}) for name, one in body["probed"].items()},
        printed=_text(body["printed"]),
        defined=tuple(tuple(_text(name) for name in one) for one in body["defined"]),
        gradients=gradients,
        exited=_exit(body["exited"]) if body["exited"] is not None else None,
        calls=tuple(_text(name) for name in body.get("calls", ())),
        late=tuple((_text(table), _text(output)) for table, output in body.get("late", ())),
    )


def unpack(packed: bytes) -> dict[str, torch.Tensor]:
    """Safetensors as tensors, by name; their own header says shape and dtype."""
    if not packed:
        return {}
    return {name: _tensor(view) for name, view in deserialize(packed)}  # type: ignore[no-untyped-call]


def _tensor(view: TensorView) -> torch.Tensor:
    dtype = _DTYPES[view["dtype"]]
    if not len(view["data"]):
        return torch.empty(view["shape"], dtype=dtype)
    return torch.frombuffer(view["data"], dtype=dtype).reshape(view["shape"])


def _observed(name: str, description: DescriptionJson, tensors: dict[str, torch.Tensor], prefix: str = "") -> Observed:
    tensor = tensors.get(prefix + name) if "refused" not in description else None
    shape = tuple(tensor.shape) if tensor is not None else tuple(int(size) for size in description.get("shape", ()))
    return Observed(
        kind=description["kind"],
        type=_text(description.get("type", "")),
        via=_text(description.get("via", "")),
        dtype=str(tensor.dtype).removeprefix("torch.") if tensor is not None else _text(description.get("dtype", "")),
        shape=shape,
        refused=_text(description.get("refused", "")),
        requires_grad=description.get("requires_grad", False) is True,
        storage=int(description.get("storage", -1)),
        leaves=tuple(_leaf(one) for one in description.get("leaves", ())),
        tensor=tensor,
        value=_value(description.get("value")),
    )


def _leaf(raw: LeafJson) -> Leaf:
    shape, stride = tuple(int(size) for size in raw["shape"]), tuple(int(step) for step in raw["stride"])
    return Leaf(int(raw["storage"]), int(raw["offset"]), shape, stride)


def _value(raw: Any) -> Any:  # noqa: ANN401
    if isinstance(raw, list):
        return [_value(one) for one in raw]
    if raw is None or isinstance(raw, bool | int | float):
        return raw
    return _text(raw)


def _exit(description: ExitJson) -> Exit:
    return Exit(int(description["line"]) if description["line"] is not None else None, _text(description["code"]))


def _fault(description: FaultJson | None, tensors: dict[str, torch.Tensor]) -> Fault | None:
    return _known_fault(description, tensors) if description is not None else None


def _known_fault(description: FaultJson, tensors: dict[str, torch.Tensor]) -> Fault:
    line = description["line"]
    return Fault(
        type=_text(description["type"]),
        # a student may name a class after one of Python's own, but not make more names its own
        builtin=description["builtin"] is True and hasattr(builtins, _text(description["type"])),
        message=_text(description["message"]),
        memory=description["memory"] is True,
        line=int(line) if line is not None else None,
        parsed=description["parsed"] is True,
        code=_text(description["code"]),
        targets=tuple(_text(name) for name in description["targets"]),
        on_self=description["on_self"] is True,
        operands={
            name: _observed(name, one, tensors, prefix="operand:")
            for name, one in description.get("operands", {}).items()
        },
        span=tuple(map(int, description["span"])) if description["span"] is not None else None,  # type: ignore[arg-type]
        parts={_text(name): _expression_name(one) for name, one in description["parts"].items()},
    )


def _expression_name(description: ExpressionNameJson) -> ExpressionName:
    return ExpressionName(
        type=_text(description["type"]),
        dtype=_text(description["dtype"]),
        shape=tuple(map(int, description["shape"])) if description["shape"] is not None else None,
        range=(int(description["range"][0]), int(description["range"][1]))
        if description["range"] is not None
        else None,
        learns=description["learns"] is True,
        length=int(description["length"]) if description["length"] is not None else None,
        value=_value(description["value"]),
    )


def _gradients(words: dict[str, str], tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | str]:
    found: dict[str, torch.Tensor | str] = {}
    for pair, word in words.items():
        found[pair] = tensors[pair] if word == "tensor" else _text(word)
    return found


def _text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise UnreadableObservation("a text was expected")
    return value
