"""The tutor: asking by the page and by the API, reading along while an answer is written, and rating it."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any
from uuid import uuid4

from anyio import to_thread
from fastapi import APIRouter, Depends, Form, Header, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent, format_sse_event
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from app.errors import AppError, MessageUnderWay, NotFound
from app.models import Account, MessageState, Role, TutorMessage
from app.services.plans.plan_usage import PlanUsage, usage_of
from app.services.tutor import context as contexts
from app.services.tutor import ledger
from app.web.auth.dependencies import CurrentAccount, CurrentVisitor
from app.web.http.markdown import render_reply
from app.web.http.problems import from_app_error, problem_members
from app.web.http.schemas import problems
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import GUESTS_MESSAGES, client_address
from app.web.limits.render_budget import begin_page
from app.web.limits.stream_limits import CLOSED, limited
from app.web.plans.schemas import QuotaOut
from app.web.tutor.answer_tasks import AnswerDesk, Answering, AnswerState, failure
from app.web.tutor.schemas import SourceOut

router = APIRouter(tags=["tutor"])

SHOWN_MESSAGES = 30
_RETRY_S = 2


class QuestionIn(BaseModel):
    """A question to the tutor."""

    text: str = Field(description=f"At most {contexts.QUESTION_LIMIT} characters.")
    client_message_id: str = Field(
        description="Chosen by you, a UUID say: sending twice under the same one asks, and costs, once."
    )


class AnswerOut(BaseModel):
    """A whole answer."""

    id: str
    answer: str = Field(description="Markdown.")
    sources: list[SourceOut] = Field(description="Sections of the lesson that it rests on.")
    quota: QuotaOut


@router.post(
    "/api/v1/exercises/{exercise_id}/tutor",
    response_model=AnswerOut,
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 502, 503)
    | {200: {"content": {"text/event-stream": {}}, "description": "The answer, whole or as it is written."}},
    summary="Ask the tutor",
)
async def post_question(
    *,
    site: SiteOfRequest,
    request: Request,
    account: CurrentAccount,
    exercise_id: str,
    body: QuestionIn,
    accept: Annotated[str, Header()] = "",
) -> AnswerOut | Response:
    """
    Ask about an exercise. One message is one whole answer: an answer that fails costs nothing.

    With `Accept: text/event-stream` the answer comes as it is written: events `piece` with `{"text": …}`, and at the
    end one event `answer` with what is returned otherwise, or `problem` with a problem document.
    """
    _refuse_crowd(site, request, account)
    reservation, answering = await site.parts.get(AnswerDesk).ask(
        account, exercise_id, text=body.text, client_message_id=body.client_message_id
    )
    if answering is None and reservation.under_way:
        raise MessageUnderWay(retry_after_s=_RETRY_S)
    if "text/event-stream" in accept:
        stream = _stream(site, account, reservation.message_id, answering)
        return EventSourceResponse(_limited(site, request, account, stream))
    if answering is not None and (state := await answering.end()).failed:
        raise failure(state)
    return await to_thread.run_sync(_answer, site, account, reservation.message_id)


async def _limited(
    site: Site, request: Request, account: Account, stream: AsyncGenerator[bytes]
) -> AsyncGenerator[bytes]:
    async with aclosing(limited(site.streams, request, account.id, stream)) as states:
        async for state in states:
            yield state or format_sse_event(event=CLOSED.event, data_str=CLOSED.raw_data, retry=CLOSED.retry)


async def _stream(site: Site, account: Account, message_id: str, answering: Answering | None) -> AsyncGenerator[bytes]:
    """Send an answer as it is written, then once as a whole."""
    if answering is not None:
        sent = 0
        async with aclosing(answering.follow()) as states:
            async for state in states:
                if new := state.text[sent:]:
                    sent = len(state.text)
                    yield _event("piece", {"text": new})
        if answering.state.failed:
            yield _event("problem", problem_members(from_app_error(failure(answering.state))))
            return
    try:
        whole = await to_thread.run_sync(_answer, site, account, message_id)
        yield _event("answer", whole.model_dump(mode="json"))
    except AppError as error:
        yield _event("problem", problem_members(from_app_error(error)))


def _event(name: str, data: Any) -> bytes:  # noqa: ANN401  anything that JSON can hold
    return format_sse_event(event=name, data_str=json.dumps(data, ensure_ascii=True))


def _answer(site: Site, account: Account, message_id: str) -> AnswerOut:
    """Return a settled answer as the API has it. Raises NotFound."""
    with site.database.read() as session:
        message = ledger.mine(session, account=account, message_id=message_id)
        quota = usage_of(session, account).tutor_messages
    return AnswerOut(
        id=message.id,
        answer=message.answer,
        sources=[SourceOut(**one) for one in message.sources],
        quota=QuotaOut.model_validate(quota),
    )


@router.post("/exercises/{exercise_id}/tutor", include_in_schema=False)
async def post_message(
    *,
    site: SiteOfRequest,
    request: Request,
    visitor: CurrentVisitor,
    exercise_id: str,
    text: Annotated[str, Form()] = "",
    client_message_id: Annotated[str, Form()] = "",
) -> Response:
    """Ask from the page: the answer is followed there, or waited for without JavaScript."""
    _refuse_crowd(site, request, visitor.account)
    reservation, answering = await site.parts.get(AnswerDesk).ask(
        visitor.account, exercise_id, text=text, client_message_id=client_message_id
    )
    if request.headers.get("hx-request") != "true":
        if answering is not None and (state := await answering.end()).failed:
            raise failure(state)
        answer: Response = RedirectResponse(f"/exercises/{exercise_id}#tutor", status_code=303)
    else:
        answer = await to_thread.run_sync(_asked, site, visitor.account, exercise_id, reservation.message_id)
    visitor.remember(answer)
    return answer


def _refuse_crowd(site: Site, request: Request, account: Account) -> None:
    """Let no client address ask as one new guest after the other. Raises TooManyTries."""
    if account.role is Role.GUEST:
        site.rates.take(GUESTS_MESSAGES, client_address(request))


def _asked(site: Site, account: Account, exercise_id: str, message_id: str) -> Response:
    """Return the new exchange, and the form for the next question."""
    with site.database.read() as session:
        message = ledger.mine(session, account=account, message_id=message_id)
        shown = {**quota_context(usage_of(session, account)), "message": _shown(message, exercise_id)}
    return site.pages.page("tutor/asked.html", exercise_id=exercise_id, **shown)


def _is_mine(site: SiteOfRequest, account: CurrentAccount, message_id: str) -> None:
    """Find the message before the stream begins: after that, an error has no status any more."""
    with site.database.read() as session:
        ledger.mine(session, account=account, message_id=message_id)


@router.get(
    "/tutor/{message_id}/events",
    response_class=EventSourceResponse,
    dependencies=[Depends(_is_mine)],
    include_in_schema=False,
)
async def get_message_events(
    site: SiteOfRequest, request: Request, account: CurrentAccount, message_id: str
) -> AsyncGenerator[ServerSentEvent]:
    """Stream an answer as HTML; `end` tells the browser not to connect again."""
    answering = site.parts.get(AnswerDesk).running(message_id)
    if answering is not None:
        async with aclosing(limited(site.streams, request, account.id, answering.follow())) as states:
            async for state in states:
                if state is None:
                    yield CLOSED
                    return
                if state.text and not state.done:
                    html = await to_thread.run_sync(_being_written, state.text, limiter=site.renderings)
                    yield ServerSentEvent(raw_data=html, event="answer")
    html = await to_thread.run_sync(_ended, site, account, message_id, answering.state if answering else None)
    yield ServerSentEvent(raw_data=html, event="answer")
    yield ServerSentEvent(raw_data="over", event="end")


def _being_written(text: str) -> str:
    begin_page()  # each event is a page of its own: what came before does not take from what comes
    return str(render_reply(text, keep=False))


def _ended(site: Site, account: Account, message_id: str, state: AnswerState | None) -> str:
    """Return how an answer has ended, and the counter as it now stands."""
    with site.database.read() as session:
        message = ledger.mine(session, account=account, message_id=message_id)
        shown = {
            **quota_context(usage_of(session, account)),
            "message": _shown(message, _exercise_of(session, message)),
        }
    detail = failure(state).detail if state and state.failed else ""
    return site.pages.text("tutor/ended.html", detail=detail, swap=True, **shown)


@router.post("/tutor/{message_id}/rating", include_in_schema=False)
def post_rating(
    *, site: SiteOfRequest, request: Request, account: CurrentAccount, message_id: str, rating: Annotated[int, Form()]
) -> Response:
    """Keep whether an answer has helped; 0 takes it back."""
    with site.database.write() as session:
        ledger.rate(session, account=account, message_id=message_id, rating=rating or None)
        message = ledger.mine(session, account=account, message_id=message_id)
        exercise_id = _exercise_of(session, message)
    if request.headers.get("hx-request") == "true":
        return site.pages.page("tutor/rating.html", message=_shown(message, exercise_id))
    return RedirectResponse(f"/exercises/{exercise_id}#tutor", status_code=303)


@router.get("/exercises/{exercise_id}/tutor/sees", include_in_schema=False)
def get_sees(site: SiteOfRequest, visitor: CurrentVisitor, exercise_id: str) -> Response:
    """Show what the tutor is given beside a question: all of it."""
    with site.database.read() as session:
        prepared = contexts.prepare(session, visitor.account, exercise_id, "…")
    page = site.pages.page("tutor/sees.html", seen=prepared.context, exercise_id=exercise_id)
    visitor.remember(page)
    return page


def tutor_context(session: Session, account: Account, exercise_id: str, usage: PlanUsage) -> dict[str, Any]:
    """Return what the page shows of the tutor: the conversation so far, and what is left of the quota."""
    messages = contexts.conversation(session, account, exercise_id, limit=SHOWN_MESSAGES)
    return {**quota_context(usage), "messages": [_shown(one, exercise_id) for one in messages]}


def quota_context(usage: PlanUsage) -> dict[str, Any]:
    """Return what the page says of the quota, and a new id for the next message."""
    return {"quota": usage.tutor_messages, "client_message_id": uuid4().hex}


def _exercise_of(session: Session, message: TutorMessage) -> str:
    found = contexts.exercise_of(session, message)
    if found is None:
        raise NotFound(what="exercise", name=message.id)
    return found


def _shown(message: TutorMessage, exercise_id: str) -> dict[str, Any]:
    return {
        "id": message.id,
        "exercise_id": exercise_id,
        "client_message_id": message.client_message_id,
        "question": message.question,
        "html": render_reply(message.answer) if message.answer else "",
        "sources": message.sources,
        "settled": message.state is MessageState.SETTLED,
        "under_way": message.state is MessageState.RESERVED,
        "rating": message.rating,
    }
