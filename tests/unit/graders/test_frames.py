"""Frames are bounded before they are read, and nothing but a frame is taken for one."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.protocol.frames import (
    HEADER,
    MAGIC,
    MAX_JSON_BYTES,
    MAX_TENSOR_BYTES,
    Frame,
    FrameRefused,
    FrameType,
    decode_body,
    read_header,
    receive,
    send,
)


def test_a_frame_comes_out_of_a_pipe_as_it_went_in() -> None:
    """Type, JSON and tensors survive the way through a pipe."""
    inlet, outlet = os.pipe()
    frame = Frame(FrameType.OBSERVATION, {"text": "ü\ud800"}, b"\0\1\2")
    send(outlet, frame)
    assert receive(inlet) == frame
    os.close(inlet)
    os.close(outlet)


def test_a_closed_pipe_is_told_from_a_frame() -> None:
    """Half a frame is an end, not a wait."""
    inlet, outlet = os.pipe()
    os.write(outlet, Frame(FrameType.OBSERVATION, {}).encode()[:-1])
    os.close(outlet)
    with pytest.raises(EOFError):
        receive(inlet)
    os.close(inlet)


@pytest.mark.parametrize(
    "header",
    [
        HEADER.pack(b"NOPE", 2, 0, 0),
        HEADER.pack(MAGIC, 200, 0, 0),
        HEADER.pack(MAGIC, 2, MAX_JSON_BYTES + 1, 0),
        HEADER.pack(MAGIC, 2, 0, MAX_TENSOR_BYTES + 1),
        HEADER.pack(MAGIC, 2, 2**32 - 1, 2**32 - 1),
    ],
    ids=["no magic", "unknown type", "too much JSON", "too many tensors", "eight gigabytes"],
)
def test_a_header_over_its_bounds_is_refused(header: bytes) -> None:
    """Lengths are looked at before anything is read."""
    with pytest.raises(FrameRefused):
        read_header(header)


@pytest.mark.parametrize(
    "body", [b"[]", b"1", b'{"a": NaN}', b"{", b"\xff", b"[" * 100_000], ids=lambda body: repr(body[:8])
)
def test_a_body_that_is_no_plain_json_object_is_refused(body: bytes) -> None:
    """Lists, NaN, broken text and endless nesting are refused alike."""
    with pytest.raises(FrameRefused):
        decode_body(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(raw: bytes) -> None:
    """No bytes at all lead to another exception than a refusal."""
    try:
        if len(raw) >= HEADER.size:
            read_header(raw[: HEADER.size])
        decode_body(raw)
    except FrameRefused:
        pass
