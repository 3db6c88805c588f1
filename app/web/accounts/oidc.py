"""Signing in through another site: to it, and back."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict
from hmac import compare_digest
from typing import Annotated

from fastapi import APIRouter, Cookie, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.clients.oidc import Errand, IdentityRefused, Provider
from app.errors import NotFound
from app.services.accounts.authentication import sign_in
from app.services.accounts.identities import account_for
from app.services.plans.spent_quotas import take_over
from app.web.auth.dependencies import CurrentBrowser, set_session_cookie
from app.web.http.form_pages import NextInQuery, go_to, local
from app.web.http.site import Site, SiteOfRequest

router = APIRouter(include_in_schema=False)

COOKIE = "kelolo_errand"
_COOKIE_AGE_S = 600
_PATH = "/oidc"


@router.get("/oidc/start")
def get_start(site: SiteOfRequest, request: Request, onward: NextInQuery = "/") -> Response:
    """
    Send the browser to the provider; it keeps, out of reach of scripts, what it has to come back with.

    Not from a page of another site: that could have signed the browser in over there as somebody else, whom the
    account that is signed in here would then be linked with.
    """
    if request.headers.get("sec-fetch-site") not in {None, "same-origin", "none"}:
        raise IdentityRefused(reason="Another site began this. Begin it on a page of Kelolo itself.")
    address, errand = _provider(site).begin()
    answer = RedirectResponse(address, status_code=303, headers={"Cache-Control": "no-store"})
    kept = urlsafe_b64encode(json.dumps({**asdict(errand), "next": local(onward)}).encode()).decode()
    answer.set_cookie(
        COOKIE,
        kept,
        max_age=_COOKIE_AGE_S,
        path=_PATH,
        secure=site.settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )
    return answer


@router.get("/oidc/callback")
def get_callback(
    *,
    site: SiteOfRequest,
    browser: CurrentBrowser,
    state: Annotated[str, Query()] = "",
    code: Annotated[str, Query()] = "",
    kept: Annotated[str, Cookie(alias=COOKIE)] = "",
) -> Response:
    """Sign in whom the provider names. What was done as a guest is kept."""
    provider = _provider(site)
    errand, onward = _read(kept)
    if errand is None or not compare_digest(errand.state.encode("utf-8", "replace"), state.encode("utf-8", "replace")):
        raise IdentityRefused(reason="This sign-in was not begun in this browser, or too long ago. Please begin again.")
    if not code:
        raise IdentityRefused(reason=f"{provider.title} did not sign you in.")
    person = provider.finish(errand, code=code)
    with site.database.write() as session:
        account = account_for(session, person, browser)
        take_over(session, account, keyed_hash=site.keyed_hash)
        cookie = sign_in(session, account, browser)
    answer = set_session_cookie(site, account, cookie, go_to(onward))
    answer.delete_cookie(COOKIE, path=_PATH)
    return answer


def _read(kept: str) -> tuple[Errand | None, str]:
    """Return what the browser has kept, if it can be read; and where to go on."""
    try:
        found = json.loads(urlsafe_b64decode(kept.encode("ascii")))
        errand = Errand(state=str(found["state"]), nonce=str(found["nonce"]), verifier=str(found["verifier"]))
        return errand, local(str(found["next"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, "/"


def _provider(site: Site) -> Provider:
    if site.provider is None:
        raise NotFound(what="page", name="oidc")
    return site.provider
