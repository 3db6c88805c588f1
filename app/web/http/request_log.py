"""
A name for each request, and one line in the log when it is answered.

The name comes from a proxy that has given one (`X-Request-ID`), or is made here; it goes back in the answer, into every
line that is logged on the way, and with a submission to its worker. The line names the route by its template: an
address may hold what is nobody's business, such as the secret of a sign-in link.
"""

import re
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import metrics
from app.db import new_id

HEADER = "X-Request-ID"
_SANE = re.compile(r"[A-Za-z0-9._-]{8,64}")
_QUIET = {"/healthz", "/readyz", "/metrics", "/static"}
"""Asked for all the time by programs, or many times a page: counted, and logged only when they fail."""
_FAILED = 500

log = structlog.get_logger()


class RequestLog:
    """The outermost layer of the site, but for Starlette's own that turns a fault into an answer."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and note what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, name=_name_of(Headers(scope=scope)))
        scope["request_id"] = answer.name
        structlog.contextvars.clear_contextvars()
        # Not taken back at the end: what logs a fault stands outside of here, and each request is a task of its own.
        structlog.contextvars.bind_contextvars(request=answer.name)
        begun_s = time.perf_counter()
        try:
            await self._app(scope, receive, answer)
        finally:
            _note(scope, answer, took_s=time.perf_counter() - begun_s)


class _Answer:
    """Sends on, and keeps what the line in the log needs."""

    def __init__(self, send: Send, *, name: str) -> None:
        self._send = send
        self.name = name
        self.status = _FAILED  # if it ends without any
        self.is_stream = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers[HEADER] = self.name
            self.status = message["status"]
            self.is_stream = headers.get("content-type", "").startswith("text/event-stream")
        await self._send(message)


def _name_of(headers: Headers) -> str:
    given = headers.get(HEADER, "")
    return given if _SANE.fullmatch(given) else new_id()


def _note(scope: Scope, answer: _Answer, *, took_s: float) -> None:
    route, method = _route(scope), _method(scope)
    waits = answer.is_stream or b"wait=" in scope["query_string"]
    metrics.request_answered(method=method, route=route, status=answer.status, seconds=None if waits else took_s)
    if route not in _QUIET or answer.status >= _FAILED:
        log.info("request", method=method, route=route, status=answer.status, ms=round(took_s * 1000, 1))


def _route(scope: Scope) -> str:
    """Return the template, so that there are as many as routes, whatever is asked for."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    return "/static" if scope["path"].startswith("/static/") else "none"


def _method(scope: Scope) -> str:
    return (
        scope["method"] if scope["method"] in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} else "other"
    )
