"""
Server-sent events, read from bytes that arrive in pieces of any size.

As the HTML standard has it: lines end in LF, CRLF or CR, a line that begins with a colon is a
comment, `data` of several lines is joined, an empty line ends an event. It is lenient in one
thing: an event that the end of the stream cuts short of its empty line counts too, because some
servers close right after `data: [DONE]`.
"""

import re

from app.clients.tutor.port import EngineFailed

MOST_LINE_BYTES = 256 * 1024
"""Of one line, and of the data of one event; a token with all that belongs to it takes a few hundred."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELDS = {b"", b"data", b"event", b"id", b"retry"}
"""Those that the standard knows, and comments, which have no name."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventReader:
    """Turns bytes into the data of events. Of the other fields none means anything here."""

    def __init__(self, *, most_line_bytes: int = MOST_LINE_BYTES) -> None:
        """A line or an event with more bytes than that is no longer one that a server in its right mind sends."""
        self.has_fields = False
        """Whether anything has come that belongs into such a stream."""
        self._most = most_line_bytes
        self._rest = bytearray()
        self._searched = 0
        self._after_cr = False
        self._at_start = True
        self._data: list[str] = []
        self._data_bytes = 0

    def feed(self, piece: bytes) -> list[str]:
        """
        Take bytes in, and return the data of each event that they complete.

        Raises:
            EngineFailed: `endless`, a line without end; `malformed`, not UTF-8.
        """
        self._rest += piece
        if self._after_cr and self._rest:
            self._after_cr = False
            if self._rest[:1] == b"\n":  # the other half of a CRLF
                del self._rest[:1]
        found = [data for line in self._lines() if (data := self._take(line)) is not None]
        if len(self._rest) > self._most:
            raise EngineFailed("endless")
        return found

    def close(self) -> str | None:
        """Return the data of an event that was never ended, if there is one."""
        last = bytes(self._rest)
        self._rest.clear()
        return self._take(last) or self._take(b"")

    def _lines(self) -> list[bytes]:
        """Cut the complete lines off; what is left is searched no second time."""
        lines, start = [], 0
        for end in _LINE_END.finditer(self._rest, self._searched):
            lines.append(bytes(self._rest[start : end.start()]))
            start = end.end()
            self._after_cr = end.group() == b"\r" and start == len(self._rest)
        del self._rest[:start]
        self._searched = len(self._rest)
        return lines

    def _take(self, line: bytes) -> str | None:
        """Take a line in; an empty one gives the data so far."""
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            data, self._data, self._data_bytes = self._data, [], 0
            return "\n".join(data) if data else None
        name, _, value = line.partition(b":")
        self.has_fields |= name in _FIELDS
        if name == b"data":
            self._keep(value.removeprefix(b" "))
        return None

    def _keep(self, value: bytes) -> None:
        self._data_bytes += len(value)
        if max(len(value), self._data_bytes) > self._most:
            raise EngineFailed("endless")
        try:
            self._data.append(value.decode())
        except UnicodeDecodeError:
            raise EngineFailed("malformed") from None
