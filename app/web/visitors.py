"""Who is asking: an account by bearer token or session cookie, or a new guest."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Response

from app.db import Database
from app.errors import Forbidden, NotSignedIn
from app.models import Account, Role
from app.services import accounts
from app.web.site import SiteOfRequest

COOKIE = "kelolo_session"
_COOKIE_AGE_S = accounts.SESSION_DAYS * 24 * 60 * 60


@dataclass(frozen=True)
class Visitor:
    """Somebody who looks at a page."""

    account: Account
    new_cookie: str | None
    """The cookie to set, if the visitor has just become a guest."""
    secure: bool

    @property
    def called(self) -> str:
        """How the page names the visitor."""
        return called(self.account)

    def remember(self, response: Response) -> None:
        """Set the cookie of a new guest."""
        if self.new_cookie:
            response.set_cookie(
                COOKIE,
                self.new_cookie,
                max_age=_COOKIE_AGE_S,
                secure=self.secure,
                httponly=True,
                samesite="lax",
            )


def called(account: Account) -> str:
    """Return how a page names somebody."""
    return account.email or "Trying it as a guest"


def find_account(database: Database, request: Request) -> Account | None:
    """Return whom the request names. A token that is unknown is not made up for by a cookie."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    cookie = request.cookies.get(COOKIE)
    with database.read() as session:
        if scheme:
            return accounts.account_for_bearer(session, token.strip()) if scheme.lower() == "bearer" else None
        return accounts.account_for_cookie(session, cookie) if cookie else None


def _account(site: SiteOfRequest, request: Request) -> Account:
    """
    Return the account of an API call, read in a transaction that is over before the call begins.

    Raises:
        NotSignedIn: neither a cookie nor a token that is known.
    """
    account = find_account(site.database, request)
    if account is None:
        raise NotSignedIn
    return account


def _admin(account: Annotated[Account, Depends(_account)]) -> Account:
    """Return the administrator who asks. Raises Forbidden, NotSignedIn."""
    if account.role is not Role.ADMIN:
        raise Forbidden
    return account


def _visitor(site: SiteOfRequest, request: Request) -> Visitor:
    """Return who looks at a page; whoever is new becomes a guest, so that trying takes no sign-up."""
    account, cookie = find_account(site.database, request), None
    if account is None:
        with site.database.write() as session:
            account, cookie = accounts.create_guest(session)
    return Visitor(account=account, new_cookie=cookie, secure=site.settings.secure_cookies)


def _passer_by(site: SiteOfRequest, request: Request) -> Account | None:
    """Return who looks at a page that is the same for everyone new: nobody is made a guest by it."""
    return find_account(site.database, request)


CurrentAdmin = Annotated[Account, Depends(_admin)]
CurrentAccount = Annotated[Account, Depends(_account)]
CurrentVisitor = Annotated[Visitor, Depends(_visitor)]
PasserBy = Annotated[Account | None, Depends(_passer_by)]
