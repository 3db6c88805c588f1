"""
What one connection may take of a web server before its request is there.

Uvicorn waits for a request as long as its client likes: a thousand that send half a line each hold a thousand
descriptors. Here every connection has a clock. It runs from the first moment, or from the first byte of a later
request, until the headers are whole (`HEADERS_S`), and then until the body is (`BODY_S`); bytes that trickle do not
turn it back. While the server itself does not read on, the body's clock is wound up again: then it is not the client
who is slow.

Of those whose headers are not whole yet a network may have `SENDING_PER_NETWORK`, and of more the ones that have been
at it for longest go: a browser's headers come with its first packet, so it is a flood that pays. None goes before what
it has sent was read: hundreds are taken in at one turn of the event loop, and read at the next. A
proxy that is trusted to name its clients has no such bound, because all connections are its. And where the process has
as many connections as it may, one that is still sending its headers makes room, or else the new one is closed, so that
there is always a descriptor for the database.
"""

import asyncio
import resource
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEADERS_S = 10.0
BODY_S = 30.0
SENDING_PER_NETWORK = 64
READ_WITHIN_S = 1.0
"""For so long a connection is left alone, however many there are."""
MOST_CONNECTIONS = 8_192
KEPT_DESCRIPTORS = 192
"""For the database, files, mail and another try at each."""
_V4_BITS, _V6_BITS = 24, 56
_TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def raise_descriptor_limit() -> int:
    """Have as many descriptors as the system lets this process have. Return how many connections that is enough for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, hard - KEPT_DESCRIPTORS)
    return max(most, 16)


def network_of(host: str) -> str:
    """Return the network that an address is in: what one household, class or office has."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(ip_network((address, _V6_BITS), strict=False))
        address = address.ipv4_mapped
    return str(ip_network((address, _V4_BITS), strict=False))


class _Sending:
    """The connections whose headers are not whole yet, by network, the oldest first."""

    def __init__(self) -> None:
        self.all: OrderedDict[BoundedProtocol, None] = OrderedDict()
        self.by_network: dict[str, OrderedDict[BoundedProtocol, None]] = {}
        self._thinned: set[str] = set()

    def add(self, one: "BoundedProtocol") -> None:
        self.all[one] = None
        mine = self.by_network.setdefault(one.network, OrderedDict())
        mine[one] = None
        if one.network and len(mine) > SENDING_PER_NETWORK:
            self.thin_out(one.network, one.loop)

    def discard(self, one: "BoundedProtocol") -> None:
        self.all.pop(one, None)
        mine = self.by_network.get(one.network)
        if mine is not None:
            mine.pop(one, None)
            if not mine:
                del self.by_network[one.network]

    def thin_out(self, network: str, loop: asyncio.AbstractEventLoop) -> None:
        """End the oldest of a network that has too many, once all that has come was read."""
        if network in self._thinned:
            return
        self._thinned.add(network)

        def thin() -> None:
            self._thinned.discard(network)
            mine = self.by_network.get(network, OrderedDict())
            for one in list(mine)[: max(0, len(mine) - SENDING_PER_NETWORK)]:
                if loop.time() - one.since_s < READ_WITHIN_S:
                    self.thin_out(network, loop)
                    return
                one.give_up()

        # Two turns of the loop later: what is readable at the first is read before the second.
        loop.call_later(READ_WITHIN_S, loop.call_soon, loop.call_soon, thin)


class BoundedProtocol(H11Protocol):
    """One connection, with its clock."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """As uvicorn makes it."""
        super().__init__(config, server_state, app_state, _loop)
        found: _Sending | None = getattr(server_state, "sending", None)
        if found is None:
            found = _Sending()
            server_state.sending = found  # type: ignore[attr-defined]  # lives as long as the server does
        self._others = found
        self._timer: asyncio.TimerHandle | None = None
        self._phase: tuple[str, int] | None = None
        self.network = ""
        self.since_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a connection in, if there is room."""
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self.network = network_of(host) if host and not self._is_proxy(host) else ""
        most = self.limit_concurrency
        if most is not None and len(self.connections) > most and not self._make_room():
            transport.abort()
            return
        self._watch(is_new=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._set_phase(None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take in what has come, then look what is still to come."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """Look whether the next request has begun."""
        super().on_response_complete()
        self._watch()

    def give_up(self) -> None:
        """End a connection whose request is not there in time."""
        self._set_phase(None)
        cycle: Any = self.cycle  # None before the first request
        under_way = cycle is not None and not cycle.response_complete
        if not self.transport.is_closing():
            if not (under_way and cycle.response_started):
                self.transport.write(_TIMED_OUT)
            self.transport.close()
        if under_way:
            cycle.disconnected = True
            cycle.message_event.set()

    def _is_proxy(self, host: str) -> bool:
        trusted = self.config.forwarded_allow_ips or ""
        names = trusted.split(",") if isinstance(trusted, str) else list(trusted)
        return self.config.proxy_headers and any(_names(one.strip(), host) for one in names)

    def _make_room(self) -> bool:
        oldest = next(iter(self._others.all), None)
        if oldest is not None:
            oldest.give_up()
        return oldest is not None

    def _watch(self, *, is_new: bool = False) -> None:
        state = self.conn.their_state
        if self.transport.is_closing():
            self._set_phase(None)
        elif state is h11.IDLE and (is_new or self._phase == ("headers", id(self.cycle)) or self.conn.trailing_data[0]):
            self._set_phase("headers")
        else:
            self._set_phase("body" if state is h11.SEND_BODY else None)

    def _set_phase(self, name: str | None) -> None:
        phase = (name, id(self.cycle)) if name else None
        if phase == self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if name == "headers":
            self.since_s = self.loop.time()
            self._others.add(self)
        else:
            self._others.discard(self)
        if name:
            self._timer = self.loop.call_later(HEADERS_S if name == "headers" else BODY_S, self._time_is_up)

    def _time_is_up(self) -> None:
        if self._phase is not None and self._phase[0] == "body" and self.flow.read_paused:
            self._timer = self.loop.call_later(BODY_S, self._time_is_up)
        else:
            self.give_up()


def _names(trusted: str, host: str) -> bool:
    if trusted in {"*", host}:
        return True
    try:
        return ip_address(host) in ip_network(trusted, strict=False)
    except ValueError:
        return False
