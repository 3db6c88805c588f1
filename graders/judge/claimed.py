"""
Reading a student's claims. They are hostile until shown otherwise: wherever they are not exactly
what a student's harness writes, `ClaimRefused` says so, and the run counts as having handed over nothing.
"""

import builtins
from dataclasses import dataclass, field
from typing import Any

import torch
from safetensors import deserialize

_DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
    "BOOL": torch.bool,
}  # fmt: skip
_KINDS = ("missing", "tensor", "array", "table", "value", "other")
_MAX_TEXT = 4000
_MAX_PRINTED = 10_000


class ClaimRefused(Exception):
    """The claim is not of the form that a harness writes."""


@dataclass(frozen=True)
class Made:
    """What a student made under one name."""

    kind: str  # missing | tensor | array | table | value | other
    type: str = ""  # the type's name, for words only
    via: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    refused: str = ""  # why its numbers were not read
    requires_grad: bool = False
    storage: int = -1
    span: tuple[int, int] = (0, 0)  # bytes within the storage
    tensor: torch.Tensor | None = None
    value: Any = None  # of a plain value

    @property
    def readable(self) -> bool:
        """Are its numbers there?"""
        return self.tensor is not None


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
    operands: dict[str, Made] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """All that one trial handed over."""

    outputs: dict[str, Made]
    inputs: dict[str, Made]
    fault: Fault | None
    probed: dict[str, Fault]  # how a line of the probe failed, by the output it was to make
    printed: str
    defined: tuple[tuple[str, ...], ...]  # functions with the outputs that are made inside them
    gradients: dict[str, torch.Tensor | str]  # by "of>to": a tensor, "none" or "error"

    def made(self, name: str) -> Made:
        """What stands under an output's name."""
        return self.outputs.get(name, Made("missing"))


def read(body: Any, packed: bytes, gradients: Any, packed_gradients: bytes) -> Claim:  # noqa: ANN401  hostile
    """
    One trial's claim.

    Args:
        body: the JSON of the claim frame.
        packed: its safetensors.
        gradients: the JSON of the gradient frame, or None if it never came.
        packed_gradients: its safetensors.

    Raises:
        ClaimRefused: in any way not what a harness writes.
    """
    try:
        tensors = unpack(packed)
        return Claim(
            outputs={name: _made(name, facts, tensors) for name, facts in body["outputs"].items()},
            inputs={name: _made(name, facts, tensors) for name, facts in body["inputs"].items()},
            fault=_fault(body["fault"], tensors),
            probed={_text(name): _known_fault(one, {}) for name, one in body["probed"].items()},
            printed=_text(body["printed"], limit=_MAX_PRINTED),
            defined=tuple(tuple(_text(name) for name in one) for one in body["defined"]),
            gradients=_gradients(gradients, unpack(packed_gradients)) if gradients is not None else {},
        )
    except Exception as fault:
        raise ClaimRefused("what came out of the run cannot be read") from fault


def unpack(packed: bytes) -> dict[str, torch.Tensor]:
    """Safetensors as tensors, by name; their own header says shape and dtype."""
    if not packed:
        return {}
    return {name: _tensor(view) for name, view in deserialize(packed)}  # type: ignore[no-untyped-call]


def _tensor(view: dict[str, Any]) -> torch.Tensor:
    dtype = _DTYPES[view["dtype"]]
    if not len(view["data"]):
        return torch.empty(view["shape"], dtype=dtype)
    return torch.frombuffer(view["data"], dtype=dtype).reshape(view["shape"])


def _made(name: str, facts: dict[str, Any], tensors: dict[str, torch.Tensor], prefix: str = "") -> Made:
    kind = facts["kind"]
    if kind not in _KINDS:
        raise ClaimRefused(f"unknown kind {kind!r:.40}")
    tensor = tensors.get(prefix + name) if "refused" not in facts else None
    shape = tuple(tensor.shape) if tensor is not None else tuple(int(size) for size in facts.get("shape", ()))
    begin, end = facts.get("span", (0, 0))
    return Made(
        kind=kind,
        type=_text(facts.get("type", "")),
        via=_text(facts.get("via", "")),
        dtype=str(tensor.dtype).removeprefix("torch.") if tensor is not None else _text(facts.get("dtype", "")),
        shape=shape,
        refused=_text(facts.get("refused", "")),
        requires_grad=facts.get("requires_grad", False) is True,
        storage=int(facts.get("storage", -1)),
        span=(int(begin), int(end)),
        tensor=tensor,
        value=_value(facts.get("value")),
    )


def _value(raw: Any) -> Any:  # noqa: ANN401
    if isinstance(raw, list):
        return [_value(one) for one in raw]
    if raw is None or isinstance(raw, bool | int | float):
        return raw
    return _text(raw)


def _fault(facts: dict[str, Any] | None, tensors: dict[str, torch.Tensor]) -> Fault | None:
    return _known_fault(facts, tensors) if facts is not None else None


def _known_fault(facts: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Fault:
    line = facts["line"]
    return Fault(
        type=_text(facts["type"]),
        # a student may name a class after one of Python's own, but not make more names its own
        builtin=facts["builtin"] is True and hasattr(builtins, _text(facts["type"])),
        message=_text(facts["message"]),
        memory=facts["memory"] is True,
        line=int(line) if line is not None else None,
        parsed=facts["parsed"] is True,
        code=_text(facts["code"]),
        targets=tuple(_text(name) for name in facts["targets"]),
        operands={
            name: _made(name, one, tensors, prefix="operand:") for name, one in facts.get("operands", {}).items()
        },
    )


def _gradients(words: dict[str, Any], tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | str]:
    found: dict[str, torch.Tensor | str] = {}
    for pair, word in words["gradients"].items():
        found[pair] = tensors[pair] if word == "tensor" else _text(word)
    return found


def _text(value: Any, *, limit: int = _MAX_TEXT) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise ClaimRefused("a text was expected")
    return value[:limit]
