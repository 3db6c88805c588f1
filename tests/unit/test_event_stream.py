"""Server-sent events are read as the standard has it, in pieces of any size."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.tutor import EngineFailed
from app.clients.tutor.stream import EventReader

STREAM = (
    "\ufeff: a comment\r\nevent: x\r\ndata: one\r\n\r\ndata:zwei ü🙂\rdata:\rdata: three\r\r\n"
    "id: 7\nretry: 5\n\ndata\n\ndata:  x\n\n"
)
EVENTS = ["one", "zwei ü🙂\n\nthree", "", " x"]


def read(*pieces: bytes, **facts: int) -> list[str]:
    """Return the data of all events."""
    reader = EventReader(**facts)
    return [data for piece in pieces for data in reader.feed(piece)]


@given(st.lists(st.integers(min_value=0, max_value=len(STREAM.encode())), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    """In the midst of a letter, and between the two halves of a line end."""
    whole = STREAM.encode()
    places = [0, *sorted(cuts), len(whole)]
    assert read(*(whole[a:b] for a, b in pairwise(places))) == EVENTS


def test_single_bytes_are_enough() -> None:
    """The slowest of all streams."""
    assert read(*(bytes([byte]) for byte in STREAM.encode())) == EVENTS


@pytest.mark.parametrize(
    ("end", "last"), [("data: x", "x"), ("data: x\n", "x"), ("data: x\n\n", None), (": x", None), ("", None)]
)
def test_event_at_the_very_end_needs_no_empty_line(end: str, last: str | None) -> None:
    """Some servers close right after `[DONE]`."""
    reader = EventReader()
    reader.feed(end.encode())
    assert reader.close() == last


@pytest.mark.parametrize("data", [b"data: " + b"x" * 200, b"x" * 200, b"data: xxxxxxxx\n" * 20])
@pytest.mark.parametrize("size", [1, 50, 1000])
def test_line_or_event_without_end_is_refused(data: bytes, size: int) -> None:
    """Nothing grows without bounds, neither a line nor an event of many."""
    with pytest.raises(EngineFailed, match="endless"):
        read(*(data[start : start + size] for start in range(0, len(data), size)), most_line_bytes=100)


def test_bytes_that_are_no_text_are_refused() -> None:
    """JSON is UTF-8; what is not cannot be guessed."""
    with pytest.raises(EngineFailed, match="malformed"):
        read(b"data: \xff\n\n")


@pytest.mark.parametrize(
    ("data", "is_stream"), [(b"words\n\nand words\n", False), (b": ping\n\n", True), (b"data: x\n\n", True)]
)
def test_stream_is_told_from_words(data: bytes, is_stream: bool) -> None:  # noqa: FBT001
    """A body without a single field is something else."""
    reader = EventReader()
    reader.feed(data)
    assert reader.has_fields is is_stream
