"""The page that says what is stored about whom, and for how long."""

from fastapi import APIRouter, Response

from app.services.accounts.access import SESSION_DAYS
from app.services.housekeeping import EMPTY_GUESTS_AFTER, IDLE_GUESTS_AFTER
from app.services.plans.spent_quotas import KEPT_MONTHS
from app.web.auth.dependencies import OptionalAccount
from app.web.http.site import SiteOfRequest

router = APIRouter(include_in_schema=False)


@router.head("/privacy")
@router.get("/privacy")
def get_privacy(site: SiteOfRequest, _account: OptionalAccount) -> Response:
    """Show it. The spans are those of the code and the settings."""
    return site.pages.page(
        "docs/privacy.html",
        session_days=SESSION_DAYS,
        empty_guests_h=EMPTY_GUESTS_AFTER.days * 24,
        idle_guests_days=IDLE_GUESTS_AFTER.days,
        run_days=site.settings.run_retention_days,
        kept_months=KEPT_MONTHS,
    )
