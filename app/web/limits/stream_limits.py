"""
How many event streams may be open: of an account, and of a network.

A stream costs a connection, a descriptor and a look at the database now and then, for as long as its client likes.
Who opens one more than may be loses the one that was opened first: a browser that was reloaded, or a tab that was
forgotten, gives way to the one that is looked at. The one that is closed is told to come back in a while (`retry`),
not at once, or two tabs would take turns without end; whatever it then misses is the first thing a new stream tells.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import TypeVar

from fastapi import Request
from fastapi.sse import ServerSentEvent

from app.web.limits.connection_limits import network_of

T = TypeVar("T")

COME_BACK_MS = 15_000
CLOSED = ServerSentEvent(raw_data="too many streams are open", event="busy", retry=COME_BACK_MS)
"""The last event of a stream that had to give way."""


class Stream:
    """One open stream. Told apart by itself."""

    def __init__(self) -> None:
        """Nobody wants it closed yet."""
        self.closed = asyncio.Event()


class Streams:
    """All that are open in this process. To be used in the event loop only."""

    def __init__(self, *, per_account: int, per_network: int) -> None:
        """Begin with none."""
        self._most = {"account": per_account, "network": per_network}
        self._open: dict[tuple[str, str], OrderedDict[Stream, None]] = {}

    @contextmanager
    def opened(self, *, account_id: str, network: str) -> Iterator[Stream]:
        """Open one, and have the oldest closed of an account or a network that has too many."""
        stream, keys = Stream(), (("account", account_id), ("network", network))
        for key in keys:
            mine = self._open.setdefault(key, OrderedDict())
            mine[stream] = None
            for oldest in list(mine)[: max(0, len(mine) - self._most[key[0]])]:
                oldest.closed.set()
                mine.pop(oldest)
        try:
            yield stream
        finally:
            for key in keys:
                mine = self._open.get(key, OrderedDict())
                mine.pop(stream, None)
                if not mine:
                    self._open.pop(key, None)

    def count(self, kind: str, who: str) -> int:
        """Return how many are open of an `account` or a `network`."""
        return len(self._open.get((kind, who), ()))


async def until_closed(stream: Stream, source: AsyncGenerator[T]) -> AsyncGenerator[T | None]:
    """Yield what a source does, until it ends; None at the end if the stream had to give way before."""
    closing = asyncio.ensure_future(stream.closed.wait())
    try:
        async with aclosing(source):
            while not stream.closed.is_set():
                coming = asyncio.ensure_future(_next(source))
                try:
                    await asyncio.wait({coming, closing}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not coming.done():
                        coming.cancel()
                        with suppress(asyncio.CancelledError):
                            await coming
                if coming.cancelled():
                    break
                try:
                    yield coming.result()
                except StopAsyncIteration:
                    return
        yield None
    finally:
        closing.cancel()


async def limited(
    streams: Streams, request: Request, account_id: str, source: AsyncGenerator[T]
) -> AsyncGenerator[T | None]:
    """Yield what a source does, as one of the streams of whoever has sent a request; None if it had to give way."""
    network = network_of(request.client.host if request.client else "")
    with streams.opened(account_id=account_id, network=network) as stream:
        async with aclosing(until_closed(stream, source)) as items:
            async for item in items:
                yield item


def _next(source: AsyncGenerator[T]) -> Awaitable[T]:
    return anext(source)
