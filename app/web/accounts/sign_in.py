"""Signing in by password or by a printed link, and signing out."""

from fastapi import APIRouter, Request, Response

from app.errors import AppError, EmailRefused, SignInRefused
from app.models import Account, LinkPurpose, Role
from app.services.accounts import access, passwords
from app.services.accounts.authentication import sign_in, sign_in_by_password
from app.services.accounts.sessions import sign_out
from app.web.auth.dependencies import CurrentBrowser, drop_cookie, set_session_cookie
from app.web.auth.known_devices import known_device
from app.web.http import viewer
from app.web.http.form_pages import NextInForm, NextInQuery, Word, form_page, go_to, local, private
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import SIGN_INS, SIGN_INS_FROM, SIGN_INS_OF, client_address, network_of

router = APIRouter(include_in_schema=False)


@router.head("/sign-in")
@router.get("/sign-in")
def get_sign_in(site: SiteOfRequest, _browser: CurrentBrowser, onward: NextInQuery = "/") -> Response:
    """Show the form; whoever is signed in has no use for it."""
    if viewer.current().email:
        return go_to(onward)
    return _form(site, email="", onward=onward)


@router.post("/sign-in")
def post_sign_in(
    *,
    site: SiteOfRequest,
    request: Request,
    browser: CurrentBrowser,
    email: Word = "",
    password: Word = "",
    onward: NextInForm = "/",
) -> Response:
    """Sign in, and go on to where one came from. What is wrong is not said, so that nobody finds out who is here."""
    account = by_password(site, request, email=email, password=password)
    if account is None:
        return _form(site, SignInRefused(), email=email, onward=onward)
    known, new_hash = account
    try:
        with site.database.write() as session:
            cookie = sign_in_by_password(session, known, browser, new_hash=new_hash)
    except SignInRefused as error:
        return _form(site, error, email=email, onward=onward)
    return set_session_cookie(site, known, cookie, go_to(onward))


def by_password(site: Site, request: Request, *, email: str, password: str) -> tuple[Account, str | None] | None:
    """
    Return whose e-mail address and password these are, with the hash to store if the old one is out of date.

    Raises:
        TooManyTries: for this address from this network, from this client address, or from this known browser.
    """
    account = _claimed(site, email)
    device = known_device(site, account, request)
    tried = f"by {device}" if device else _count_stranger(site, request, email)
    site.rates.take(SIGN_INS, tried)
    verified = passwords.verify(password, account.password_hash if account else None)
    if account is None or not verified.right:
        if device is None:
            site.rates.take(SIGN_INS_FROM, client_address(request))
        return None
    site.rates.forget(SIGN_INS, tried)
    return account, verified.new_hash


def _count_stranger(site: Site, request: Request, email: str) -> str:
    """Count a try from a browser that the account does not know; return who is trying. Raises TooManyTries."""
    who = email.strip().lower()[:320]
    site.rates.look(SIGN_INS_FROM, client_address(request))
    site.rates.take(SIGN_INS_OF, who)
    return f"{who} from {network_of(request)}"


def _claimed(site: Site, email: str) -> Account | None:
    try:
        address = access.normal_email(email)
    except EmailRefused:
        return None
    with site.database.read() as session:
        return access.with_email(session, address)


@router.post("/sign-out")
def post_sign_out(site: SiteOfRequest, browser: CurrentBrowser) -> Response:
    """Sign this browser out. A guest's goes on without what it did, and cannot come back to it."""
    if browser.browser_id and browser.account_id:
        with site.database.write() as session:
            account = session.get_one(Account, browser.account_id)
            sign_out(session, account, browser.browser_id)
    answer = go_to("/")
    drop_cookie(answer, secure=site.settings.secure_cookies)
    return answer


@router.get("/sign-in/{token}")
def get_link(site: SiteOfRequest, _browser: CurrentBrowser, token: str) -> Response:
    """Ask whether to sign in: a link that is only looked at, by a mail scanner say, is not spent."""
    with site.database.read() as session:
        account = access.account_for_link(session, token)
    # the address is the secret: it stays out of caches, and out of the logs of what the page loads
    return private(site.pages.page("accounts/link.html", account=account))


@router.post("/sign-in/{token}")
def post_link(site: SiteOfRequest, browser: CurrentBrowser, token: str) -> Response:
    """Sign in, and go on to where this account has its work."""
    with site.database.write() as session:
        account, _ = access.spend_link(session, token, purpose=LinkPurpose.SIGN_IN)
        cookie = sign_in(session, account, browser)
    return set_session_cookie(site, account, cookie, go_to("/admin/health" if account.role is Role.ADMIN else "/"))


def _form(site: Site, error: AppError | None = None, *, email: str, onward: str) -> Response:
    return form_page(
        site,
        "accounts/sign_in.html",
        error,
        typed={"email": email},
        onward=local(onward),
        confirms=site.settings.confirms_email,
        provider=site.provider.title if site.provider else None,
    )
