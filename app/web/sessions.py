"""Signing in, and the HTTP API of the visitor's own account."""

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from app.models import Role
from app.services import accounts
from app.web.shapes import Me, json_answer, problems
from app.web.site import SiteOfRequest
from app.web.visitors import CurrentAccount, Visitor

router = APIRouter(tags=["account"])


@router.get("/sign-in/{token}", include_in_schema=False)
def get_link(site: SiteOfRequest, token: str) -> Response:
    """Ask whether to sign in: a link that is only looked at, by a mail scanner say, is not spent."""
    with site.database.read() as session:
        account = accounts.account_for_link(session, token)
    page = site.pages.page("accounts/link.html", account=account)
    # the address is the secret: it stays out of caches, and out of the logs of what the page loads
    page.headers.update({"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    return page


@router.post("/sign-in/{token}", include_in_schema=False)
def post_link(site: SiteOfRequest, token: str) -> Response:
    """Sign in, and go on to where this account has its work."""
    with site.database.write() as session:
        account, cookie = accounts.use_link(session, token)
    answer = RedirectResponse("/admin/health" if account.role is Role.ADMIN else "/", status_code=303)
    Visitor(account=account, new_cookie=cookie, secure=site.settings.secure_cookies).remember(answer)
    return answer


@router.get("/api/v1/me", response_model=Me, responses=problems(401), summary="Who am I?")
def get_me(account: CurrentAccount) -> Response:
    """Say which account a token or a cookie belongs to."""
    return json_answer({"id": account.id, "email": account.email, "role": account.role.value})
