"""Signing up, and the page that makes the first administrator."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask

from app.clients.mail import Mail
from app.errors import AppError, FirstAdminLinkOld, FirstAdminMade, PasswordWrong, SignInRefused
from app.models import Account, LinkPurpose, Role
from app.services.accounts import access, passwords
from app.services.accounts.authentication import (
    BrowserContext,
    ask_to_sign_up,
    has_admin,
    make_first_admin,
    sign_in,
    sign_up,
)
from app.services.accounts.emails import address_taken_email, confirmation_email
from app.services.plans.spent_quotas import take_over
from app.web.accounts.bootstrap_admin import BootstrapAdmin
from app.web.accounts.sign_in import by_password
from app.web.auth.dependencies import CurrentBrowser, set_cookie, set_session_cookie
from app.web.http import viewer
from app.web.http.form_pages import FieldErrors, NextInForm, NextInQuery, Word, form_page, go_to, local, private
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import SIGN_UPS_FROM, client_address

router = APIRouter(include_in_schema=False)


@router.head("/sign-up")
@router.get("/sign-up")
def get_sign_up(site: SiteOfRequest, _browser: CurrentBrowser, onward: NextInQuery = "/") -> Response:
    """Show the form; whoever has an account has no use for it."""
    if viewer.current().email:
        return go_to(onward)
    return _form(site, email="", onward=onward)


@router.post("/sign-up")
def post_sign_up(
    *,
    site: SiteOfRequest,
    request: Request,
    browser: CurrentBrowser,
    email: Word = "",
    password: Word = "",
    onward: NextInForm = "/",
) -> Response:
    """Make an account of what the visitor has been so far, and sign in; or first send a link, if that is asked for."""
    try:
        address = access.normal_email(email)
        passwords.checked(password, email=address)
        site.rates.take(SIGN_UPS_FROM, client_address(request))
        password_hash = passwords.make_hash(password)
        if site.settings.confirms_email:
            return _ask(site, browser, address, password_hash)
        with site.database.write() as session:
            account = sign_up(session, browser, email=address, password_hash=password_hash)
            take_over(session, account, keyed_hash=site.keyed_hash)
            cookie = sign_in(session, account, browser)
    except FieldErrors as error:
        return _form(site, error, email=email, onward=onward)
    return set_session_cookie(site, account, cookie, go_to(onward))


def _ask(site: Site, browser: BrowserContext, address: str, password_hash: str) -> Response:
    """Send a link to the address, or word that it has an account: which of them, the answer does not say."""
    with site.database.write() as session:
        guest, cookie = _guest(session, browser)
        ask_to_sign_up(session, guest.id, password_hash=password_hash)
        raw = access.make_link(session, guest, purpose=LinkPurpose.CONFIRM, email=address)
        is_taken = access.with_email(session, address) is not None
    root = site.settings.site_url
    link = confirmation_email(address, link=f"{root}/confirm/{raw}", site=root)
    page = mailed(site, address, [address_taken_email(address, site=root) if is_taken else link])
    if cookie:
        set_cookie(page, cookie, secure=site.settings.secure_cookies)
    return page


def _guest(session: Session, browser: BrowserContext) -> tuple[Account, str | None]:
    known = session.get(Account, browser.account_id) if browser.account_id else None
    if known is not None and known.role is Role.GUEST:
        return known, None
    return access.create_guest(session, browser=browser.name, account_id=None if known else browser.account_id)


def mailed(site: Site, address: str, mails: Sequence[Mail]) -> Response:
    """Say that a mail is on its way, and send it once that is said."""
    page = private(site.pages.page("accounts/mailed.html", address=address))
    page.background = BackgroundTask(site.send_quietly, mails)
    return page


@router.get("/first-admin/{secret}")
def get_first_admin(site: SiteOfRequest, _browser: CurrentBrowser, secret: str) -> Response:
    """Show the form to whoever has read the console."""
    _check_opens(site, secret)
    return form_page(site, "accounts/first_admin.html")


@router.post("/first-admin/{secret}")
def post_first_admin(
    *,
    site: SiteOfRequest,
    request: Request,
    browser: CurrentBrowser,
    secret: str,
    email: Word = "",
    password: Word = "",
) -> Response:
    """Make the first administrator, once, and sign in."""
    _check_opens(site, secret)
    page, typed = "accounts/first_admin.html", {"email": email}
    try:
        address = access.normal_email(email)
        known = _owner(site, request, address, password)
        password_hash = None if known else passwords.make_hash(passwords.checked(password, email=address))
        with site.parts.get(BootstrapAdmin).lock, site.database.write() as session:
            account = make_first_admin(session, browser, email=address, password_hash=password_hash, known=known)
            cookie = sign_in(session, account, browser)
    except SignInRefused:
        return form_page(site, page, PasswordWrong(), field="password", typed=typed)
    except FieldErrors as error:
        return form_page(site, page, error, typed=typed)
    site.parts.get(BootstrapAdmin).close()
    return set_session_cookie(site, account, cookie, go_to("/admin/health"))


def _check_opens(site: Site, secret: str) -> None:
    """Let only the good link pass; of all others the same is said. Raises: FirstAdminMade, FirstAdminLinkOld."""
    if site.parts.get(BootstrapAdmin).fits(secret):
        return
    with site.database.read() as session:
        raise FirstAdminMade if has_admin(session) else FirstAdminLinkOld


def _owner(site: Site, request: Request, address: str, password: str) -> Account | None:
    """Return the account with this address, if there is one and the password is its. Raises SignInRefused."""
    with site.database.read() as session:
        if access.with_email(session, address) is None:
            site.rates.take(SIGN_UPS_FROM, client_address(request))
            return None
    found = by_password(site, request, email=address, password=password)
    if found is None:
        raise SignInRefused
    return found[0]


def _form(site: Site, error: AppError | None = None, *, email: str, onward: str) -> Response:
    return form_page(
        site,
        "accounts/sign_up.html",
        error,
        typed={"email": email},
        onward=local(onward),
        provider=site.provider.title if site.provider else None,
    )
