"""
Who is asking: an account by bearer token or session cookie, or a guest.

Who only looks around is nobody in the database. The cookie alone says which guest they would be: the account's id
follows from it, so that drafts in the browser stay theirs, and the row is made by the first thing that is sent (POST).

Scopes of tokens are checked here and nowhere else: reading needs `read`, anything else `write`, and what
administrators do `admin` on top. A browser has them all. What an account may do is a matter of its role.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Response

from app.db import Database
from app.errors import AccountBlocked, Forbidden, NotSignedIn, ScopeMissing
from app.models import Account, Role
from app.services.accounts import access as account_access
from app.services.accounts.access import Access, Scope
from app.services.accounts.authentication import BrowserContext
from app.web.auth.known_devices import remember_device
from app.web.http import viewer
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import network_of, new_guests

COOKIE = "kelolo_session"
_COOKIE_AGE_S = account_access.SESSION_DAYS * 24 * 60 * 60
_READING = {"GET", "HEAD", "OPTIONS"}
_ADMINISTRATION = ("/api/v1/admin", "/admin")


@dataclass(frozen=True)
class Visitor:
    """Somebody who looks at a page."""

    account: Account
    new_cookie: str | None
    """The cookie to set, if the visitor has just become a guest, or somebody."""
    secure: bool
    is_stored: bool = True
    """Whether the account has a row: who has sent nothing yet has none."""

    def remember(self, response: Response) -> None:
        """Set the cookie of a new guest."""
        if self.new_cookie:
            set_cookie(response, self.new_cookie, secure=self.secure)


def set_cookie(response: Response, value: str, *, secure: bool) -> None:
    """Have the browser keep a session."""
    response.set_cookie(COOKIE, value, max_age=_COOKIE_AGE_S, secure=secure, httponly=True, samesite="lax")


def drop_cookie(response: Response, *, secure: bool) -> None:
    """Have the browser forget its session."""
    response.delete_cookie(COOKIE, secure=secure, httponly=True, samesite="lax")


def find_access(database: Database, request: Request) -> Access | None:
    """
    Return whom the request names, and how. A token that is unknown is not made up for by a cookie.

    Raises:
        AccountBlocked: nothing can be done as this account.
        ScopeMissing: the token was not made for such a request.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    cookie = request.cookies.get(COOKIE)
    viewer.seen(None)
    access = None
    with database.read() as session:
        if scheme.lower() == "bearer":
            access = account_access.access_by_bearer(session, token.strip())
        elif not scheme and cookie:
            access = account_access.access_by_cookie(session, cookie) or account_access.access_of_stranger(
                session, cookie
            )
    if access is not None:
        _require_scopes(access, request)
        viewer.seen(access.account)
    return access


def find_account(database: Database, request: Request) -> Account | None:
    """Return whom the request names. Raises AccountBlocked, ScopeMissing."""
    access = find_access(database, request)
    return access.account if access else None


def _require_scopes(access: Access, request: Request) -> None:
    needed = [Scope.READ if request.method in _READING else Scope.WRITE]
    path = request.url.path
    if any(path == start or path.startswith(f"{start}/") for start in _ADMINISTRATION):
        needed.append(Scope.ADMIN)
    if not access.scopes.issuperset(needed):
        raise ScopeMissing(scopes=" ".join(sorted(access.scopes)), needed=" ".join(needed))


def _access(site: SiteOfRequest, request: Request) -> Access:
    """
    Return who makes an API call, and by what, read in a transaction that is over before the call begins.

    Raises:
        NotSignedIn: neither a cookie nor a token that is known.
    """
    access = find_access(site.database, request)
    if access is not None and _sends_first(access, request):
        access = _stored(site, request, request.cookies[COOKIE])
    if access is None:
        raise NotSignedIn
    return access


def _sends_first(access: Access, request: Request) -> bool:
    return not access.is_stored and request.method == "POST"


def _stored(site: Site, request: Request, raw: str) -> Access | None:
    """Make a row for a guest. Raises TooManyTries: too many were made for this network."""
    site.rates.take(new_guests(site.settings.guests_per_hour), network_of(request))
    with site.database.write() as session:
        access = account_access.store_guest(session, raw, browser=request.headers.get("user-agent", ""))
    viewer.seen(access.account if access else None)
    return access


def _account(access: Annotated[Access, Depends(_access)]) -> Account:
    """Return the account of an API call. Raises NotSignedIn."""
    return access.account


def _instructor(account: Annotated[Account, Depends(_account)]) -> Account:
    """Return the instructor or administrator who asks. Raises Forbidden, NotSignedIn."""
    if account.role not in {Role.INSTRUCTOR, Role.ADMIN}:
        raise Forbidden
    return account


def _admin(account: Annotated[Account, Depends(_account)]) -> Account:
    """Return the administrator who asks. Raises Forbidden, NotSignedIn."""
    if account.role is not Role.ADMIN:
        raise Forbidden
    return account


def _visitor(site: SiteOfRequest, request: Request) -> Visitor:
    """Return who looks at a page; whoever is new is a guest, so that trying takes no sign-up."""
    access, cookie = find_access(site.database, request), None
    if access is not None and _sends_first(access, request):
        access = _stored(site, request, request.cookies[COOKIE])
    if access is None:
        cookie = account_access.new_guest_secret()
        access = Access(account=account_access.guest_without_row(cookie))
        if request.method == "POST":
            access = _stored(site, request, cookie) or access
        viewer.seen(access.account)
    return Visitor(
        account=access.account,
        new_cookie=cookie,
        secure=site.settings.secure_cookies,
        is_stored=access.is_stored,
    )


def _optional_account(site: SiteOfRequest, request: Request) -> Account | None:
    """Return who looks at a page that is the same for everyone new: nobody is made a guest by it."""
    return find_account(site.database, request)


def _browser(site: SiteOfRequest, request: Request) -> BrowserContext:
    """Return the browser that signs in or up. One that is signed in to a blocked account may go to another."""
    try:
        access = find_access(site.database, request)
    except AccountBlocked:
        access = None
    return BrowserContext(
        account_id=access.account.id if access else None,
        browser_id=access.browser.id if access and access.browser else None,
        name=request.headers.get("user-agent", ""),
    )


def set_session_cookie(site: Site, account: Account, cookie: str, response: Response) -> Response:
    """Give a browser that has just been signed in its new cookie."""
    viewer.seen(account)
    set_cookie(response, cookie, secure=site.settings.secure_cookies)
    remember_device(site, account, response)
    return response


CurrentAccess = Annotated[Access, Depends(_access)]
CurrentAccount = Annotated[Account, Depends(_account)]
CurrentInstructor = Annotated[Account, Depends(_instructor)]
CurrentAdmin = Annotated[Account, Depends(_admin)]
CurrentVisitor = Annotated[Visitor, Depends(_visitor)]
CurrentBrowser = Annotated[BrowserContext, Depends(_browser)]
OptionalAccount = Annotated[Account | None, Depends(_optional_account)]
