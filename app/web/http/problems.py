"""
Errors as people and programs meet them: a page, a line on a page, or a problem document (RFC 9457).

One value, `Problem`, and three ways to say it. Which one, the request decides: `/api/` and whoever
does not ask for HTML get the document.
"""

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from math import ceil
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app import metrics
from app.clock import utc_now
from app.errors import AppError, DraftChanged, QuotaSpent
from app.web.http.headers import SECURITY_HEADERS
from app.web.http.templates import Pages

log = structlog.get_logger()


@dataclass(frozen=True)
class Problem:
    """What went wrong, ready to be shown or sent."""

    status: int
    title: str
    detail: str
    kind: str = "about:blank"
    more: Mapping[str, object] = field(default_factory=dict)
    """Further members of the document."""
    headers: Mapping[str, str] = field(default_factory=dict)


_SENTENCES = {
    400: "The request could not be read. A body must be JSON in UTF-8.",
    404: "There is nothing at this address. Check it, or start from the first page.",
    405: "This address does not take that method.",
    413: "That is more than can be taken. Please send less.",
}
_FAULT = Problem(
    status=500,
    title="Something went wrong here",
    detail="This is our fault, and it has been noted. Your code is safe. Please try again in a moment.",
)


def install(app: FastAPI, pages: Pages) -> None:
    """Have every error answered in the form that fits the request."""

    def on_app_error(request: Request, error: Exception) -> Response:
        if not isinstance(error, AppError):
            raise error
        return answer(request, from_app_error(error), pages=pages)

    def on_invalid(request: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise error
        return answer(request, from_validation(error.errors()), pages=pages)

    def on_http(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        return answer(request, _from_http(error), pages=pages)

    def on_fault(request: Request, error: Exception) -> Response:
        log.error("request_failed", method=request.method, exc_info=error)
        response = answer(request, _FAULT, pages=pages)
        response.headers.update(SECURITY_HEADERS)  # this one is made outside the guards
        response.headers["X-Request-ID"] = request.scope.get("request_id", "")
        return response

    app.add_exception_handler(AppError, on_app_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_fault)


def install_database(app: FastAPI, pages: Pages) -> None:
    """Have a database that does not answer reported as a busy site."""

    def on_database(request: Request, error: Exception) -> Response:
        # locked for longer than a writer waits, or away for a moment: what was sent is not stored, so say when to retry
        log.error("database_away", method=request.method, exc_info=error)
        return answer(request, _FULL if is_full(error) else _BUSY, pages=pages)

    def on_files(request: Request, error: Exception) -> Response:
        log.error("request_failed", method=request.method, exc_info=error)
        return answer(request, _FULL if is_full(error) else _FAULT, pages=pages)

    app.add_exception_handler(OperationalError, on_database)
    app.add_exception_handler(OSError, on_files)


def is_full(error: Exception) -> bool:
    """Say whether there was no room left to store something."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"


def answer(request: Request, problem: Problem, *, pages: Pages) -> Response:
    """Tell a problem in the form that fits the request."""
    by_htmx = bool(request.headers.get("hx-request"))
    if not by_htmx and not _wants_page(request):
        return document(problem)
    template = "problems/message.html" if by_htmx else "problems/problem.html"
    page = pages.page(template, status=problem.status, problem=problem)
    page.headers.update(problem.headers)
    return page


def document(problem: Problem) -> Response:
    """Tell a problem as `application/problem+json`."""
    # As ASCII: a detail may quote what was sent, and that need not be text that UTF-8 can hold.
    return Response(
        json.dumps(problem_members(problem), ensure_ascii=True),
        status_code=problem.status,
        media_type="application/problem+json",
        headers={"Cache-Control": "no-store", **problem.headers},
    )


def problem_members(problem: Problem) -> dict[str, object]:
    """Return the members of a problem document."""
    head = {"type": problem.kind, "title": problem.title, "status": problem.status, "detail": problem.detail}
    return head | dict(problem.more)


def from_app_error(error: AppError) -> Problem:
    """Tell a user's fault: its own words, and for a busy site when to come back."""
    headers: dict[str, str] = {}
    more: dict[str, object] = {}
    if (wait_s := error.fields.get("retry_after_s")) is not None:
        headers["Retry-After"] = str(wait_s)
        more["retry_after_s"] = wait_s
    if isinstance(error, QuotaSpent):
        metrics.quota_denied(str(error.fields.get("rule") or error.kind))
        more |= _spent(error)
        if isinstance(resets_at := error.fields.get("resets_at"), datetime):
            headers["Retry-After"] = str(max(1, ceil((resets_at - utc_now()).total_seconds())))
    if isinstance(error, DraftChanged):
        more |= error.fields
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Problem(
        status=error.status,
        title=error.title,
        detail=error.detail,
        kind=f"urn:kelolo:problem:{error.kind}",
        more=more,
        headers=headers,
    )


def _spent(error: QuotaSpent) -> dict[str, object]:
    """Return what a program wants to know of a limit: which one, how much of it is used, and when there is more."""
    resets_at = error.fields.get("resets_at")
    spent = {name: error.fields.get(name) for name in ("rule", "limit", "used")}
    return spent | {"resets_at": resets_at.isoformat() if isinstance(resets_at, datetime) else None}


def from_validation(errors: Sequence[Any]) -> Problem:
    """Tell what a request has wrong, field by field. What was sent is not repeated: it may be anything."""
    faults = [{"where": _location(error["loc"]), "detail": _plain(error)} for error in errors]
    unreadable = any(error["type"] == "json_invalid" for error in errors)
    return Problem(
        status=400 if unreadable else 422,
        title="That request cannot be read" if unreadable else "That request is not right",
        detail=" ".join(f"{fault['where']}: {fault['detail']}." for fault in faults),
        kind="urn:kelolo:problem:bad-request",
        more={"errors": faults},
    )


def _from_http(error: HTTPException) -> Problem:
    phrase = HTTPStatus(error.status_code).phrase
    return Problem(
        status=error.status_code,
        title=phrase,
        detail=_SENTENCES.get(error.status_code, f"{phrase}."),
        headers=dict(error.headers or {}),
    )


def _location(location: Sequence[str | int]) -> str:
    where, *path = location
    inside = ".".join(str(part) for part in path)
    if where == "body":
        return f"“{inside}” in the body" if inside and not inside.isdecimal() else "The body"
    return f"{str(where).capitalize()} “{inside}”" if inside else str(where).capitalize()


def _plain(error: Mapping[str, Any]) -> str:
    message = str(error["msg"])
    return _FAULTS.get(error["type"], message[:1].lower() + message[1:])


def _wants_page(request: Request) -> bool:
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


_BUSY = Problem(
    status=503,
    title="Kelolo is busy",
    detail="The database does not answer just now, so nothing of this was stored. Please try again in a few seconds.",
    headers={"Retry-After": "5"},
)

_FULL = Problem(
    status=507,
    title="There is no room left",
    detail=(
        "The disk of this server is full, so nothing of this was stored; what was stored before is safe. Keep your "
        "code and try again later: whoever runs this server has to make room."
    ),
    headers={"Retry-After": "60"},
)

_FAULTS = {
    "missing": "is missing",
    "json_invalid": "is not JSON",
    "string_type": "must be text",
    "string_unicode": "must be Unicode text, without half a surrogate pair (\\ud800 to \\udfff)",
    "model_attributes_type": "must be a JSON object, sent as application/json",
    "dict_type": "must be a JSON object, sent as application/json",
}
