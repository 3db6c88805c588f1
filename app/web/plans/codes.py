"""Entering a code, by the page of one's plan and by the API; and that page."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field
from sqlalchemy.orm import Session

from app.errors import CodeNotNeeded, CodeRefused, SignUpFirst, TooManyTries
from app.models import Account, Rule
from app.services.plans import codes
from app.services.plans.plan_usage import usage_of
from app.services.tutor.policy import policy_of
from app.web.auth.dependencies import CurrentAccount, CurrentVisitor
from app.web.http.form_pages import page_with_forms, refused
from app.web.http.forms import SentForm
from app.web.http.schemas import Strict, problems
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import CODES, CODES_FROM, client_address
from app.web.plans.schemas import CurrentPlanOut

router = APIRouter(tags=["account"])

_CODE_LIMIT = 100  # characters


class CodeIn(Strict):
    """A code as somebody has typed it."""

    code: str = Field(max_length=_CODE_LIMIT, description="Small letters, spaces and missing dashes do not matter.")


@router.post(
    "/api/v1/codes/redeem",
    responses=problems(400, 401, 403, 409, 413, 422, 429, 503),
    summary="Redeem a code",
)
def post_redemption(*, site: SiteOfRequest, request: Request, account: CurrentAccount, body: CodeIn) -> CurrentPlanOut:
    """Give one’s own account the plan that a code stands for. Each code works once."""
    _count_try(site, request, account)
    with site.database.write() as session:
        return CurrentPlanOut.model_validate(codes.redeem(session, account, body.code))


@router.get("/account/plan", include_in_schema=False)
def get_plan_page(site: SiteOfRequest, visitor: CurrentVisitor, redeemed: str = "") -> Response:
    """Show which plan one has, what is left of it, and where to enter a code."""
    with site.database.read() as session:
        shown = plan_context(session, visitor.account, redeemed=bool(redeemed))
    page = page_with_forms(site, "accounts/plan_page.html", account=visitor.account, **shown)
    visitor.remember(page)
    return page


@router.post("/account/codes", include_in_schema=False)
def post_code(*, site: SiteOfRequest, request: Request, account: CurrentAccount, form: SentForm) -> Response:
    """Redeem a code from the page."""
    typed = form.typed.get("code", "")[:_CODE_LIMIT]
    try:
        _count_try(site, request, account)
        with site.database.write() as session:
            codes.redeem(session, account, typed)
    except (CodeRefused, CodeNotNeeded, SignUpFirst, TooManyTries) as error:
        with site.database.read() as session:
            shown = plan_context(session, account)
        again = refused("redeem", error, {"code": typed}, field="code")
        return page_with_forms(site, "accounts/plan_page.html", refused=again, account=account, **shown)
    return RedirectResponse("/account/plan?redeemed=yes", status_code=303)


def plan_context(session: Session, account: Account, *, redeemed: bool = False) -> dict[str, Any]:
    """
    Return what `accounts/plan.html` shows of an account, beside the `account` itself.

    Args:
        session: of a transaction that may read.
        account: whose plan.
        redeemed: whether a code was just redeemed.
    """
    usage = usage_of(session, account)
    return {
        "plan": usage.plan,
        "quota": usage.tutor_messages,
        "checks": usage.limits[Rule.CHECKS],
        "redeemed": redeemed,
        "upgrade_text": policy_of(session).upgrade_text,
    }


def _count_try(site: Site, request: Request, account: Account) -> None:
    """Slow programs down that guess. Raises TooManyTries."""
    site.rates.take(CODES, account.id)
    site.rates.take(CODES_FROM, client_address(request))
