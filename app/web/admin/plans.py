"""Plans and their limits, as administrators see and change them."""

from fastapi import APIRouter, Response

from app.errors import EditedMeanwhile, LimitRefused
from app.models import Rule
from app.services.plans import plans
from app.services.plans.plans import LEAST, MOST, PERIOD_WORDS, PERIODS, Limit, PlanView
from app.web.admin.pages import admin_page, done
from app.web.admin.schemas import REASON_LIMIT, PlanIn, PlanOut, PlansOut
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.form_pages import ShownForm, refused
from app.web.http.forms import Form, FormRefused, SentForm
from app.web.http.schemas import problems
from app.web.http.site import SiteOfRequest

router = APIRouter(tags=["administration"])


@router.get("/api/v1/admin/plans", responses=problems(401, 403), summary="All plans and their limits")
def get_plans(site: SiteOfRequest, _admin: CurrentAdmin) -> PlansOut:
    """Return what each plan allows."""
    with site.database.read() as session:
        found = plans.list_plans(session)
    return PlansOut(plans=[PlanOut.model_validate(plan) for plan in found])


@router.put(
    "/api/v1/admin/plans/{name}",
    responses=problems(400, 401, 403, 404, 413, 422, 503),
    summary="Change what a plan allows",
)
def put_plan(site: SiteOfRequest, admin: CurrentAdmin, name: str, body: PlanIn) -> PlanOut:
    """Replace one limit of a plan, or both. It holds from the next request of anybody on."""
    limits = [
        plans.checked(rule, limit.model_dump())
        for rule, limit in ((Rule.TUTOR_MESSAGES, body.tutor_messages), (Rule.CHECKS, body.checks))
        if limit is not None
    ]
    if not limits:
        raise LimitRefused(reason="Say which limit changes: tutor_messages, checks or both.")
    with site.database.write() as session:
        plan = plans.set_limits(session, name, limits, by=admin, reason=body.reason)
    return PlanOut.model_validate(plan)


@router.get("/admin/plans", include_in_schema=False)
def get_plans_page(site: SiteOfRequest, _admin: CurrentAdmin, done: str = "") -> Response:
    """Show the plans, each with a form."""
    return _page(site, news=done)


@router.post("/admin/plans/{name}", include_in_schema=False)
def post_plan(site: SiteOfRequest, admin: CurrentAdmin, name: str, form: SentForm) -> Response:
    """Change a plan from its form."""
    try:
        reason = form.text("reason", most=REASON_LIMIT)
        limits = [read_limit(form, rule) for rule in Rule]
        form.finish()
        with site.database.write() as session:
            plans.lock_plan(session, name)
            plan = plans.plan_named(session, name)
            form.unchanged_since(_as_json(plan), what=f"the {plan.title} plan")
            plans.set_limits(session, name, limits, by=admin, reason=reason)
    except (EditedMeanwhile, FormRefused, LimitRefused) as error:
        return _page(site, refused=refused(name, error, form.typed))
    return done("/admin/plans", "plan")


def read_limit(form: Form, rule: Rule) -> Limit:
    """Read a limit out of a form: an amount or `unlimited`, its period, and a ceiling of fair use."""
    unlimited = form.ticked(f"{rule.value}_unlimited")
    amount = None if unlimited else form.whole(f"{rule.value}_amount", least=LEAST[rule], most=MOST)
    period = form.chosen(f"{rule.value}_period", [one.value for one in PERIODS[rule]])
    quota: dict[str, object] = {"amount": amount, "period": period}
    if rule is Rule.TUTOR_MESSAGES and unlimited:
        quota["fair_use_per_day"] = form.whole_or_none(f"{rule.value}_fair_use", least=1, most=MOST)
    return plans.checked(rule, quota)


def _as_json(plan: PlanView) -> dict[str, object]:
    """Return a plan as the API has it: what a form was opened with is compared with that."""
    return PlanOut.model_validate(plan).model_dump(mode="json")


def limit_context() -> dict[str, object]:
    """Return what the fields of a limit are drawn from."""
    return {
        "rules": [
            {
                "rule": rule,
                "name": rule.value,
                "title": _TITLES[rule],
                "least": LEAST[rule],
                "periods": [(one.value, PERIOD_WORDS[one].each) for one in PERIODS[rule]],
                "fair_use": rule is Rule.TUTOR_MESSAGES,
            }
            for rule in Rule
        ],
        "most": MOST,
    }


def _page(site: SiteOfRequest, *, refused: ShownForm | None = None, news: str = "") -> Response:
    with site.database.read() as session:
        found: list[PlanView] = plans.list_plans(session)
    shown = {"plans": [(plan, _as_json(plan)) for plan in found], **limit_context()}
    return admin_page(site, "admin/plans.html", refused=refused, news=news, **shown)


_TITLES = {Rule.TUTOR_MESSAGES: "Tutor messages", Rule.CHECKS: "Checks and runs"}
