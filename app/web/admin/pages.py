"""The administrators' pages: what they share, and the first of them."""

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from app.services import audit
from app.services.administration import near_limit
from app.services.audit import AuditFilter
from app.services.grading import workers
from app.services.tutor import policy
from app.web.admin.audit_changes import changes
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.form_pages import ShownForm, page_with_forms
from app.web.http.forms import fingerprint
from app.web.http.site import Site, SiteOfRequest

router = APIRouter(include_in_schema=False)

AREAS = (
    ("/admin", "Overview"),
    ("/admin/plans", "Plans"),
    ("/admin/users", "Users"),
    ("/admin/codes", "Codes"),
    ("/admin/tutor", "Tutor"),
    ("/admin/audit", "Audit log"),
    ("/admin/health", "Health"),
)
_NEWS = {
    "plan": "The plan was changed. It holds from the next request on.",
    "user-plan": "The plan was changed.",
    "user-role": "The role was changed.",
    "user-limit": "The limit of this account was changed.",
    "user-limit-off": "The plan’s own limit holds again.",
    "user-extra": "The messages were given.",
    "user-reset": "The counters begin again from zero.",
    "user-block": "The account was blocked.",
    "user-unblock": "The account is not blocked any more.",
    "codes-revoked": "The unused codes of this batch were revoked.",
    "tutor": "The ceilings were changed. They hold from the next answer on.",
}
_LAST_ENTRIES = 5


def admin_page(
    site: Site,
    template: str,
    *,
    refused: ShownForm | None = None,
    news: str = "",
    **context: Any,  # noqa: ANN401  whatever the template shows
) -> Response:
    """
    Render a page for administrators.

    Args:
        site: of the request.
        template: which page.
        refused: the form that could not be taken.
        news: the name of what has just been done.
        context: what the page shows.
    """
    return page_with_forms(
        site,
        template,
        refused=refused,
        areas=AREAS,
        news=_NEWS.get(news, ""),
        fingerprint=fingerprint,
        changes=changes,
        **context,
    )


def done(path: str, news: str) -> Response:
    """Go on to a page that says what has been done."""
    return RedirectResponse(f"{path}?done={news}", status_code=303)


@router.get("/admin")
def get_overview(site: SiteOfRequest, _admin: CurrentAdmin) -> Response:
    """Show what may need a hand: who is near a limit, who grades, how the tutor is used, what was changed last."""
    with site.database.read() as session:
        there = workers.present(session)
        shown: dict[str, Any] = {
            "near": near_limit.near_limit(session),
            "workers": len(there),
            "slots": sum(one.slots for one in there),
            "missing": [one for one in workers.weakest_layers(there) if one["state"] == "missing"],
            "waiting": site.queue.depth(session),
            "month": policy.this_month(session),
            "policy": policy.policy_of(session),
            "entries": audit.search(session, AuditFilter(), limit=_LAST_ENTRIES),
        }
    return admin_page(site, "admin/overview.html", **shown)
