"""
What a student's code prints: hardly dearer than in any Python, and what can be seen of it is not lost.

A run may be ended at any moment, from outside, by a fault in C or by itself, and then whatever waits in a buffer of its
process is gone. Writing each piece at once loses nothing, but it calls the kernel and wakes the reader each time:
ten times what printing costs in a Python that writes blocks. So a piece is written at once where that is cheap, and
kept back only in a burst:

    the first 1 KiB, and whatever comes a while after the piece before it     at once
    in a burst, as far as it is shown at all                                  by a thread that looks every 20 ms
    past what is shown                                                        blocks of 64 KiB, which are only counted

What a fault in C can take along is thus the end of a burst, of at most 20 ms. stdout and stderr share one way out, so
their order is kept. On other data than the lesson's nothing is written at all.

Python's own rules hold: `sys.stdout.buffer` can be wrapped anew, `detach` and `close` do what they say, and
`sys.__stdout__` holds on to the stream, so that it is not closed when `sys.stdout` is bound to another. A stream is a
`TextIOWrapper` right on an unbuffered `Sink`, for the wrapper's own buffer can be switched while it is written to.
"""

import _thread
import contextlib
import io
import os
import sys
import threading
import time
from typing import Any

_AT_ONCE_BYTES = 1024
_BURST_S = 0.002  # what comes sooner after a piece that was written belongs to the same burst
_LOOK_S = 0.02
_BLOCK_BYTES = 64 * 1024
_PRINTED_BYTES = 8192  # of stdout, for the checks that look at it
_STAGES = 2
_PIECES_BYTES = 4096  # so far each piece reaches the sink by itself: the dots of `print(".", end="")` too


class _WayOut:
    """The descriptor that both streams write to."""

    def __init__(self, *, shown_bytes: int) -> None:
        self.shown_bytes = shown_bytes
        self.seen_bytes = 0
        self._block = bytearray()
        self._written_s = 0.0
        self._looked_after = False
        self._over = False
        self._lock = threading.RLock()  # a signal's handler may print in the middle of a print

    def add(self, part: memoryview) -> None:
        """Write it, at once or soon."""
        with self._lock:
            self._block += part
            self.seen_bytes += len(part)
            if self.seen_bytes > self.shown_bytes:
                at_once = len(self._block) >= _BLOCK_BYTES or self.seen_bytes - len(part) <= self.shown_bytes
            else:
                now_s = time.monotonic()
                at_once = self.seen_bytes <= _AT_ONCE_BYTES or now_s - self._written_s > _BURST_S
                self._written_s = now_s if at_once else self._written_s
            if at_once or not self._has_watch():
                self._write()

    def drain(self) -> None:
        """Write what waits."""
        with self._lock:
            self._write()

    def close(self) -> None:
        """Write what waits; nothing comes after it."""
        self.drain()
        self._over = True

    def _write(self) -> None:
        rest, self._block = memoryview(self._block), bytearray()
        while rest:
            rest = rest[os.write(1, rest) :]

    def _has_watch(self) -> bool:
        if not self._looked_after:
            with contextlib.suppress(RuntimeError):  # no more threads: then each piece is written at once
                _thread.start_new_thread(self._look, ())
                self._looked_after = True
        return self._looked_after

    def _look(self) -> None:
        while not self._over:
            time.sleep(_LOOK_S)
            with contextlib.suppress(OSError):
                self.drain()


class Sink(io.BufferedIOBase):
    """The end of a stream: keeps the beginning, counts, and passes it on or nowhere."""

    def __init__(self, descriptor: int, way_out: _WayOut) -> None:
        """Nothing is written yet. `descriptor`: 1 or 2."""
        super().__init__()
        self._descriptor, self._way_out = descriptor, way_out
        self._stage = 0
        self.kept = bytearray()
        self.stream: io.TextIOWrapper | None = None
        self.name, self.mode = f"<{'stdout' if descriptor == 1 else 'stderr'}>", "wb"

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor's number."""
        return self._descriptor

    @property
    def raw(self) -> "Sink":
        """What lies below; nothing does."""
        return self

    def write(self, part: Any) -> int:  # noqa: ANN401  any buffer
        """All of it, at once or soon."""
        if self.closed:
            raise ValueError("write to closed file")
        with memoryview(part).cast("B") as plain:
            size = len(plain)
            if len(self.kept) < _PRINTED_BYTES:
                self.kept += plain[: _PRINTED_BYTES - len(self.kept)]
            if self._way_out.shown_bytes:
                self._way_out.add(plain)
        if self._stage < _STAGES:
            self._enter_stage()
        return size

    def _enter_stage(self) -> None:
        """Let more and more wait in the text's own buffer."""
        bound = _PIECES_BYTES if self._stage == 0 else self._way_out.shown_bytes
        if self._way_out.seen_bytes > bound:
            with contextlib.suppress(ValueError, AttributeError):  # detached or closed by the student
                self.stream.reconfigure(write_through=False, line_buffering=self._stage == 0)  # type: ignore[union-attr]
            self._stage += 1


class OutputStreams:
    """stdout and stderr of one trial."""

    def __init__(self, *, shown_bytes: int) -> None:
        """`shown_bytes`: how much of them can be seen by anybody; 0 on other data than the lesson's."""
        self._way_out = _WayOut(shown_bytes=shown_bytes)
        self._sinks = [Sink(descriptor, self._way_out) for descriptor in (1, 2)]
        self._texts = [_text_stream(sink, at_once=shown_bytes > 0) for sink in self._sinks]

    def install(self) -> None:
        """Print to these from now on."""
        sys.stdout, sys.stderr = self._texts
        sys.__stdout__, sys.__stderr__ = self._texts  # type: ignore[misc]

    def printed(self) -> str:
        """The beginning of what was printed to stdout, up to a whole character."""
        _flush(sys.stdout, self._texts[0])
        return bytes(self._sinks[0].kept).decode("utf-8", "replace").rstrip("\ufffd")

    def flush(self) -> None:
        """Get the words out so far; the student may have closed or replaced the streams."""
        _flush(sys.stdout, sys.stderr, *self._texts)
        with contextlib.suppress(BaseException):
            self._way_out.drain()

    def close(self) -> None:
        """Get the last words out."""
        self.flush()
        with contextlib.suppress(BaseException):
            self._way_out.close()


def _flush(*streams: Any) -> None:  # noqa: ANN401  a student's
    for stream in streams:
        with contextlib.suppress(BaseException):
            stream.flush()


def _text_stream(sink: Sink, *, at_once: bool) -> io.TextIOWrapper:
    sink.stream = io.TextIOWrapper(sink, encoding="utf-8", errors="backslashreplace", write_through=at_once)
    return sink.stream


def silence() -> None:
    """From now on what is written to the descriptors themselves goes nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
