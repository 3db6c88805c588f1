"""
A provider of chat completions on loopback, over real sockets, that misbehaves on demand.

A `Behaviour` writes the answer to one request, byte by byte if need be. A provider is given one for
all requests, a list of them for the first few, and one for those whose number is to fail.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Container, Iterable
from dataclasses import dataclass, field
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

Behaviour = Callable[["Asked"], Awaitable[None]]
USAGE = {"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}
ANSWER = "What does row 3 of a table stand for?\n\nAnd which rows belong to `x`?"


@dataclass
class Asked:
    """A request, and the means to answer it."""

    number: int
    """Counted from 1."""
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    writer: asyncio.StreamWriter = field(repr=False)
    closed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set, in the provider's thread, once the client has closed the connection while it was being answered."""
    gone: Event = field(default_factory=Event, repr=False)
    """The same for other threads."""
    keeps_connection: bool = False

    @property
    def prompt(self) -> str:
        """All that the model is told, role by role."""
        return "\n".join(f"[{one['role']}] {one['content']}" for one in self.body["messages"])

    async def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: str = "200 OK", **headers: str) -> None:
        """Begin an answer in chunks."""
        given = {"content-type": "text/event-stream", "transfer-encoding": "chunked"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        await self.raw(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode())

    async def chunk(self, data: bytes) -> None:
        """Write one chunk of the body."""
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, value: object) -> None:
        """Write an event."""
        await self.chunk(f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode())

    async def end(self) -> None:
        """End the body in good order; the connection can be used again."""
        await self.raw(b"0\r\n\r\n")
        self.keeps_connection = True


def delta(text: str | None, **more: object) -> dict[str, Any]:
    """Return a chunk of a stream with one piece of an answer."""
    finish = more.pop("finish_reason", None)
    return {"choices": [{"index": 0, "delta": {"content": text} | more, "finish_reason": finish}]}


def answers(
    *pieces: str, usage: dict[str, int] | None = USAGE, finish: str | None = "stop", done: bool = True
) -> Behaviour:
    """Answer as a good provider does, piece by piece."""

    async def behave(asked: Asked) -> None:
        await asked.head()
        await asked.event(delta("", role="assistant"))
        for piece in pieces or (ANSWER,):
            await asked.event(delta(piece))
        if finish:
            await asked.event(delta(None, finish_reason=finish))
        if usage and asked.body.get("stream_options", {}).get("include_usage"):
            await asked.event({"choices": [], "usage": usage})
        if done:
            await asked.event("[DONE]")
        await asked.end()

    return behave


def letter_by_letter(text: str) -> Behaviour:
    """Answer in the smallest pieces."""
    return answers(*text)


def plain(body: object, *, content_type: str = "application/json", status: str = "200 OK", **headers: str) -> Behaviour:
    """Answer with one body that is no stream: an object as JSON, or bytes as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def behave(asked: Asked) -> None:
        await asked.head(status, content_type=content_type, **headers)
        if data:
            await asked.chunk(data)
        await asked.end()

    return behave


def refuses(status: str, body: object = "", **headers: str) -> Behaviour:
    """Answer with a status that is no success."""
    return plain(body, status=status, **headers)


def sends(*chunks: bytes, whole: bool = True, **headers: str) -> Behaviour:
    """Send just these bytes as the body, and then end it, or break off."""

    async def behave(asked: Asked) -> None:
        await asked.head(**headers)
        for chunk in chunks:
            await asked.chunk(chunk)
        if whole:
            await asked.end()

    return behave


def cut_off_after(*pieces: str) -> Behaviour:
    """Close the connection in the middle of an answer."""
    events = [f"data: {json.dumps(delta(piece))}\n\n".encode() for piece in pieces]
    return sends(*events, whole=False)


def hangs(*pieces: str, comments: bool = False) -> Behaviour:
    """Send these pieces, and then nothing more, or nothing but comments, until the client goes away."""

    async def behave(asked: Asked) -> None:
        await asked.head()
        for piece in pieces:
            await asked.event(delta(piece))
        while comments and not asked.closed.is_set():
            await asked.chunk(b": still there\n\n")
            await asyncio.sleep(0.01)
        await asked.closed.wait()

    return behave


def endless(piece: bytes) -> Behaviour:
    """Send the same bytes for ever."""

    async def behave(asked: Asked) -> None:
        await asked.head()
        while True:
            await asked.chunk(piece)

    return behave


async def slams_the_door(asked: Asked) -> None:
    """Close the connection without a word."""
    asked.writer.close()


class Provider:
    """The server. Use it in `with`; it runs in a thread of its own."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        """`behaviour` is what it does when nothing else is said."""
        self.behaviour = behaviour or answers()
        self.script: list[Behaviour] = []
        """For the next requests, one each."""
        self.failing: Container[int] = ()
        """Numbers of requests that fail, whatever else is said; anything that knows `in`."""
        self.failure: Behaviour = cut_off_after("What does")
        self.asked: list[Asked] = []
        """Every request so far."""
        self.first = Event()
        """Set once anything has been asked."""
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._started = Event()
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = Thread(target=self._run, name="provider", daemon=True)

    @property
    def base_url(self) -> str:
        """What to give as `tutor_base_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def then(self, behaviours: Iterable[Behaviour]) -> None:
        """Say what the next requests meet."""
        self.script.extend(behaviours)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, whatever is still being answered."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._answer_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"{}")
        asked = Asked(len(self.asked) + 1, lines[0].split()[1], headers, body, writer)
        self.asked.append(asked)
        self.first.set()
        watch = asyncio.create_task(_watch(reader, asked))
        try:
            await self._behaviour(asked.number)(asked)
        except ConnectionError:
            asked.gone.set()
            raise
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        return asked.keeps_connection and not writer.is_closing()

    def _behaviour(self, number: int) -> Behaviour:
        if number in self.failing:
            return self.failure
        return self.script.pop(0) if self.script else self.behaviour


async def _watch(reader: asyncio.StreamReader, asked: Asked) -> None:
    """Notice when the client closes; it sends nothing before its answer is complete."""
    while not reader.at_eof() and reader.exception() is None:  # noqa: ASYNC110  # to read would take the next request
        await asyncio.sleep(0.005)
    asked.closed.set()
    asked.gone.set()


@dataclass(frozen=True)
class Share:
    """A fixed share of all request numbers, spread evenly: `Share(30)` are three in each ten."""

    percent: int

    def __contains__(self, number: object) -> bool:
        """Say whether the request with this number is one of them."""
        return isinstance(number, int) and number * self.percent % 100 < self.percent
