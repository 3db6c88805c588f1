"""What goes over the HTTP API, as the OpenAPI description tells it."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from fastapi import Response
from pydantic import BaseModel, Field


class SourceIn(BaseModel):
    """Code to be graded or run, or the answer to a question."""

    source: str = Field(
        description="The student’s part, as Python source: at most 64 KiB of UTF-8, no NUL. To a question: the number, "
        "the shape, or the keys of the chosen options with commas between them."
    )


class Accepted(BaseModel):
    """A submission that is stored, and will be graded whatever happens."""

    id: str
    state: Literal["queued", "running", "graded"]


class CheckOut(BaseModel):
    """One check of the exercise."""

    id: str
    title: str
    status: Literal["passed", "failed", "not_run"]
    message: str


class MisconceptionOut(BaseModel):
    """A known mix-up that gives exactly the student’s outputs."""

    tag: str
    message: str


class ErrorOut(BaseModel):
    """The exception that the student’s code raised."""

    type: str
    message: str
    line: int | None = Field(description="In the student’s part, counted from 1.")
    explanation: str


class TensorOut(BaseModel):
    """The shape of one of the student’s tensors, beside what it should be."""

    name: str
    dims: list[str]
    shape: list[int]
    expected_shape: list[int]
    dtype: str


class TimingOut(BaseModel):
    """Where the time went, in milliseconds."""

    queued: float
    run: float
    judge: float
    total: float


class SubmissionOut(BaseModel):
    """Where a submission stands; once graded, its report. What is not known yet is not there."""

    id: str
    exercise: str
    version: int
    kind: Literal["check", "run"]
    created_at: str
    state: Literal["queued", "running", "graded"]
    place: int | None = Field(default=None, description="In the queue; 1 is next. Only while queued.")
    verdict: (
        Literal[
            "passed",
            "failed",
            "error",
            "time_limit",
            "memory_limit",
            "output_limit",
            "crashed",
            "grader_fault",
        ]
        | None
    ) = None
    checks: list[CheckOut] = Field(default=[], description="Empty for a run.")
    misconception: MisconceptionOut | None = None
    error: ErrorOut | None = None
    report: str = Field(default="", description="What the lesson’s own check prints.")
    output: str = Field(default="", description="What the code printed.")
    output_truncated: bool = False
    tensors: list[TensorOut] = []
    timing_ms: TimingOut | None = None
    seed: str = ""
    note: str = Field(default="", description="One sentence about the verdict itself, such as which limit.")


class SourceOut(BaseModel):
    """A section of a lesson."""

    title: str
    address: str = Field(description="A path on this site.")


class QuotaOut(BaseModel):
    """How an account stands with something that its plan limits."""

    limit: int | None = Field(description="None is unlimited.")
    used: int = Field(description="In the period, what is just being answered included.")
    left: int | None = Field(description="How many more may be used now; None if unlimited.")
    extra: int = Field(description="What is left of that which was given on top of the plan.")
    period: Literal["minute", "day", "month", "lifetime"]
    resets_at: str | None = Field(description="When a new period begins, UTC; None if never.")


class Me(BaseModel):
    """The account that a call is made with."""

    id: str
    email: str | None = Field(description="None for a guest.")
    role: Literal["guest", "student", "instructor", "admin"]
    plan: str = Field(description="The plan's name, such as `free`.")
    plan_ends_at: str | None = Field(description="When it ends, UTC; None is without end.")
    quotas: dict[str, QuotaOut]


class Proof(BaseModel):
    """What shows that whoever is signed in is really there."""

    password: str | None = Field(default=None, description="The account’s password.")
    email: str | None = Field(default=None, description="Its e-mail address, if it has no password.")


class TokenIn(BaseModel):
    """A token that is to be made."""

    label: str = Field(default="", max_length=200, description="What it is for.")
    scopes: list[Literal["read", "write", "admin"]] | None = Field(
        default=None, min_length=1, max_length=3, description="Unless given, all that are of use to the account."
    )
    days: int | None = Field(default=None, ge=1, le=3650, description="Until it expires; unless given, never.")


class TokenOut(BaseModel):
    """A token, without the token itself."""

    id: str
    label: str
    scopes: list[Literal["read", "write", "admin"]]
    created_at: str
    expires_at: str | None


class NewToken(TokenOut):
    """A token that was made just now."""

    token: str = Field(description="The token itself. It is not shown again.")


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
