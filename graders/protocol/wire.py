"""
The JSON of an observation, as a harness writes it and the judge reads it.

`observation_schema` has looked at each before it is read: what stands here is what it lets through.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

PlainValue = None | bool | int | float | str | Sequence["PlainValue"]


class TensorView(TypedDict):
    """One tensor of a safetensors buffer."""

    dtype: str
    shape: list[int]
    data: bytes


class LeafJson(TypedDict):
    """A table that an output's graph goes back to: where its numbers lie, counted in elements."""

    storage: int
    offset: int
    shape: list[int]
    stride: list[int]


class DescriptionJson(TypedDict):
    """What is said of one value beside its numbers."""

    kind: str
    type: NotRequired[str]
    via: NotRequired[str]
    dtype: NotRequired[str]
    shape: NotRequired[list[int]]
    refused: NotRequired[str]
    requires_grad: NotRequired[bool]
    storage: NotRequired[int]
    leaves: NotRequired[list[LeafJson]]
    value: NotRequired[PlainValue]


class ExitJson(TypedDict):
    """The statement that ended the code early; `line` is None outside of the student's part."""

    line: int | None
    code: str


class ExpressionNameJson(TypedDict):
    """A name, or a part, of the expression that raised, as far as it can be told in JSON."""

    type: str
    dtype: str
    shape: list[int] | None
    range: list[int] | None
    learns: bool
    length: int | None
    value: PlainValue


class FaultJson(TypedDict):
    """An exception in the student's code."""

    type: str
    builtin: bool
    message: str
    memory: bool
    line: int | None
    parsed: bool
    code: str
    targets: list[str]
    on_self: bool
    operands: NotRequired[dict[str, DescriptionJson]]
    span: list[int] | None
    parts: dict[str, ExpressionNameJson]
