"""What is done by a mailed link: a new password, and the confirmation of an e-mail address."""

from fastapi import APIRouter, Request, Response
from starlette.background import BackgroundTask

from app.clients.mail import Mail
from app.errors import EmailRefused, PasswordRefused, PasswordWrong
from app.models import Account, LinkPurpose, SignInLink
from app.services.accounts import access, passwords
from app.services.accounts.authentication import BrowserContext, confirm, reset_password, sign_in
from app.services.accounts.emails import address_changed_email, password_changed_email, reset_email
from app.services.plans.spent_quotas import take_over
from app.web.auth.dependencies import CurrentBrowser, set_session_cookie
from app.web.http.form_pages import Word, form_page, go_to, private
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import REAUTHENTICATIONS, RESETS, RESETS_FROM, client_address

router = APIRouter(include_in_schema=False)


@router.head("/forgot")
@router.get("/forgot")
def get_forgot(site: SiteOfRequest, _browser: CurrentBrowser) -> Response:
    """Ask for the address."""
    return form_page(site, "accounts/forgot.html")


@router.post("/forgot")
def post_forgot(site: SiteOfRequest, request: Request, _browser: CurrentBrowser, email: Word = "") -> Response:
    """Say that a mail is on its way if there is an account; look whether there is one only when that is said."""
    try:
        address = access.normal_email(email)
    except EmailRefused as error:
        return form_page(site, "accounts/forgot.html", error, typed={"email": email})
    site.rates.take(RESETS_FROM, client_address(request))
    site.rates.take(RESETS, address)
    page = private(site.pages.page("accounts/mailed.html", address=address))
    page.background = BackgroundTask(_send_reset, site, address)
    return page


def _send_reset(site: Site, address: str) -> None:
    with site.database.write() as session:
        account = access.with_email(session, address)
        if account is None or account.blocked_at is not None:
            return
        raw = access.make_link(session, account, purpose=LinkPurpose.RESET)
    root = site.settings.site_url
    site.send_quietly([reset_email(address, link=f"{root}/reset/{raw}", site=root)])


@router.get("/reset/{token}")
def get_reset(site: SiteOfRequest, _browser: CurrentBrowser, token: str) -> Response:
    """Ask for the new password."""
    account, _ = _find(site, token, LinkPurpose.RESET)
    return form_page(site, "accounts/reset.html", email=account.email)


@router.post("/reset/{token}")
def post_reset(site: SiteOfRequest, browser: CurrentBrowser, token: str, password: Word = "") -> Response:
    """Set the new password, sign all other browsers out and this one in."""
    account, _ = _find(site, token, LinkPurpose.RESET)
    try:
        passwords.checked(password, email=account.email)
    except PasswordRefused as error:
        return form_page(site, "accounts/reset.html", error, email=account.email)
    password_hash = passwords.make_hash(password)
    with site.database.write() as session:
        account = reset_password(session, token, password_hash=password_hash)
        cookie = sign_in(session, account, browser)
    answer = go_to("/")
    if account.email:
        answer.background = _afterwards(site, password_changed_email(account.email, site=site.settings.site_url))
    return set_session_cookie(site, account, cookie, answer)


@router.get("/confirm/{token}")
def get_confirm(site: SiteOfRequest, browser: CurrentBrowser, token: str) -> Response:
    """Ask whether to confirm; elsewhere than in the browser that asked for it, the password as well."""
    account, link = _find(site, token, LinkPurpose.CONFIRM)
    return form_page(site, "accounts/confirm.html", email=link.email, here=account.id == browser.account_id)


@router.post("/confirm/{token}")
def post_confirm(*, site: SiteOfRequest, browser: CurrentBrowser, token: str, password: Word = "") -> Response:
    """
    Confirm an address and sign in.

    Reading the mail is not enough: whoever gave another's address would have its owner confirm it for them.
    So it takes the browser that asked for the link, or the password that was chosen there.
    """
    account, link = _find(site, token, LinkPurpose.CONFIRM)
    if not _is_theirs(site, account, browser, password):
        page, error = "accounts/confirm.html", PasswordWrong()
        return form_page(site, page, error, field="password", email=link.email, here=False)
    old = account.email
    with site.database.write() as session:
        account = confirm(session, token)
        take_over(session, account, keyed_hash=site.keyed_hash)
        cookie = sign_in(session, account, browser)
    answer = go_to("/account?done=email" if old else "/")
    if old and old != account.email:
        answer.background = _afterwards(site, address_changed_email(old, site=site.settings.site_url))
    return set_session_cookie(site, account, cookie, answer)


def _is_theirs(site: Site, account: Account, browser: BrowserContext, password: str) -> bool:
    if account.id == browser.account_id:
        return True
    site.rates.take(REAUTHENTICATIONS, account.id)
    return passwords.verify(password, account.password_hash).right


def _find(site: Site, token: str, purpose: LinkPurpose) -> tuple[Account, SignInLink]:
    with site.database.read() as session:
        return access.find_link(session, token, purpose=purpose)


def _afterwards(site: Site, mail: Mail) -> BackgroundTask:
    return BackgroundTask(site.send_quietly, [mail])
