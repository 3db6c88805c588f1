"""The page of one's own account: address, password, browsers, tokens, export, and leaving."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Response
from starlette.background import BackgroundTask

from app.errors import EmailTaken, Forbidden, NotSignedIn, PasswordWrong
from app.models import Account, LinkPurpose, Role
from app.services.accounts import access as account_access
from app.services.accounts import passwords
from app.services.accounts.access import Access
from app.services.accounts.authentication import set_password, sign_in_by_password
from app.services.accounts.emails import address_taken_email, confirmation_email, password_changed_email
from app.services.accounts.identities import list_identities, unlink
from app.services.accounts.sessions import list_browsers, list_tokens, revoke_token, sign_out, sign_out_all
from app.services.personal_data import delete_account
from app.web.accounts.api import require_proof
from app.web.accounts.browser_names import browser_name
from app.web.auth.dependencies import CurrentAccess, CurrentBrowser, drop_cookie, set_session_cookie
from app.web.http import viewer
from app.web.http.form_pages import FieldErrors, ShownForm, Word, go_to, page_with_forms, private, refused
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import MAILS
from app.web.plans.codes import plan_context

router = APIRouter(include_in_schema=False)

_DONE = {
    "email": "Your e-mail address is confirmed.",
    "password": "Your password is changed, and all other browsers are signed out.",
    "browser": "That browser is signed out.",
    "browsers": "All other browsers are signed out.",
    "token": "The token is revoked.",
    "unlinked": "The link is removed.",
}
_TOKEN_DAYS = {"30": 30, "90": 90, "365": 365}


def _owner(access: CurrentAccess) -> Access:
    """
    Return who is signed in, in a browser: a program has the API, where its scopes count.

    Raises:
        NotSignedIn: nobody, or a guest.
        Forbidden: a program.
    """
    if access.browser is None:
        raise Forbidden
    if access.account.role is Role.GUEST:
        raise NotSignedIn
    return access


Owner = Annotated[Access, Depends(_owner)]


@router.head("/account")
@router.get("/account")
def get_account(site: SiteOfRequest, browser: CurrentBrowser, done: Annotated[str, Query()] = "") -> Response:
    """Show the page; who is not signed in does that first."""
    account = viewer.current().account
    if account is None or account.role is Role.GUEST:
        return go_to("/sign-in?next=/account")
    return _page(site, account, browser.browser_id, done=_DONE.get(done))


@router.post("/account/email")
def post_email(*, site: SiteOfRequest, owner: Owner, email: Word = "", current: Word = "") -> Response:
    """Send a link to the new address: the account has it once that is opened. Until then nothing changes."""
    account = owner.account
    try:
        address = account_access.normal_email(email)
        if address == account.email:
            raise EmailTaken
        _require_password(site, account, current)
    except FieldErrors as error:
        return _page(site, account, _browser_of(owner), refused=refused("email", error, {"email": email}))
    site.rates.take(MAILS, account.id)
    root = site.settings.site_url
    with site.database.write() as session:
        mail = address_taken_email(address, site=root)
        if account_access.with_email(session, address) is None:
            raw = account_access.make_link(session, account, purpose=LinkPurpose.CONFIRM, email=address)
            mail = confirmation_email(address, link=f"{root}/confirm/{raw}", site=root)
    site.mailer.send([mail])
    return private(site.pages.page("accounts/mailed.html", address=address))


@router.post("/account/password")
def post_password(
    *, site: SiteOfRequest, owner: Owner, browser: CurrentBrowser, current: Word = "", password: Word = ""
) -> Response:
    """Change the password: this browser gets a new cookie, and all others are signed out."""
    account = owner.account
    if account.password_hash is None:
        raise Forbidden  # who has none chooses the first by a mailed link
    try:
        _require_password(site, account, current)
        passwords.checked(password, email=account.email)
    except FieldErrors as error:
        return _page(site, account, _browser_of(owner), refused=refused("password", error))
    password_hash = passwords.make_hash(password)
    with site.database.write() as session:
        changed = session.get_one(Account, account.id)
        set_password(session, changed, password_hash=password_hash)
        cookie = sign_in_by_password(session, changed, browser)
    answer = go_to("/account?done=password")
    if account.email:
        email = password_changed_email(account.email, site=site.settings.site_url)
        answer.background = BackgroundTask(site.send_quietly, [email])
    return set_session_cookie(site, account, cookie, answer)


@router.post("/account/browsers/others/sign-out")
def post_others(site: SiteOfRequest, owner: Owner) -> Response:
    """Sign all other browsers out."""
    with site.database.write() as session:
        sign_out_all(session, owner.account, but=_browser_of(owner))
    return go_to("/account?done=browsers")


@router.post("/account/browsers/{browser_id}/sign-out")
def post_browser(site: SiteOfRequest, owner: Owner, browser_id: str) -> Response:
    """Sign one of the browsers out."""
    with site.database.write() as session:
        sign_out(session, owner.account, browser_id)
    return go_to("/account?done=browser")


@router.post("/account/tokens")
def post_token(
    *,
    site: SiteOfRequest,
    owner: Owner,
    label: Word = "",
    scope: Annotated[tuple[str, ...], Form()] = (),
    days: Word = "",
) -> Response:
    """Make a token and show it, this once."""
    try:
        with site.database.write() as session:
            _, raw = account_access.add_token(
                session, owner.account, label=label.strip(), scopes=" ".join(scope), days=_TOKEN_DAYS.get(days)
            )
    except FieldErrors as error:
        return _page(site, owner.account, _browser_of(owner), refused=refused("tokens", error, {"label": label}))
    return _page(site, owner.account, _browser_of(owner), new_token=raw)


@router.post("/account/tokens/{token_id}/revoke")
def post_revoke(site: SiteOfRequest, owner: Owner, token_id: str) -> Response:
    """Make a token good for nothing."""
    with site.database.write() as session:
        revoke_token(session, owner.account, token_id)
    return go_to("/account?done=token")


@router.post("/account/identities/{identity_id}/unlink")
def post_unlink(site: SiteOfRequest, owner: Owner, identity_id: str) -> Response:
    """Forget that another site knows the owner: one gets in by password, or by a new one that is mailed."""
    with site.database.write() as session:
        unlink(session, owner.account, identity_id)
    return go_to("/account?done=unlinked")


@router.post("/account/delete")
def post_delete(*, site: SiteOfRequest, owner: Owner, current: Word = "", email: Word = "") -> Response:
    """Delete the account with all that belongs to it."""
    try:
        require_proof(site, owner.account, password=current, email=email)
    except PasswordWrong as error:
        has_password = owner.account.password_hash is not None
        again = refused("delete", error) if has_password else refused("delete", _AddressWrong(), field="email")
        return _page(site, owner.account, _browser_of(owner), refused=again)
    with site.database.write() as session:
        delete_account(session, owner.account.id, keyed_hash=site.keyed_hash)
    viewer.seen(None)
    answer = private(site.pages.page("accounts/deleted.html"))
    drop_cookie(answer, secure=site.settings.secure_cookies)
    return answer


class _AddressWrong(PasswordWrong):
    """An account without a password is deleted by typing its address."""

    message = "That is not the e-mail address of this account."


def _require_password(site: Site, account: Account, password: str) -> None:
    """Have the password given again, where there is one. Raises PasswordWrong, TooManyTries."""
    if account.password_hash is not None:
        require_proof(site, account, password=password)


def _browser_of(owner: Access) -> str | None:
    return owner.browser.id if owner.browser else None


def _page(
    site: Site,
    account: Account,
    browser_id: str | None,
    *,
    refused: ShownForm | None = None,
    done: str | None = None,
    new_token: str | None = None,
) -> Response:
    with site.database.read() as session:
        browsers = [
            {"id": one.id, "name": browser_name(one.browser), "since": one.created_at, "here": one.id == browser_id}
            for one in list_browsers(session, account)
        ]
        found: dict[str, object] = plan_context(session, account)
        found |= {"tokens": list_tokens(session, account), "identities": list_identities(session, account)}
    page = page_with_forms(
        site,
        "accounts/account.html",
        refused=refused,
        done=done,
        new_token=new_token,
        account=account,
        browsers=browsers,
        provider=site.provider.title if site.provider else None,
        scopes=account_access.default_scopes(account).split(),
        **found,
    )
    return private(page)
