"""
The pages of submissions: sending code or an answer from its form, watching it, looking at it again.

htmx asks for parts of a page, and a browser without JavaScript for whole ones, at the same addresses.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from app.models import Account, ExerciseKind, SubmissionKind
from app.services.submissions import submissions
from app.services.submissions.submissions import SubmissionPhase, SubmissionState
from app.web.auth.dependencies import CurrentAccount, CurrentVisitor, Visitor
from app.web.exercises.context import PageContext
from app.web.exercises.pages import around_context, whole_page
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.stream_limits import CLOSED, limited
from app.web.submissions.api import store
from app.web.submissions.verdict_wait import follow, look, wait_until_graded

router = APIRouter(include_in_schema=False)

PAGE_WAIT_S = 3.0
"""How long a whole page waits for the verdict: most come sooner, and without JavaScript it saves a reload."""
REFRESH_S = 2


@router.post("/exercises/{exercise_id}/submissions")
def post_attempt(
    *,
    site: SiteOfRequest,
    request: Request,
    visitor: CurrentVisitor,
    exercise_id: str,
    source: Annotated[tuple[str, ...], Form()] = (),
    kind: Annotated[SubmissionKind, Form()] = SubmissionKind.CHECK,
    idempotency_key: Annotated[str, Form()] = "",
) -> Response:
    """
    Take in what is in the form; answer with the part of the page that follows it, or go to its page.

    A form that is sent twice (a double click, an answer that was lost) has the same key and makes one submission.
    """
    answer: Response
    # Forms send line ends as CR LF, whatever was typed; and of a choice one field for each option.
    text = ",".join(source).replace("\r\n", "\n")
    key = _content_key(idempotency_key, exercise_id, kind, text)
    state, exercise = store(site, request, visitor.account, exercise_id, source=text, kind=kind, key=key)
    if _by_htmx(request) and state.state is SubmissionPhase.GRADED:  # sent before, and the answer was lost
        answer = _attempt_part(site, visitor.account, state, loads_source=False)
    elif _by_htmx(request):
        is_question = exercise.kind is ExerciseKind.QUESTION
        answer = site.pages.page("submissions/live.html", question=is_question, **_attempt_context(site, state))
    else:
        answer = RedirectResponse(f"/submissions/{state.id}", status_code=303)
    visitor.remember(answer)
    return answer


@router.head("/submissions/{submission_id}")
@router.get("/submissions/{submission_id}")
async def get_attempt(site: SiteOfRequest, request: Request, visitor: CurrentVisitor, submission_id: str) -> Response:
    """Show an earlier attempt: its code in the editor, and its result."""
    state = await wait_until_graded(site, visitor.account, submission_id, wait_s=PAGE_WAIT_S)
    if _by_htmx(request):
        return await run_in_threadpool(_attempt_part, site, visitor.account, state)
    return await run_in_threadpool(_attempt_page, site, visitor, state)


def _exists(site: SiteOfRequest, account: CurrentAccount, submission_id: str) -> None:
    look(site, account, submission_id)


@router.get(
    "/submissions/{submission_id}/events",
    response_class=EventSourceResponse,
    dependencies=[Depends(_exists)],
)
async def get_attempt_events(
    site: SiteOfRequest, request: Request, account: CurrentAccount, submission_id: str
) -> AsyncGenerator[ServerSentEvent]:
    """Stream what changes on the page, as HTML; `end` tells the browser not to connect again."""
    following = follow(site, account, submission_id)
    async with aclosing(limited(site.streams, request, account.id, following)) as states:
        async for state in states:
            if state is None:
                yield CLOSED
                return
            html = await run_in_threadpool(_update, site, account, state)
            yield ServerSentEvent(raw_data=html, event="state")
    yield ServerSentEvent(raw_data="graded", event="end")


def _content_key(key: str, *content: str) -> str | None:
    """
    Return the key under which a form is stored, with what it holds.

    Without a script a page keeps its key for as long as it is open, and so does one that is gone back to: another
    text that is sent from there is another submission, not a clash.
    """
    if not key:
        return None
    return f"form-{sha256(json.dumps([key, *content]).encode()).hexdigest()}"


def _attempt_context(site: Site, state: SubmissionState) -> dict[str, Any]:
    """Return a submission for a page, with what only the page says of it."""
    is_queued = state.state is SubmissionPhase.QUEUED
    return {"attempt": state, "getting_ready": is_queued and site.is_getting_ready()}


def _update(site: Site, account: Account, state: SubmissionState) -> str:
    """Return the state, and once there is a result, that and what changes around it."""
    with site.database.read() as session:
        around = around_context(PageContext(session, account, state.exercise))
    return site.pages.text(
        "submissions/update.html",
        **around,
        **_attempt_context(site, state),
        part="submissions/state.html",
        load_source=None,
        swap=True,
    )


def _attempt_part(site: Site, account: Account, state: SubmissionState, *, loads_source: bool = True) -> Response:
    with site.database.read() as session:
        around = around_context(PageContext(session, account, state.exercise))
        source = submissions.source_of(session, account=account, submission_id=state.id)
    return site.pages.page(
        "submissions/update.html",
        **around,
        **_attempt_context(site, state),
        part="submissions/live.html",
        load_source=source if loads_source else None,
        swap=True,
    )


def _attempt_page(site: Site, visitor: Visitor, state: SubmissionState) -> Response:
    with site.database.read() as session:
        sent = submissions.readable(session, account=visitor.account, submission_id=state.id)
        shown = whole_page(PageContext(session, visitor.account, state.exercise), visitor, sent=sent)
    page = site.pages.page(
        "exercises/exercise.html",
        **shown,
        **_attempt_context(site, state),
        shown_attempt=state.id,
        refresh_s=None if state.state is SubmissionPhase.GRADED else REFRESH_S,
        load_source=None,
        swap=False,
    )
    visitor.remember(page)
    return page


def _by_htmx(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"
