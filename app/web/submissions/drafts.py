"""
The HTTP API of drafts, and the one address for a visitor who is nobody yet.

A page saves what is typed through the API. Only the first draft of somebody unknown goes to `POST
/exercises/…/drafts`, which makes them a guest: looking at a page, or an API call, makes nobody.
"""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from app.models import Account
from app.services.submissions import drafts
from app.services.submissions.drafts import DRAFTS_KEPT, NAME_PATTERN
from app.web.auth.dependencies import CurrentAccount, CurrentVisitor
from app.web.http.schemas import ProblemOut, problems
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import DRAFTS, FIRST_DRAFTS_FROM, client_address

router = APIRouter()

_Name = Annotated[str, Path(pattern=NAME_PATTERN, description="Made up by whoever begins the draft, such as a UUID.")]
_Version = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Refuse to delete any other version.")]


class DraftIn(BaseModel):
    """All that stands in an editor."""

    text: str = Field(description="Python source: at most 64 KiB of UTF-8, no NUL.")
    version: int = Field(
        default=0, ge=0, lt=2**31 - 1, description="Which version the change was made to; 0 for a new draft."
    )


class FirstDraftIn(DraftIn):
    """The first draft of somebody who is nobody yet."""

    id: str = Field(pattern=NAME_PATTERN)


class _StoredDraft(BaseModel):
    """What every answer says of a stored draft."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(validation_alias="name")
    version: int
    updated_at: datetime


class DraftOut(_StoredDraft):
    """A draft."""

    text: str


class DraftSaved(_StoredDraft):
    """How a draft stands after it was saved."""

    is_sent: bool = Field(description="The text is an attempt already, so no draft of it is kept.")


class DraftConflict(ProblemOut):
    """A draft that was changed elsewhere, as it is stored."""

    text: str
    version: int
    updated_at: datetime


_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"description": "It was changed elsewhere; what is stored comes with it.", "model": DraftConflict}
}


def _room_for_another(site: SiteOfRequest, request: Request) -> None:
    """Bound how many guests one client address can become by drafts. Raises TooManyTries."""
    site.rates.take(FIRST_DRAFTS_FROM, client_address(request))


@router.get(
    "/api/v1/exercises/{exercise_id}/drafts",
    tags=["drafts"],
    responses=problems(401, 403, 404, 422),
    summary="List my drafts",
)
def get_drafts(site: SiteOfRequest, account: CurrentAccount, exercise_id: str) -> list[DraftOut]:
    """List what was typed for an exercise and not sent to be checked, the newest first."""
    with site.database.read() as session:
        found = drafts.list_drafts(session, account, exercise_id)
    return [DraftOut.model_validate(draft) for draft in found]


@router.put(
    "/api/v1/exercises/{exercise_id}/drafts/{draft_id}",
    tags=["drafts"],
    responses={**problems(400, 401, 403, 404, 413, 422, 429, 503), **_CONFLICT},
    summary="Save a draft",
    description="Store what stands in an editor. Name the version that the change was made to: if what is stored is "
    "of another, nothing is written, and the answer has its text. "
    f"There are {DRAFTS_KEPT} drafts of an exercise at most: the one that was not touched for longest goes first.",
)
def put_draft(
    *, site: SiteOfRequest, account: CurrentAccount, exercise_id: str, draft_id: _Name, body: DraftIn
) -> DraftSaved:
    """Store a draft of an account."""
    return _save(site, account, exercise_id, FirstDraftIn(id=draft_id, text=body.text, version=body.version))


@router.delete(
    "/api/v1/exercises/{exercise_id}/drafts/{draft_id}",
    tags=["drafts"],
    status_code=204,
    responses={**problems(401, 403, 422, 429, 503), **_CONFLICT},
    summary="Delete a draft",
)
def delete_draft(
    *, site: SiteOfRequest, account: CurrentAccount, exercise_id: str, draft_id: _Name, version: _Version = None
) -> None:
    """Forget a draft. One that is not there is no fault."""
    site.rates.take(DRAFTS, account.id)
    with site.database.write() as session:
        drafts.delete_draft(session, account, exercise_id, name=draft_id, version=version)


@router.post(
    "/exercises/{exercise_id}/drafts",
    include_in_schema=False,
    dependencies=[Depends(_room_for_another)],
)
def post_draft(
    *, site: SiteOfRequest, visitor: CurrentVisitor, response: Response, exercise_id: str, body: FirstDraftIn
) -> DraftSaved:
    """Store a draft for whoever looks at the page; whoever is nobody yet becomes a guest."""
    saved = _save(site, visitor.account, exercise_id, body)
    visitor.remember(response)
    return saved


def _save(site: Site, account: Account, exercise_id: str, body: FirstDraftIn) -> DraftSaved:
    site.rates.take(DRAFTS, account.id)
    with site.database.write() as session:
        saved = drafts.save_draft(
            session,
            account,
            exercise_id,
            name=body.id,
            text=body.text,
            version=body.version,
            allowed=site.allowances,
        )
    return DraftSaved.model_validate(saved)
