"""What all calls of the HTTP API have in common, as the OpenAPI description tells it."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

_YEARS = range(2000, 2200)


def _moment(value: object) -> object:
    """Read a moment. Without a zone it would be a guess, and a number could be seconds as well as milliseconds."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment.year not in _YEARS:
        raise PydanticCustomError("moment", "write a moment with its zone, such as 2027-01-31T12:00:00Z")
    return moment


Moment = Annotated[
    datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"}, mode="validation")
]


MomentOut = Annotated[
    datetime,
    PlainSerializer(datetime.isoformat, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment in an answer, with its zone: `2027-01-31T12:00:00+00:00`."""


class AsciiJson(JSONResponse):
    """
    JSON in ASCII, which no cache keeps. The answer of every call that returns a model.

    What a student's code printed is in some, and may hold half a surrogate pair, which UTF-8 can't.
    """

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Add ours to the headers."""
        super().init_headers({"Cache-Control": "no-store", **(headers or {})})

    def render(self, content: object) -> bytes:
        """Write JSON. Raises ValueError: there is a number in it that JSON does not have."""
        return json.dumps(content, ensure_ascii=True, allow_nan=False).encode("ascii")


class Strict(BaseModel):
    """A body in which a key that nobody knows is an error: it would otherwise do nothing, silently."""

    model_config = ConfigDict(extra="forbid")


class ProblemOut(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of a call for the OpenAPI description."""
    return {status: {"description": _MEANINGS[status], "model": ProblemOut} for status in statuses}


_MEANINGS = {
    400: "The body is not JSON in UTF-8.",
    401: "Neither a token nor a cookie that is known.",
    403: "The account or the token may not do this, or a page of another site sent it.",
    404: "There is no such thing, or it is another’s.",
    409: "It does not fit how things stand, such as an Idempotency-Key that was used for something else.",
    413: "More than can be taken.",
    422: "Something in the request is not right: `detail` says what.",
    429: "A limit is reached; `Retry-After` says when there is more. Of a plan’s: `rule`, `limit`, `used`.",
    502: "The tutor gave no whole answer; the message is not charged.",
    503: "The site is busy or not ready: nothing was stored. `Retry-After` says when to come back.",
}


def written(moment: datetime | None) -> str | None:
    """Return a moment as the API has it."""
    return moment.isoformat() if moment else None
