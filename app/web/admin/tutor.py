"""The tutor as administrators see it: what it may cost, how it is used, and what is said of its answers."""

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Response

from app.errors import EditedMeanwhile, LimitRefused
from app.services.tutor import policy as tutor_policy
from app.services.tutor.policy import MOST_FAILURES, MOST_TOKENS, MOST_UPGRADE_TEXT, Policy
from app.web.admin.pages import admin_page, done
from app.web.admin.schemas import REASON_LIMIT, PolicyIn, TutorOut, tutor_out
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.form_pages import ShownForm, refused
from app.web.http.forms import FormRefused, SentForm
from app.web.http.schemas import problems
from app.web.http.site import SiteOfRequest

router = APIRouter(tags=["administration"])


@router.get("/api/v1/admin/tutor", responses=problems(401, 403), summary="The tutor’s month")
def get_tutor(site: SiteOfRequest, _admin: CurrentAdmin) -> TutorOut:
    """Return the tutor’s ceilings, and how it was used since the month began (UTC)."""
    with site.database.read() as session:
        return tutor_out(tutor_policy.policy_of(session), tutor_policy.this_month(session))


@router.put(
    "/api/v1/admin/tutor",
    responses=problems(400, 401, 403, 413, 422, 503),
    summary="Change the tutor’s ceilings",
)
def put_tutor(site: SiteOfRequest, admin: CurrentAdmin, body: PolicyIn) -> TutorOut:
    """Change what a hosted model may cost in a month, and how many failures an account gets back in a day."""
    policy = Policy(body.month_token_ceiling, body.failures_per_day)
    with site.database.write() as session:
        kept = tutor_policy.locked_policy(session).upgrade_text
        policy = replace(policy, upgrade_text=kept if body.upgrade_text is None else body.upgrade_text)
        tutor_policy.set_policy(session, policy, by=admin, reason=body.reason)
        return tutor_out(tutor_policy.policy_of(session), tutor_policy.this_month(session))


@router.get("/admin/tutor", include_in_schema=False)
def get_tutor_page(site: SiteOfRequest, _admin: CurrentAdmin, done: str = "") -> Response:
    """Show the month, and the form for the ceilings."""
    return _page(site, news=done)


@router.post("/admin/tutor", include_in_schema=False)
def post_tutor_page(site: SiteOfRequest, admin: CurrentAdmin, form: SentForm) -> Response:
    """Change the ceilings from the form."""
    try:
        ceiling = form.whole("month_token_ceiling", least=0, most=MOST_TOKENS)
        failures = form.whole("failures_per_day", least=0, most=MOST_FAILURES)
        upgrade_text = form.text("upgrade_text", most=MOST_UPGRADE_TEXT)
        reason = form.text("reason", most=REASON_LIMIT)
        form.finish()
        with site.database.write() as session:
            form.unchanged_since(tutor_policy.locked_policy(session).to_json(), what="the ceilings")
            tutor_policy.set_policy(session, Policy(ceiling, failures, upgrade_text), by=admin, reason=reason)
    except (EditedMeanwhile, FormRefused, LimitRefused) as error:
        return _page(site, refused=refused("tutor", error, form.typed))
    return done("/admin/tutor", "tutor")


def _page(site: SiteOfRequest, *, refused: ShownForm | None = None, news: str = "") -> Response:
    with site.database.read() as session:
        shown: dict[str, Any] = {"policy": tutor_policy.policy_of(session), "month": tutor_policy.this_month(session)}
    most = {"tokens": MOST_TOKENS, "failures": MOST_FAILURES, "upgrade_text": MOST_UPGRADE_TEXT}
    return admin_page(site, "admin/tutor.html", refused=refused, news=news, most=most, **shown)
