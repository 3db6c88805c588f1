"""Clients that hold connections without asking for anything take nothing from others."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
import uvicorn

from app.web.limits import connection_limits
from app.web.limits.connection_limits import BoundedProtocol, network_of

Finish = Callable[[Coroutine[Any, Any, Any]], Any]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
    """Answer with the length of the body."""
    assert scope["type"] == "http"
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]})
    await send({"type": "http.response.body", "body": f"{length:6}".encode()})


@contextlib.asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[Callable[[], Coroutine[Any, Any, Streams]]]:  # noqa: ANN401
    """Serve over real sockets; yield how to open a connection."""
    given: dict[str, Any] = {"proxy_headers": False, "lifespan": "off", "log_config": None} | settings
    config = uvicorn.Config(echo, port=0, http=BoundedProtocol, **given)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server._serve())  # noqa: SLF001  without the handlers for signals
    while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    opened: list[asyncio.StreamWriter] = []

    async def connect() -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        opened.append(writer)
        return reader, writer

    try:
        yield connect
    finally:
        for writer in opened:
            writer.close()
        server.should_exit = True
        await task


async def ask(streams: Streams, body: bytes = b"") -> bytes:
    """Send a whole request, and return the status line."""
    reader, writer = streams
    writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(6)
    return head.splitlines()[0]


async def trickle(streams: Streams, first: bytes, every_s: float = 0.05) -> float:
    """Send a byte now and then until the connection is ended; return the seconds that it took."""
    reader, writer = streams
    begun_s = time.monotonic()
    writer.write(first)
    ended = asyncio.ensure_future(reader.read())
    while not ended.done() and time.monotonic() - begun_s < 20:
        with contextlib.suppress(ConnectionError):
            writer.write(b"a")
        await asyncio.wait({ended}, timeout=every_s)
    ended.cancel()
    with contextlib.suppress(asyncio.CancelledError, ConnectionError):
        await ended
    return time.monotonic() - begun_s


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"GET / HTTP/1.1\r\nx-a: ",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nxGET / HTTP/1.1\r\nx-a: ",
    ],
    ids=["nothing", "headers", "body", "chunk", "second request"],
)
def test_request_that_trickles_is_ended(first: bytes, finish: Finish, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte is a sign of life, and none of them winds the clock up."""
    monkeypatch.setattr(connection_limits, "HEADERS_S", 0.4)
    monkeypatch.setattr(connection_limits, "BODY_S", 0.6)

    async def story() -> float:
        async with served() as connect:
            return await trickle(await connect(), first)

    assert 0.3 < finish(story()) < 10


def test_connection_that_is_kept_may_be_used_again(finish: Finish, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of one request does not end the next, nor a pause between them."""
    monkeypatch.setattr(connection_limits, "HEADERS_S", 0.4)
    monkeypatch.setattr(connection_limits, "BODY_S", 0.4)

    async def story() -> list[bytes]:
        async with served(timeout_keep_alive=30) as connect:
            streams, told = await connect(), []
            for _ in range(4):
                told.append(await ask(streams, b"x" * 200_000))
                await asyncio.sleep(0.3)
            return told

    assert finish(story()) == [b"HTTP/1.1 200 OK"] * 4


def test_half_requests_leave_room_for_whole_ones(finish: Finish) -> None:
    """Of a network few are waited for, the newest; whoever sends a request is answered."""

    async def story() -> tuple[int, bytes]:
        async with served() as connect:
            halves = [await connect() for _ in range(3 * connection_limits.SENDING_PER_NETWORK)]
            for _, writer in halves:
                writer.write(b"GET / HT")
            told = await ask(await connect())
            ended = await asyncio.gather(*(is_ended(reader) for reader, _ in halves))
            return sum(ended), told

    ended, told = finish(story())
    assert told == b"HTTP/1.1 200 OK"
    assert ended >= 2 * connection_limits.SENDING_PER_NETWORK


def test_whole_requests_that_come_at_once_are_all_answered(finish: Finish) -> None:
    """Far more than may be sending, all taken in at one turn of the loop: what they have sent is there, and is read."""

    async def story() -> list[bytes]:
        async with served() as connect:
            port = (await connect())[1].get_extra_info("peername")[1]
            number = 3 * connection_limits.SENDING_PER_NETWORK
            sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(number)]
            for one in sockets:  # none is taken in meanwhile: this is the server's own loop
                one.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            opened = [await asyncio.open_connection(sock=one) for one in sockets]
            told = await asyncio.gather(*(reader.readline() for reader, _ in opened))
            for _, writer in opened:
                writer.close()
            return list(told)

    assert set(finish(story())) == {b"HTTP/1.1 200 OK\r\n"}


def test_full_server_prefers_whole_requests(finish: Finish, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room, one that is still sending makes some, whatever network it is in."""
    monkeypatch.setattr(connection_limits, "SENDING_PER_NETWORK", 1000)

    async def story() -> bytes:
        async with served(limit_concurrency=20) as connect:
            for _ in range(60):
                (await connect())[1].write(b"GET / HT")
            streams = await connect()
            await asyncio.sleep(0.1)
            streams[1].write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            return await streams[0].readline()

    assert finish(story()).startswith(b"HTTP/1.1 ")


def test_connections_of_a_trusted_proxy_are_not_counted_together(finish: Finish) -> None:
    """They are everyone's."""

    async def story() -> int:
        async with served(proxy_headers=True, forwarded_allow_ips="10.0.0.1,127.0.0.0/8") as connect:
            halves = [await connect() for _ in range(connection_limits.SENDING_PER_NETWORK + 20)]
            for _, writer in halves:
                writer.write(b"GET / HT")
            await ask(await connect())
            return sum(await asyncio.gather(*(is_ended(reader) for reader, _ in halves)))

    assert finish(story()) == 0


async def is_ended(reader: asyncio.StreamReader) -> bool:
    """Say whether the other side has closed."""
    with contextlib.suppress(TimeoutError, ConnectionError):
        await asyncio.wait_for(reader.read(), connection_limits.READ_WITHIN_S + 1)
        return True
    return reader.exception() is not None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.200", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", True),
        ("2001:db8:0:100::1", "2001:db8:0:200::1", False),
        ("::ffff:192.0.2.1", "192.0.2.7", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("testclient", "elsewhere", False),
    ],
)
def test_network_is_what_one_household_has(one: str, other: str, *, same: bool) -> None:
    """Of IPv6 far more than an address, which anyone has as many of as they like."""
    assert (network_of(one) == network_of(other)) is same
