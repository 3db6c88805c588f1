"""What the tutor could not answer, for those who teach: grouped, with the beginning of a card for each."""

from fastapi import APIRouter, Response

from app.services.tutor.unanswered import DAYS, unanswered
from app.web.auth.dependencies import CurrentInstructor
from app.web.http.site import SiteOfRequest

router = APIRouter(include_in_schema=False)


@router.get("/tutor/unanswered")
def get_unanswered(site: SiteOfRequest, _instructor: CurrentInstructor) -> Response:
    """Show the questions of the last days that found no answer, or one that did not help. Who asked is not shown."""
    with site.database.read() as session:
        groups = unanswered(session)
    return site.pages.page("tutor/unanswered.html", groups=groups, days=DAYS)
