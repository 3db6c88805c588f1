"""Accounts, and how a cookie, a token or a link is traced back to one."""

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256

from sqlalchemy import ColumnElement, exists, or_, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import updated_rows, upsert
from app.errors import (
    AccountBlocked,
    AccountExists,
    EmailRefused,
    LinkSpent,
    MailLinkSpent,
    NotFound,
    RoleRefused,
    TokenRefused,
)
from app.models import ASSIGNABLE_ROLES, Account, ApiToken, BrowserSession, LinkPurpose, Role, SignInLink

SESSION_DAYS = 180
LINK_MINUTES = 60
VALID_LINKS = 3
"""How many that were mailed to an address for one purpose are valid at once, the newest."""
GUEST_PREFIX = "guest_"
"""Of a guest's cookie, so that one of a guest who has no row yet is known for what it is."""
_GUEST_SECRET = re.compile(r"guest_[A-Za-z0-9_-]{43}")
TOKEN_PREFIX = "kel_"  # noqa: S105  not a secret: it lets scanners find leaked ones
TOKEN_DAYS_LIMIT = 3650
_LABEL_LIMIT = 200  # characters
_BROWSER_LIMIT = 300  # characters
# Narrower than what the standards allow: nothing in it can be read as two addresses, or as more than one line.
_EMAIL = re.compile(r'\A[^@\s\x00-\x1f\x7f<>()\[\],;:\\"]+@[^@\s\x00-\x1f\x7f<>()\[\],;:\\"]+')
_EMAIL_LIMIT = 254  # characters, RFC 5321


class Scope(StrEnum):
    """What a token lets a program do, within what the account itself may."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True)
class Access:
    """Somebody who has shown who they are, and by what."""

    account: Account
    browser: BrowserSession | None = None
    token: ApiToken | None = None

    @property
    def is_stored(self) -> bool:
        """Whether the account has a row. Who only looks around has none."""
        return self.browser is not None or self.token is not None

    @property
    def scopes(self) -> frozenset[str]:
        """What this access allows: a browser's allows everything."""
        return frozenset(Scope) if self.token is None else frozenset(self.token.scopes.split())


def create_guest(session: Session, *, browser: str = "", account_id: str | None = None) -> tuple[Account, str]:
    """
    Make an account for a visitor who has none: the one that their cookie names, if its id is given.

    Returns:
        The account, and the value for the browser's cookie, which is stored only as a hash.
    """
    raw = new_guest_secret()
    account = guest_without_row(raw)
    account.id = account_id or account.id
    session.add(account)
    session.flush()
    return account, open_session(session, account, browser=browser, raw=raw)


def new_guest_secret() -> str:
    """Return the value for the cookie of a visitor of whom nothing is stored yet."""
    return GUEST_PREFIX + new_secret()


def guest_without_row(raw: str) -> Account:
    """Return the guest that a cookie names, as it is before anything is stored: the same each time."""
    return Account(id=hashed(f"account of {raw}")[:32], role=Role.GUEST, created_at=utc_now())


def store_guest(session: Session, raw: str, *, browser: str = "") -> Access | None:
    """
    Store the guest that a cookie names, or find the one that another request has stored meanwhile.

    None if its account has become somebody's: the cookie must open nothing of that.
    """
    guest = guest_without_row(raw)
    row = {"id": guest.id, "role": guest.role, "created_at": guest.created_at}
    made = session.scalar(upsert(session, Account).values(row).on_conflict_do_nothing().returning(Account.id))
    if made is not None:
        open_session(session, session.get_one(Account, made), browser=browser, raw=raw)
    return access_by_cookie(session, raw)


def open_session(session: Session, account: Account, *, browser: str = "", raw: str = "") -> str:
    """Sign a browser in: the value for its cookie, which is always a new one but for a new guest's (`raw`)."""
    raw = raw or new_secret()
    session.add(
        BrowserSession(
            token_hash=hashed(raw),
            account_id=account.id,
            browser=browser[:_BROWSER_LIMIT],
            expires_at=utc_now() + timedelta(days=SESSION_DAYS),
        )
    )
    session.flush()
    return raw


def create_link(session: Session, *, email: str) -> str:
    """
    Make a sign-in link for an account and return its secret part: it cannot be shown again.

    Raises:
        NotFound: no account has this e-mail address.
    """
    return make_link(session, _known(session, email), purpose=LinkPurpose.SIGN_IN)


def make_link(session: Session, account: Account, *, purpose: LinkPurpose, email: str | None = None) -> str:
    """
    Make a link with a purpose and return its secret part.

    Of links that were mailed, for the same address, the last three are valid: whoever has others asked for does not
    invalidate the owner's. Several that were printed may be valid at once.
    """
    if purpose is not LinkPurpose.SIGN_IN:
        _drop_older_links(session, account, purpose, email)
    raw = new_secret()
    expires_at = utc_now() + timedelta(minutes=LINK_MINUTES)
    link = SignInLink(
        token_hash=hashed(raw), account_id=account.id, purpose=purpose, email=email, expires_at=expires_at
    )
    session.add(link)
    session.flush()
    return raw


def _drop_older_links(session: Session, account: Account, purpose: LinkPurpose, email: str | None) -> None:
    """Leave room for one more of the links that are valid at once."""
    mine = (SignInLink.account_id == account.id, SignInLink.purpose == purpose, SignInLink.used_at.is_(None))
    valid = select(SignInLink.id).where(*mine, SignInLink.email.is_not_distinct_from(email))
    newest = session.scalars(valid.order_by(SignInLink.created_at.desc(), SignInLink.id).limit(VALID_LINKS - 1)).all()
    session.execute(update(SignInLink).where(*mine, SignInLink.id.not_in(newest)).values(used_at=utc_now()))


def drop_links(session: Session, account: Account, *purposes: LinkPurpose) -> None:
    """Invalidate the links for these purposes, or for any if none is named."""
    statement = update(SignInLink).where(SignInLink.account_id == account.id, SignInLink.used_at.is_(None))
    if purposes:
        statement = statement.where(SignInLink.purpose.in_(purposes))
    session.execute(statement.values(used_at=utc_now()))


def account_for_link(session: Session, raw: str) -> Account:
    """Return whom a link would sign in; it stays valid. Raises LinkSpent, AccountBlocked."""
    return find_link(session, raw, purpose=LinkPurpose.SIGN_IN)[0]


def find_link(session: Session, raw: str, *, purpose: LinkPurpose) -> tuple[Account, SignInLink]:
    """Return whose link it is; it stays valid. Raises LinkSpent, MailLinkSpent, AccountBlocked."""
    found = session.execute(
        select(Account, SignInLink)
        .join(SignInLink, SignInLink.account_id == Account.id)
        .where(*_valid_link(raw), SignInLink.purpose == purpose)
    ).one_or_none()
    if found is None:
        raise _spent(purpose)
    account, link = found
    return admitted(account), link


def spend_link(session: Session, raw: str, *, purpose: LinkPurpose) -> tuple[Account, SignInLink]:
    """Use a link, which is invalid after that. Raises LinkSpent, MailLinkSpent, AccountBlocked."""
    found = find_link(session, raw, purpose=purpose)
    # of two who use it concurrently, one changes the row
    if updated_rows(session, update(SignInLink).where(*_valid_link(raw)).values(used_at=utc_now())) != 1:
        raise _spent(purpose)
    return found


def _spent(purpose: LinkPurpose) -> LinkSpent:
    return LinkSpent() if purpose is LinkPurpose.SIGN_IN else MailLinkSpent()


def _valid_link(raw: str) -> tuple[ColumnElement[bool], ...]:
    return (
        SignInLink.token_hash == hashed(raw),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > utc_now(),
    )


def access_by_cookie(session: Session, raw: str) -> Access | None:
    """Return whose browser this is, or None if the cookie is unknown, revoked or too old. Raises AccountBlocked."""
    found = session.execute(
        select(Account, BrowserSession)
        .join(BrowserSession, BrowserSession.account_id == Account.id)
        .where(
            BrowserSession.token_hash == hashed(raw),
            BrowserSession.revoked_at.is_(None),
            BrowserSession.expires_at > utc_now(),
        )
    ).one_or_none()
    return Access(account=admitted(found[0]), browser=found[1]) if found else None


def access_of_stranger(session: Session, raw: str) -> Access | None:
    """Return the guest that a cookie names of whom nothing is stored; None if it is none, or has been somebody's."""
    if not _GUEST_SECRET.fullmatch(raw):
        return None
    guest = guest_without_row(raw)
    known = exists().where(BrowserSession.token_hash == hashed(raw))
    taken = exists().where(Account.id == guest.id)
    if session.scalar(select(or_(known, taken))):
        return None
    return Access(account=guest)


def access_by_bearer(session: Session, raw: str) -> Access | None:
    """Return whose program this is, or None if the token is unknown, revoked or too old. Raises AccountBlocked."""
    found = session.execute(
        select(Account, ApiToken)
        .join(ApiToken, ApiToken.account_id == Account.id)
        .where(
            ApiToken.token_hash == hashed(raw),
            ApiToken.revoked_at.is_(None),
            or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > utc_now()),
        )
    ).one_or_none()
    return Access(account=admitted(found[0]), token=found[1]) if found else None


def admitted(account: Account) -> Account:
    """
    Return an account that somebody has shown to be theirs, unless it is blocked.

    Every way in goes through here: cookie, token, link, password and another site's word.

    Raises:
        AccountBlocked: an administrator has closed it.
    """
    if account.blocked_at is not None:
        raise AccountBlocked
    return account


def add_user(session: Session, *, email: str, role: str) -> Account:
    """
    Make an account for a person, or return the one that is there already with this role.

    Raises:
        EmailRefused: `email` is not an e-mail address.
        RoleRefused: there is no such role to give.
        AccountExists: the address has an account with another role.
    """
    address = normal_email(email)
    if role not in ASSIGNABLE_ROLES:
        raise RoleRefused(role=role, roles=", ".join(ASSIGNABLE_ROLES))
    account = with_email(session, address)
    if account is None:
        account = Account(email=address, role=Role(role))
        session.add(account)
        session.flush()
    elif account.role != role:
        raise AccountExists(email=address, role=account.role)
    return account


def create_token(
    session: Session, *, email: str, label: str = "", scopes: str | None = None, days: int | None = None
) -> str:
    """
    Make an API token for an account and return it: it cannot be shown again.

    Args:
        session: to write with.
        email: whose.
        label: what it is for.
        scopes: words with spaces between; None for all that are of use to the account.
        days: until it expires; None is never.

    Raises:
        NotFound: no account has this e-mail address.
        TokenRefused: there is no such scope, or no such number of days.
    """
    return add_token(session, _known(session, email), label=label, scopes=scopes, days=days)[1]


def add_token(
    session: Session, account: Account, *, label: str = "", scopes: str | None = None, days: int | None = None
) -> tuple[ApiToken, str]:
    """Make an API token; its row, and the token itself. Raises TokenRefused."""
    if days is not None and not 1 <= days <= TOKEN_DAYS_LIMIT:
        raise TokenRefused(reason=f"A token lasts 1 to {TOKEN_DAYS_LIMIT} days, or without end.")
    if len(label) > _LABEL_LIMIT or not label.isprintable():
        raise TokenRefused(reason=f"What a token is for is one line of at most {_LABEL_LIMIT} characters.")
    raw = TOKEN_PREFIX + new_secret()
    token = ApiToken(
        token_hash=hashed(raw),
        account_id=account.id,
        label=label,
        scopes=_normal_scopes(default_scopes(account) if scopes is None else scopes),
        expires_at=None if days is None else utc_now() + timedelta(days=days),
    )
    session.add(token)
    session.flush()
    return token, raw


def default_scopes(account: Account) -> str:
    """Return the scopes of a token for which none were named."""
    return "read write admin" if account.role is Role.ADMIN else "read write"


def _normal_scopes(scopes: str) -> str:
    words = set(scopes.replace(",", " ").lower().split())
    if not words or words - set(Scope):
        raise TokenRefused(reason=f"A token has one or more of the scopes {', '.join(Scope)}.")
    return " ".join(scope for scope in Scope if scope in words)


def with_email(session: Session, address: str) -> Account | None:
    """Return whose address this is, written as `normal_email` does."""
    return session.scalar(select(Account).where(Account.email == address))


def normal_email(email: str) -> str:
    """Return an address as it is stored. Raises EmailRefused."""
    address = email.strip().lower()
    if len(address) > _EMAIL_LIMIT or not _EMAIL.fullmatch(address) or not _is_text(address):
        raise EmailRefused(email=email)
    return address


def new_secret() -> str:
    """Return 256 random bits as text that may stand in an address."""
    return secrets.token_urlsafe(32)


def hashed(raw: str) -> str:
    """Return what is stored of a secret that we have made."""
    # A plain hash will do: these are 256 random bits, which nobody can guess by trying.
    return sha256(raw.encode("utf-8", "replace")).hexdigest()


def _known(session: Session, email: str) -> Account:
    account = with_email(session, normal_email(email))
    if account is None:
        raise NotFound(what="account", name=email)
    return account


def _is_text(word: str) -> bool:
    """Say whether UTF-8 can hold it: half a surrogate pair it cannot."""
    return word == word.encode("utf-8", "replace").decode("utf-8")
