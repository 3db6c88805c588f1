"""The HTTP API of submissions: send code, and get to know what became of it."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.models import Account, SubmissionKind
from app.services.exercises.catalogue import Current
from app.services.submissions import submissions
from app.services.submissions.submissions import SubmissionOrigin, SubmissionState
from app.web.auth.dependencies import CurrentAccount
from app.web.http.schemas import problems
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import network_of
from app.web.limits.stream_limits import CLOSED, limited
from app.web.submissions.schemas import Accepted, SourceIn, SubmissionOut
from app.web.submissions.verdict_wait import LONGEST_WAIT_S, follow, look, wait_until_graded

log = structlog.get_logger()
router = APIRouter(prefix="/api/v1", tags=["submissions"])

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Up to 255 printable characters. Sending twice with the same key makes one submission.",
    ),
]
_Wait = Annotated[
    float,
    Query(
        ge=0,
        allow_inf_nan=False,
        description=f"Seconds to wait for the verdict; it ends after {LONGEST_WAIT_S:.0f} in any case.",
    ),
]


@router.post(
    "/exercises/{exercise_id}/submissions",
    status_code=202,
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503),
    summary="Check code",
)
def post_submission(
    *,
    site: SiteOfRequest,
    account: CurrentAccount,
    exercise_id: str,
    request: Request,
    response: Response,
    body: SourceIn,
    key: IdempotencyKey = None,
) -> Accepted:
    """Store code and have it graded. It counts as an attempt. `Location` says where the verdict will be."""
    state, _ = store(site, request, account, exercise_id, source=body.source, kind=SubmissionKind.CHECK, key=key)
    return _accepted(response, state)


@router.post(
    "/exercises/{exercise_id}/runs",
    status_code=202,
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503),
    summary="Run code",
)
def post_run(
    *,
    site: SiteOfRequest,
    account: CurrentAccount,
    exercise_id: str,
    request: Request,
    response: Response,
    body: SourceIn,
    key: IdempotencyKey = None,
) -> Accepted:
    """
    Have code run once on the lesson’s data: what it prints is shown, and nothing is judged or counted.

    A question has no code, so a run of it is refused.
    """
    state, _ = store(site, request, account, exercise_id, source=body.source, kind=SubmissionKind.RUN, key=key)
    return _accepted(response, state)


@router.get(
    "/submissions/{submission_id}",
    response_model_exclude_unset=True,
    responses=problems(401, 404, 422, 429),
    summary="Get the verdict",
)
async def get_submission(
    site: SiteOfRequest, account: CurrentAccount, submission_id: str, wait: _Wait = 0
) -> SubmissionOut:
    """Answer with the report as soon as there is one, or with how things stand when the wait is over."""
    return SubmissionOut.of(await wait_until_graded(site, account, submission_id, wait_s=wait))


def _exists(site: SiteOfRequest, account: CurrentAccount, submission_id: str) -> None:
    """Find what is asked for before a stream begins: after that, an error has no status any more."""
    look(site, account, submission_id)


@router.get(
    "/submissions/{submission_id}/events",
    response_class=EventSourceResponse,
    responses=problems(401, 404, 429),
    dependencies=[Depends(_exists)],
    summary="Follow a submission",
)
async def get_events(
    site: SiteOfRequest, request: Request, account: CurrentAccount, submission_id: str
) -> AsyncGenerator[ServerSentEvent]:
    """
    Stream an event `state` at once and after each change, with the JSON of the call above.

    Few streams may be open of an account and of a network. The oldest ends with an event `busy` when there is one more.
    """
    following = follow(site, account, submission_id)
    async with aclosing(limited(site.streams, request, account.id, following)) as states:
        async for state in states:
            yield ServerSentEvent(raw_data=_ascii(SubmissionOut.of(state)), event="state") if state else CLOSED


def store(
    site: Site,
    request: Request,
    account: Account,
    exercise_id: str,
    *,
    source: str,
    kind: SubmissionKind,
    key: str | None = None,
) -> tuple[SubmissionState, Current]:
    """
    Store a submission with its job in one transaction, and wake the workers.

    Returns:
        Where it stands, and what the exercise is now.

    Raises:
        AppError: whatever `app.services.submissions.submissions.submit` refuses.
    """
    network = site.keyed_hash.of("network", network_of(request))
    origin = SubmissionOrigin(network=network, allowed=site.allowances)
    with site.database.write() as session:
        sent = submissions.submit(
            session,
            account=account,
            exercise_id=exercise_id,
            source=source,
            kind=kind,
            idempotency_key=key,
            queue=site.queue,
            origin=origin,
        )
        state = submissions.state_of_sent(session, sent, account=account, exercise_id=exercise_id, queue=site.queue)
    log.info("submission stored", submission=state.id, kind=kind.value)
    site.wakeups.notify_workers()  # after the commit: a worker that looks sooner finds nothing
    return state, sent.version


def _accepted(response: Response, state: SubmissionState) -> Accepted:
    response.headers["Location"] = f"/api/v1/submissions/{state.id}"
    return Accepted.model_validate(state)


def _ascii(state: SubmissionOut) -> str:
    return json.dumps(state.model_dump(mode="json", exclude_unset=True), ensure_ascii=True, allow_nan=False)
