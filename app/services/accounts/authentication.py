"""
Signing up, signing in and taking an e-mail address: how a visitor becomes somebody.

Whoever becomes somebody gets a new cookie, and the old one opens nothing any more: a cookie that somebody
else has put into the browser beforehand does not become a way into the account.
"""

from dataclasses import dataclass

from sqlalchemy import delete, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import EmailTaken, FirstAdminMade, NotFound, SignInRefused
from app.models import Account, BrowserSession, Identity, LinkPurpose, Role
from app.services import audit
from app.services.accounts.access import admitted, drop_links, open_session, spend_link, with_email
from app.services.accounts.guest_merge import merge
from app.services.accounts.sessions import revoke_all_tokens, sign_out_all
from app.services.audit import Change


@dataclass(frozen=True)
class BrowserContext:
    """What a request says of the browser that sent it."""

    account_id: str | None = None
    """Who the browser is so far: often a guest."""
    browser_id: str | None = None
    name: str = ""
    """What the browser calls itself."""


def sign_in(session: Session, account: Account, browser: BrowserContext) -> str:
    """
    Sign a browser in; what it did as a guest becomes the account's.

    Returns:
        The value for the cookie.

    Raises:
        AccountBlocked: nobody gets in there.
    """
    admitted(account)
    if browser.browser_id and (old := session.get(BrowserSession, browser.browser_id)):
        old.revoked_at = old.revoked_at or utc_now()
    if browser.account_id and browser.account_id != account.id:
        merge(session, browser.account_id, account)
    return open_session(session, account, browser=browser.name)


def sign_in_by_password(
    session: Session, account: Account, browser: BrowserContext, *, new_hash: str | None = None
) -> str:
    """
    Sign a browser in whose owner has just given the password of `account`, as it was read then.

    Raises:
        SignInRefused: the password was changed, or the account deleted, meanwhile.
        AccountBlocked: nobody gets in there.
    """
    current = session.get(Account, account.id)
    if current is None or current.password_hash != account.password_hash:
        raise SignInRefused
    if new_hash:
        current.password_hash = new_hash
    return sign_in(session, current, browser)


def sign_up(
    session: Session, browser: BrowserContext, *, email: str, password_hash: str | None, role: Role = Role.STUDENT
) -> Account:
    """
    Make an account: a guest's own becomes it, with all that was done in it.

    Raises:
        EmailTaken: the address has an account.
    """
    account = _guest(session, browser)
    if account is not None:
        _shut_out_others(session, account)
    if with_email(session, email):
        raise EmailTaken
    try:
        with session.begin_nested():
            if account is None:
                # of a guest who has sent nothing yet, so that drafts in the browser stay the account's
                known = browser.account_id and session.get(Account, browser.account_id)
                account = Account(id=None if known else browser.account_id, role=role)
                session.add(account)
            account.email, account.role, account.password_hash = email, role, password_hash
            session.flush()
    except IntegrityError:  # another with the same address came first, concurrently
        raise EmailTaken from None
    return account


def ask_to_sign_up(session: Session, guest_id: str, *, password_hash: str) -> Account:
    """Keep the password of a guest who has yet to confirm the address. Raises NotFound if it is no guest any more."""
    guest = session.get(Account, guest_id, with_for_update=True)
    if guest is None or guest.role is not Role.GUEST:
        raise NotFound(what="guest", name=guest_id)
    guest.password_hash = password_hash
    return guest


def confirm(session: Session, raw: str) -> Account:
    """
    Give an account the address that a link was mailed to.

    Raises:
        MailLinkSpent: the link is unknown, used or too old.
        EmailTaken: meanwhile another account has the address.
        AccountBlocked: nothing is done for it.
    """
    account, link = spend_link(session, raw, purpose=LinkPurpose.CONFIRM)
    email = link.email or account.email
    if email is None:
        raise NotFound(what="address", name="")
    other = with_email(session, email)
    if other is not None and other.id != account.id:
        raise EmailTaken
    if account.role is Role.GUEST:
        _shut_out_others(session, account)
        account.role = Role.STUDENT
    try:
        with session.begin_nested():
            account.email, account.confirmed_at = email, utc_now()
            session.flush()
    except IntegrityError:
        raise EmailTaken from None
    # the others of this kind are used up with it, and one for a new password went to the old address
    drop_links(session, account, LinkPurpose.CONFIRM, LinkPurpose.RESET)
    return account


def reset_password(session: Session, raw: str, *, password_hash: str) -> Account:
    """
    Set a new password by a mailed link: all browsers are signed out, and the address is confirmed by it.

    Raises:
        MailLinkSpent: the link is unknown, used or too old.
        AccountBlocked: nothing is done for it.
    """
    account, _ = spend_link(session, raw, purpose=LinkPurpose.RESET)
    start_afresh(session, account)
    set_password(session, account, password_hash=password_hash)
    return account


def set_password(session: Session, account: Account, *, password_hash: str | None) -> None:
    """Set a password: every browser is signed out, and links that were mailed are invalidated."""
    account.password_hash = password_hash
    sign_out_all(session, account)
    drop_links(session, account)


def start_afresh(session: Session, account: Account) -> None:
    """
    Leave an account to whoever has proved that its address is theirs, and shut out whoever made it without proof.

    Otherwise one could sign up with another's address, wait until they come, and read along.
    """
    if account.confirmed_at is None:
        set_password(session, account, password_hash=None)
        revoke_all_tokens(session, account)
        session.execute(delete(Identity).where(Identity.account_id == account.id))
        account.confirmed_at = utc_now()


def has_admin(session: Session) -> bool:
    """Say whether there is an administrator."""
    return session.scalar(select(Account.id).where(Account.role == Role.ADMIN).limit(1)) is not None


def make_first_admin(
    session: Session, browser: BrowserContext, *, email: str, password_hash: str | None, known: Account | None = None
) -> Account:
    """
    Make the administrator of a new site: a new account, or one that is `known` to be the visitor's.

    Raises:
        FirstAdminMade: there is one already.
        EmailTaken: the address has an account.
        AccountBlocked: the known one is.
    """
    if session.connection().dialect.name == "postgresql":  # on SQLite whoever writes is alone already
        session.execute(text("LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE"))
    if has_admin(session):
        raise FirstAdminMade
    if known is None:
        account = sign_up(session, browser, email=email, password_hash=password_hash, role=Role.ADMIN)
        before = None
    else:
        account = admitted(session.get_one(Account, known.id))
        before, account.role = {"role": account.role.value}, Role.ADMIN
    after = {"role": Role.ADMIN.value}
    change = Change("user.role", "user", account.id, email, before, after, reason="the first administrator")
    audit.record(session, change, by=account)
    return account


def _shut_out_others(session: Session, guest: Account) -> None:
    """Whoever has got at a guest's cookie, or planted it, has nothing of the account that the guest becomes."""
    sign_out_all(session, guest)
    revoke_all_tokens(session, guest)
    drop_links(session, guest)


def _guest(session: Session, browser: BrowserContext) -> Account | None:
    if browser.account_id is None:
        return None
    account = session.get(Account, browser.account_id, with_for_update=True)
    return admitted(account) if account is not None and account.role is Role.GUEST else None
