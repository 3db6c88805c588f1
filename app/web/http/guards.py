"""
What stands before every route: a limit on bodies, the guard against forged requests, safe headers.

Plain ASGI, because a wrapper that buffers would break the streams.

Forged requests: a browser says where a request comes from (`Sec-Fetch-Site`, or `Origin` in older
ones), and no page can change that. So whatever changes something is refused when another site sent
it, and no token has to travel through forms. Programs send neither header, and no cookie by accident.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.http import viewer
from app.web.http.headers import SECURITY_HEADERS
from app.web.http.problems import Problem
from app.web.limits import render_budget

MAX_BODY_BYTES = 512 * 1024
"""Source of 64 KiB, with each byte written as an escape of six in JSON, and some room."""
_DRAINED_BYTES = 16 * 1024 * 1024
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}

ProblemResponse = Callable[[Request, Problem], Response]


class Guards:
    """The outermost layer of the site."""

    def __init__(self, app: ASGIApp, *, answer: ProblemResponse) -> None:
        """`answer` makes a refusal, as a page or a problem document."""
        self._app = app
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        viewer.begin(request.method, request.url.path)
        render_budget.begin_page()
        guarded_send = _with_headers(send)
        if is_forged(request):
            await self._answer(request, _FORGED)(scope, receive, guarded_send)
        elif "\x00" in scope["path"]:  # no name has one, and PostgreSQL would not even look
            await self._answer(request, _NOWHERE)(scope, receive, guarded_send)
        elif (declared := _declared_bytes(request.headers)) > MAX_BODY_BYTES:
            await _drain(receive, declared)
            await self._answer(request, TOO_LARGE)(scope, receive, guarded_send)
        else:
            await self._app(scope, _limited(receive), guarded_send)


TOO_LARGE = Problem(
    status=413,
    title="That is too much",
    detail=f"A request may have at most {MAX_BODY_BYTES // 1024} KiB. Please send less.",
)
_NOWHERE = Problem(
    status=404, title="Not Found", detail="There is nothing at this address. Check it, or start from the first page."
)
_FORGED = Problem(
    status=403,
    title="Sent from another site",
    detail="A page of another site sent this, so it was refused. Open Kelolo itself and try again.",
)


def is_forged(request: Request) -> bool:
    """Say whether a page of another site has made a browser send this."""
    if request.method in _SAFE_METHODS or request.headers.get("authorization", "").lower().startswith("bearer "):
        return False  # no browser adds a bearer token by itself; a name and password for a proxy it does
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded


def _declared_bytes(headers: Headers) -> int:
    declared = headers.get("content-length", "0")
    return int(declared) if declared.isdecimal() else 0


async def _drain(receive: Receive, declared: int) -> None:
    """Read on, within reason: a client that is cut off while it sends never sees the answer."""
    more = declared <= _DRAINED_BYTES
    while more:
        more = (await receive()).get("more_body", False)


def _limited(receive: Receive) -> Receive:
    """Count a body that did not say how long it is."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            raise HTTPException(TOO_LARGE.status)
        return message

    return counted
