"""Hints: opening one, by the page or by the API, and what instructors see of their use."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.models import Account, ExerciseVersion
from app.services import hints
from app.services.exercises import catalogue
from app.services.tutor.context import last_report
from app.web.auth.dependencies import CurrentAccount, CurrentInstructor, CurrentVisitor
from app.web.http.markdown import render_markdown
from app.web.http.schemas import problems
from app.web.http.site import SiteOfRequest
from graders.report import Report, Verdict

router = APIRouter(tags=["hints"])


class HintOut(BaseModel):
    """An open hint."""

    model_config = ConfigDict(from_attributes=True)

    rung: int = Field(validation_alias="number", description="Its number, from 1.")
    text: str = Field(description="Markdown.")
    left: int = Field(description="How many are still closed.")


class HintsOut(BaseModel):
    """The hints of an exercise that are open."""

    hints: list[HintOut]
    left: int = Field(description="How many are still closed.")


class HintToOpen(BaseModel):
    """Which hint to open."""

    rung: int | None = Field(None, description="Its number, from 1; the next closed one if left out.", ge=1, le=1000)


@router.post(
    "/api/v1/exercises/{exercise_id}/hints/next",
    responses=problems(400, 401, 403, 404, 413, 422, 503),
    summary="Open a hint",
)
def post_next_hint(
    site: SiteOfRequest,
    account: CurrentAccount,
    exercise_id: str,
    body: Annotated[HintToOpen | None, Body()] = None,
) -> HintOut:
    """
    Open the next hint, or the one whose `rung` is sent: that may be sent twice. It never costs a tutor message.

    When all are open, the answer is the last one.
    """
    with site.database.write() as session:
        hint = hints.open_hint(session, account=account, exercise_id=exercise_id, number=body.rung if body else None)
    return HintOut.model_validate(hint)


@router.get(
    "/api/v1/exercises/{exercise_id}/hints",
    responses=problems(401, 404),
    summary="Hints that are open",
)
def get_hints(site: SiteOfRequest, account: CurrentAccount, exercise_id: str) -> HintsOut:
    """Return the hints that this account has opened, in order."""
    with site.database.read() as session:
        known = hints.hints_of(session, account=account, exercise_id=exercise_id, report=None)
    opened = [HintOut.model_validate(one) for one in known.opened]
    return HintsOut(hints=opened, left=known.total - len(opened))


@router.post("/exercises/{exercise_id}/hints", include_in_schema=False)
def post_hint(
    *,
    site: SiteOfRequest,
    request: Request,
    visitor: CurrentVisitor,
    exercise_id: str,
    rung: Annotated[int, Form()],
    offered: Annotated[bool, Form()] = False,
) -> Response:
    """Open a hint from the page: answer with it and the next offer, or go back to the page."""
    with site.database.write() as session:
        hints.open_hint(session, account=visitor.account, exercise_id=exercise_id, number=rung, offered=offered)
        version = catalogue.current_version(session, exercise_id)
        report = last_report(session, visitor.account, exercise_id)
        shown = hints_context(session, visitor.account, version, report)
    if request.headers.get("hx-request") == "true":
        answer: Response = site.pages.page(
            "hints/opened.html", exercise_id=exercise_id, new_number=rung, swap=False, **shown
        )
    else:
        answer = RedirectResponse(f"/exercises/{exercise_id}#hint-{rung}", status_code=303)
    visitor.remember(answer)
    return answer


@router.get("/exercises/{exercise_id}/hints/use", include_in_schema=False)
def get_use(site: SiteOfRequest, _instructor: CurrentInstructor, exercise_id: str) -> Response:
    """Show those who teach how often each hint was opened, and whether it helped."""
    with site.database.read() as session:
        uses = hints.uses(session, exercise_id)
        content = catalogue.current_version(session, exercise_id).content
    texts = [render_markdown(text, anchors=False) for text in content.get("hints", [])]
    return site.pages.page(
        "hints/use.html",
        exercise={"id": exercise_id, "title": content["title"]},
        uses=list(zip(uses, texts, strict=True)),
    )


def hints_context(
    session: Session, account: Account, version: ExerciseVersion, report: Report | None
) -> dict[str, Any]:
    """
    Return what the page shows of the hints: which are open, and which one to offer.

    Args:
        session: to read with.
        account: who looks.
        version: of the exercise.
        report: the last report on a check; None if there is none.
    """
    known = hints.hints_of_version(session, account=account, version=version, report=report)
    failed = report is not None and report.verdict is not Verdict.PASSED
    return {
        "hints": {
            "total": known.total,
            "opened": [
                {"number": one.number, "html": render_markdown(one.text, anchors=False)} for one in known.opened
            ],
            "suggested": known.suggested,
            "fits": known.fits_diagnosis and failed,
            "offered": failed,
        }
    }
