"""What all calls of the HTTP API have in common, as the OpenAPI description tells it."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
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


def json_answer(data: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """
    Answer with JSON, in ASCII.

    What a student's code printed is in it, and may hold half a surrogate pair, which UTF-8 can't.
    """
    return Response(
        json.dumps(data, ensure_ascii=True, allow_nan=False),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def written(moment: datetime | None) -> str | None:
    """Return a moment as the API has it."""
    return moment.isoformat() if moment else None
