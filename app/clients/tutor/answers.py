"""One answer of a chat-completions endpoint, from the bytes of its body: a stream of events, or plain JSON."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import httpx2

from app.clients.tutor.chat import Chunk, Wording, read_chunk
from app.clients.tutor.port import EngineFailed
from app.clients.tutor.stream import MOST_LINE_BYTES, EventReader

_CHARACTERS_A_TOKEN = 16
"""On average over an answer there are four; one with four times as many does not keep to its limit."""
_BYTES_A_TOKEN = 2048
"""Of the body: each token is wrapped into some hundred bytes, thoughts that are not shown too."""
_DONE = "[DONE]"
_BLANK = b"\xef\xbb\xbf \t\r\n"
_USAGE_WAIT_S = 2.0
"""How long to wait for the chunk with the usage, or the end of the stream, once the answer is there."""
_DRAIN_S = 0.5

Deadline = Callable[[], float]


def _nothing() -> None:
    """Nobody asked to be told."""


class StreamedAnswer:
    """
    Reads an answer to its end, and says what it has cost.

    What the body is, is told by how it begins, not by its content type: some servers answer a request
    for a stream with plain JSON, and some send streams under wrong names.
    """

    def __init__(self, body: AsyncGenerator[bytes], *, most_tokens: int) -> None:
        """`body` is the undecoded body; it is far too long for an answer of `most_tokens` when it has no end."""
        self.tokens: int | None = None
        """What was used, where the provider says so."""
        self._body = body
        self._most_characters = most_tokens * _CHARACTERS_A_TOKEN
        self._most_bytes = MOST_LINE_BYTES + most_tokens * _BYTES_A_TOKEN
        self._bytes = self._characters = 0
        self._has_words = self._is_finished = False
        self._wording = Wording()

    async def texts(self, deadline: Deadline, *, on_token: Callable[[], None] = _nothing) -> AsyncGenerator[str]:
        """
        Yield the answer as it comes.

        Args:
            deadline: gives the moment, on the event loop's clock, at which the next token must be there.
            on_token: called for each token, shown or not, when the wait for the next one begins.

        Raises:
            EngineFailed: `malformed`, `cut-off`, `endless`, or what the provider says itself.
            TimeoutError: the deadline has passed.
        """
        async with aclosing(self._chunks(deadline)) as chunks:
            async for chunk in chunks:
                if chunk.tokens is not None:
                    self.tokens = chunk.tokens
                self._is_finished |= chunk.is_finished
                if text := self._shown(chunk.text):
                    yield text
                if chunk.is_alive:
                    on_token()
        if not self._is_finished:
            raise EngineFailed("cut-off")

    def rest(self) -> str:
        """
        Return what was held back of the answer's end.

        Raises:
            EngineFailed: `empty`, there was not a word in all of it.
        """
        rest = self._wording.rest()
        if not (self._has_words or rest.strip()):
            raise EngineFailed("empty")
        return rest

    async def drain(self) -> None:
        """Read on to the end of the body, which is near, so that the connection can be used again."""
        try:
            async with asyncio.timeout(_DRAIN_S):
                while await self._read():
                    pass
        except (TimeoutError, EngineFailed, httpx2.HTTPError):
            return  # then it is closed

    def _shown(self, text: str) -> str:
        self._characters += len(text)
        if self._characters > self._most_characters:
            raise EngineFailed("endless")
        shown = self._wording.take(text)
        self._has_words |= bool(shown.strip())
        return shown

    async def _chunks(self, deadline: Deadline) -> AsyncGenerator[Chunk]:
        start = await self._start(deadline)
        if start[:1] == b"{":
            yield await self._whole(start, deadline)
            return
        reader, piece = EventReader(), start
        while piece:
            for data in reader.feed(piece):
                if self._is_done(data):
                    return
                yield read_chunk(data)
            piece = await self._next(deadline)
        for chunk in self._last(reader.close()):
            yield chunk
        if not reader.has_fields:
            raise EngineFailed("malformed")

    def _is_done(self, data: str) -> bool:
        is_done = data.strip() == _DONE
        self._is_finished |= is_done
        return is_done

    async def _start(self, deadline: Deadline) -> bytes:
        """Return the first bytes that are not blank, if an answer can begin like that."""
        start = b""
        while not start and (piece := await self._next(deadline)):
            start = piece.lstrip(_BLANK)
        if not start:
            raise EngineFailed("empty")
        if start[:1] in {b"<", b"["}:  # a page, or a list
            raise EngineFailed("malformed")
        return start

    async def _whole(self, start: bytes, deadline: Deadline) -> Chunk:
        """Read an answer that is one object. It is whole if it can be read, whether it says so or not."""
        pieces = [start]
        while piece := await self._next(deadline):
            pieces.append(piece)
        self._is_finished = True
        return read_chunk(b"".join(pieces))

    def _last(self, data: str | None) -> list[Chunk]:
        """Read an event that the end of the stream has cut short, if it was only of its empty line."""
        if data is None or self._is_done(data):
            return []
        try:
            return [read_chunk(data)]
        except EngineFailed as failure:
            raise EngineFailed("cut-off" if failure.reason == "malformed" else failure.reason) from None

    async def _next(self, deadline: Deadline) -> bytes:
        """Return more of the body; nothing at its end, or when all is said and nothing more comes."""
        if not self._is_finished:
            async with asyncio.timeout_at(deadline()):
                return await self._read()
        try:
            async with asyncio.timeout(_USAGE_WAIT_S):
                return await self._read()
        except (TimeoutError, httpx2.HTTPError):
            return b""

    async def _read(self) -> bytes:
        """Return the next piece that is not empty; nothing at the end."""
        async for piece in self._body:
            self._bytes += len(piece)
            if self._bytes > self._most_bytes:
                raise EngineFailed("endless")
            if piece:
                return piece
        return b""
