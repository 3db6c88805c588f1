"""
Frames between the trusted parent and its runs: a fixed header, JSON, then raw tensors.

    magic 4s | type B | JSON bytes u32 | tensor bytes u32 | JSON | safetensors

Never pickle. Lengths are checked against a bound before a byte is read, so that a claimed 10 GB
costs nothing. The tensors inside stay unread in the parent: only another run, behind walls of its
own, opens them.
"""

import json
import math
import os
import select
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

HEADER = struct.Struct("<4sBII")
MAGIC = b"KLO1"
MAX_JSON_BYTES = 512 * 1024
MAX_TENSOR_BYTES = 16 * 1024 * 1024


class FrameType(IntEnum):
    """What a frame carries."""

    JOB = 1  # parent -> run: what to do
    READY = 8  # run -> parent: walls are up, starting code has run; what happens from now on is the student's
    OBSERVATION = 2  # student -> parent: what one trial made
    PROBE = 3  # parent -> student: seed of the random cotangent, and the trial after this one
    GRADIENTS = 4  # student -> parent: what the cotangent gave
    TRIAL_OBSERVATION = 6  # parent -> judge: what one trial made, while its gradients are still to come
    TRIAL_GRADIENTS = 15  # parent -> judge: they are here, or will not come
    OUTCOME = 7  # judge -> parent
    END = 9  # parent -> judge: no more observations come
    COMPILE = 10  # parent -> judge: compile this exercise's texts, instead of a job
    PROBING = 12  # student -> parent: the next step of a trial begins, most often the author's probe
    LEFT = 13  # student -> parent: this line of the student's code ends the whole process at once
    LOOP = 14  # student -> parent: the loop that it is in when most of its time is used up
    COMPILED = 11  # judge -> parent: the texts, to be sent along with later jobs
    SURVEY = 12  # parent -> judge: look at this exercise's own code and draws, instead of a job
    SURVEYED = 13  # judge -> parent: what was found


class FrameRefused(ValueError):
    """The bytes are no frame, or one larger than its bound."""


@dataclass(frozen=True)
class Frame:
    """One message."""

    type: FrameType
    body: dict[str, Any]
    tensors: bytes = b""

    def encode(self) -> bytes:
        """The frame as bytes. JSON without NaN, ASCII only: lone surrogates cannot break it."""
        body = _ENCODER.encode(self.body).encode("ascii")
        return HEADER.pack(MAGIC, self.type, len(body), len(self.tensors)) + body + self.tensors


def read_header(
    raw: bytes, *, max_json: int = MAX_JSON_BYTES, max_tensors: int = MAX_TENSOR_BYTES
) -> tuple[FrameType, int, int]:
    """
    Type, JSON length and tensor length in bytes.

    Raises:
        FrameRefused: not a frame, an unknown type, or over a bound.
    """
    magic, kind, json_bytes, tensor_bytes = HEADER.unpack(raw)
    if magic != MAGIC or kind not in FrameType._value2member_map_:
        raise FrameRefused("what came back is not a frame")
    if json_bytes > max_json or tensor_bytes > max_tensors:
        raise FrameRefused(f"a frame of {json_bytes + tensor_bytes} bytes is over the bound")
    return FrameType(kind), json_bytes, tensor_bytes


def decode_body(raw: bytes) -> dict[str, Any]:
    """
    The JSON of a frame.

    Raises:
        FrameRefused: no JSON object, one with a field twice, nested too deep, or not UTF-8.
    """
    try:
        body = _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise FrameRefused("the JSON of a frame cannot be read") from fault
    if not isinstance(body, dict):
        raise FrameRefused("the JSON of a frame is not an object")
    return body


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _unique(fields: list[tuple[str, object]]) -> dict[str, object]:
    body = dict(fields)
    if len(body) < len(fields):
        raise ValueError("a field is there twice")
    return body


_ENCODER = json.JSONEncoder(allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)


def receive(descriptor: int) -> Frame:
    """Read one frame, blocking: for the runs, whose deadline is kept from outside. Raises EOFError."""
    kind, json_bytes, tensor_bytes = read_header(
        _exactly(descriptor, HEADER.size), max_json=1 << 30, max_tensors=1 << 30
    )
    return Frame(kind, decode_body(_exactly(descriptor, json_bytes)), _exactly(descriptor, tensor_bytes))


def waiting(descriptor: int) -> bool:
    """Is there something to read already?"""
    return bool(select.select([descriptor], [], [], 0)[0])


def send(descriptor: int, frame: Frame) -> None:
    """Write one frame, blocking: for the runs."""
    rest = memoryview(frame.encode())
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _exactly(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise EOFError("the pipe was closed in the middle of a frame")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
