"""
Who gets in to what is costly: event streams, waits for a verdict, and whatever hashes a password.

Theory of operation: a request is looked up and refused in a thread, and there are forty of those for all. A thousand
that will be refused in the end, or that only have to stand in line, would hold every one of them first. So these three
kinds are counted before any thread is taken, in the event loop, by what is known of a request without the database: its
network, and a hash of the token or cookie that it brings, good or not. Whoever makes up a new one each time is still
counted by the network.

A stream is refused when too many of the same sender are just being opened, or were in the last while; those that are
open already have a bound of their own (`app.web.limits.stream_limits`). A wait is refused only when it comes in a
flood, because to wait costs next to nothing once it has begun. Passwords are a queue: a few are let in at once,
networks take turns, and who stands in line holds a place in a list and no thread. So a class that signs in together
gets in, one after the other, and a flood keeps out only its own network.

To refuse costs about a millisecond of the event loop, and who is refused at once is back at once. So of a network that
is refused again and again each next refusal is told a little later than the one before: a flood then waits most of the
time, and the pages of others do not.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import sha256
from math import ceil

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AppError, SignInBusy, TooManyStreams
from app.services.accounts import passwords
from app.web.auth.dependencies import COOKIE
from app.web.http.problems import Problem, from_app_error
from app.web.limits.rate_limits import network_of

HASHED_AT_ONCE = passwords.AT_ONCE + 2
"""Those that are hashed, and two that are read or written down meanwhile."""
IN_LINE_OF_A_NETWORK = 32
PATIENCE_S = 10.0
_IN_LINE = 512
_REFUSALS_PER_S = 40.0
"""To one network."""
_LATEST_S = 5.0
_MOST_KEPT = 512
"""Refusals that wait to be told, of all networks together: each holds a connection."""
_BUSY_S = 5
_MOST_SENDERS = 8_192
"""That are remembered; who was not seen for longest is forgotten first, and may begin anew."""
_WAITS, _WAITS_PER_S = 400, 20.0
_NETWORKS_WAITS = 5
"""So many times the waits of one sender a network may have."""
_HASHING = {
    ("POST", "/sign-in"),
    ("POST", "/sign-up"),
    ("POST", "/account/password"),
    ("POST", "/account/email"),
    ("POST", "/account/delete"),
    ("DELETE", "/api/v1/me"),
}
_HASHING_BELOW = ("/reset/", "/confirm/", "/first-admin/")

ProblemResponse = Callable[[Request, Problem], Response]


class CostlyKind(Enum):
    """What is costly."""

    STREAM = auto()
    WAIT = auto()
    PASSWORD = auto()


@dataclass
class _Bucket:
    """What somebody has left, as it was at a moment."""

    left: float
    at_s: float


class Buckets:
    """How much each sender may do at a stroke, and how fast there is more."""

    def __init__(self, *, most: float, per_s: float) -> None:
        """Begin with everyone's full."""
        self._most, self._per_s = most, per_s
        self._known: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, who: str) -> float:
        """Take one, or return after how many seconds there is one."""
        now_s = time.monotonic()
        mine = self._known.setdefault(who, _Bucket(self._most, now_s))
        self._known.move_to_end(who)
        mine.left = min(self._most, mine.left + (now_s - mine.at_s) * self._per_s)
        mine.at_s = now_s
        while len(self._known) > _MOST_SENDERS:
            self._known.popitem(last=False)
        if mine.left < 1:
            return (1 - mine.left) / self._per_s
        mine.left -= 1
        return 0.0


class Turns:
    """A queue in which networks take turns. To be used in the event loop only."""

    def __init__(self, *, at_once: int, of_a_network: int) -> None:
        """Begin with nobody in it."""
        self._free, self._most = at_once, of_a_network
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def enter(self, network: str) -> None:
        """Return when it is one's turn; `leave` is to be called then. Raises SignInBusy."""
        if self._free and not self._lines:
            self._free -= 1
            return
        self._make_room(network)
        line = self._lines.setdefault(network, deque())
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await turn
        except BaseException as gone:
            self._give_back(network, turn)
            if isinstance(gone, TimeoutError):
                raise SignInBusy(retry_after_s=_BUSY_S) from None
            raise

    def leave(self) -> None:
        """Let in who is next: the first in line of the network whose turn was longest ago."""
        while self._lines:
            network, line = self._lines.popitem(last=False)
            turn = line.popleft()
            if line:
                self._lines[network] = line
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _make_room(self, network: str) -> None:
        """
        Have a place for one more of a network.

        Where the queue is full, the last of the longest line gives way to a network that has a shorter one: else
        as many networks as fill it would keep all others out for as long as they like.

        Raises:
            SignInBusy: there is none.
        """
        mine = len(self._lines.get(network, ()))
        if mine >= self._most:
            raise SignInBusy(retry_after_s=_BUSY_S)
        if sum(map(len, self._lines.values())) < _IN_LINE:
            return
        longest = max(self._lines.values(), key=len)
        if len(longest) <= mine + 1:
            raise SignInBusy(retry_after_s=_BUSY_S)
        last = longest.pop()
        if not last.done():  # who has just hung up needs no answer
            last.set_exception(SignInBusy(retry_after_s=_BUSY_S))

    def _give_back(self, network: str, turn: "asyncio.Future[None]") -> None:
        """Leave the line, or if it was one's turn at the last instant, let the next one in."""
        if turn.done() and not turn.cancelled():
            if turn.exception() is None:
                self.leave()
            return  # one that had to give way is in no line any more
        with suppress(KeyError, ValueError):
            self._lines[network].remove(turn)
        self._drop_if_empty(network)

    def _drop_if_empty(self, network: str) -> None:
        if not self._lines.get(network, True):
            del self._lines[network]


class Refusals:
    """When a refusal is told: to each network one after the other. To be used in the event loop only."""

    def __init__(self, *, per_s: float) -> None:
        """Begin with none."""
        self._apart_s = 1 / per_s
        self._next_s: OrderedDict[str, float] = OrderedDict()
        self._kept = 0

    async def wait(self, network: str) -> None:
        """Return when it is time to tell a network."""
        now_s = time.monotonic()
        due_s = max(now_s, self._next_s.get(network, 0.0))
        if due_s - now_s > _LATEST_S:
            due_s = now_s + _LATEST_S
        else:
            self._next_s[network] = due_s + self._apart_s
            self._next_s.move_to_end(network)
        while len(self._next_s) > _MOST_SENDERS:
            self._next_s.popitem(last=False)
        if due_s == now_s or self._kept >= _MOST_KEPT:
            return
        self._kept += 1
        try:
            await asyncio.sleep(due_s - now_s)
        finally:
            self._kept -= 1


class StreamsBeingOpened:
    """How many are just being opened of each sender. To be used in the event loop only."""

    def __init__(self) -> None:
        """Begin with none."""
        self._number: dict[str, int] = {}

    def add(self, who: str, *, most: int) -> bool:
        """Count one more, if there is room."""
        number = self._number.get(who, 0)
        if number < most:
            self._number[who] = number + 1
        return number < most

    def discard(self, who: str) -> None:
        """Count one less."""
        self._number[who] -= 1
        if not self._number[who]:
            del self._number[who]


class Admission:
    """Stands before all that needs a thread."""

    def __init__(self, app: ASGIApp, *, answer: ProblemResponse, per_account: int, per_network: int) -> None:
        """
        Prepare.

        Args:
            app: what stands behind.
            answer: makes a refusal, as a page or a problem document.
            per_account: how many streams an account may have open.
            per_network: and how many a network.
        """
        self._app = app
        self._answer = answer
        self._turns = Turns(at_once=HASHED_AT_ONCE, of_a_network=IN_LINE_OF_A_NETWORK)
        self._refusals = Refusals(per_s=_REFUSALS_PER_S)
        self._opening = StreamsBeingOpened()
        self._most_opening = (2 * per_account, max(8, per_network // 2))
        self._streams = (
            Buckets(most=8 * per_account, per_s=per_account / 4),
            Buckets(most=4 * per_network, per_s=per_network / 4),
        )
        self._waits = (
            Buckets(most=_WAITS, per_s=_WAITS_PER_S),
            Buckets(most=_NETWORKS_WAITS * _WAITS, per_s=_NETWORKS_WAITS * _WAITS_PER_S),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, now or in its turn, or refuse it."""
        kind = kind_of(scope) if scope["type"] == "http" else None
        if kind is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            release = await self._admit(kind, request)
        except AppError as refusal:
            await self._refusals.wait(network_of(request))
            await self._answer(request, from_app_error(refusal))(scope, receive, send)
            return
        once = _Once(release)
        try:
            await self._app(scope, receive, _releasing(send, once, at_start=kind is CostlyKind.STREAM))
        finally:
            once()

    async def _admit(self, kind: CostlyKind, request: Request) -> Callable[[], None]:
        """Return what is to be called when the costly part is over. Raises SignInBusy, TooManyStreams."""
        network = network_of(request)
        if kind is CostlyKind.PASSWORD:
            await self._turns.enter(network)
            return self._turns.leave
        senders = (credential_of(request), network)
        rates = self._streams if kind is CostlyKind.STREAM else self._waits
        for bucket, who in zip(rates, senders, strict=True):
            if wait_s := bucket.take(who):
                raise TooManyStreams(retry_after_s=max(1, ceil(wait_s)))
        return self._open(senders) if kind is CostlyKind.STREAM else _nothing

    def _open(self, senders: tuple[str, str]) -> Callable[[], None]:
        mine, everyones = senders
        if not self._opening.add(mine, most=self._most_opening[0]):
            raise TooManyStreams(retry_after_s=1)
        if not self._opening.add(everyones, most=self._most_opening[1]):
            self._opening.discard(mine)
            raise TooManyStreams(retry_after_s=1)

        def release() -> None:
            for who in senders:
                self._opening.discard(who)

        return release


def kind_of(scope: Scope) -> CostlyKind | None:
    """Return what about a request is costly, by its address alone."""
    method, path = scope["method"], scope["path"]
    if (method, path) in _HASHING or (method == "POST" and path.startswith(_HASHING_BELOW)):
        return CostlyKind.PASSWORD
    if method != "GET":
        return None
    if path.endswith("/events"):
        return CostlyKind.STREAM
    return CostlyKind.WAIT if b"wait=" in scope["query_string"] else None


def credential_of(request: Request) -> str:
    """Return a name for what a request brings to say who sends it; of a network, one for all who bring nothing."""
    brought = request.headers.get("authorization") or request.cookies.get(COOKIE)
    if not brought:
        return f"nobody of {network_of(request)}"
    return sha256(brought.encode("utf-8", "replace")).hexdigest()


class _Once:
    """Something to be done once, however often it is asked for."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action: Callable[[], None] | None = action

    def __call__(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()


def _releasing(send: Send, release: Callable[[], None], *, at_start: bool) -> Send:
    """Let the next one in when a stream begins, or else when the answer is out, and before mail is sent after it."""

    async def releasing(message: Message) -> None:
        is_start = message["type"] == "http.response.start"
        is_end = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_end or (at_start and is_start):
            release()
        await send(message)

    return releasing


def _nothing() -> None:
    """A wait costs nothing once it has begun."""
