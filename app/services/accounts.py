"""Accounts, and how a cookie or a token is traced back to one."""

import re
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import AccountExists, EmailRefused, LinkSpent, NotFound, RoleRefused
from app.models import Account, ApiToken, BrowserSession, Role, SignInLink

SESSION_DAYS = 180
LINK_MINUTES = 60
TOKEN_PREFIX = "kel_"  # noqa: S105  not a secret: it lets scanners find leaked ones
_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")
_EMAIL_LIMIT = 254  # characters, RFC 5321
_GIVEN_ROLES = (Role.STUDENT, Role.INSTRUCTOR, Role.ADMIN)


def create_guest(session: Session) -> tuple[Account, str]:
    """
    Make an account for a visitor who has none.

    Returns:
        The account, and the value for the browser's cookie, which is stored only as a hash.
    """
    account = Account(role=Role.GUEST)
    session.add(account)
    session.flush()
    return account, _signed_in(session, account)


def _signed_in(session: Session, account: Account) -> str:
    """A new browser of an account; the value for its cookie."""
    raw = secrets.token_urlsafe(32)
    expires_at = utc_now() + timedelta(days=SESSION_DAYS)
    session.add(BrowserSession(token_hash=_hashed(raw), account_id=account.id, expires_at=expires_at))
    session.flush()
    return raw


def create_link(session: Session, *, email: str) -> str:
    """
    Make a sign-in link for an account and return its secret part: it cannot be shown again.

    Raises:
        NotFound: no account has this e-mail address.
    """
    account = _with_email(session, _normal_email(email))
    if account is None:
        raise NotFound(what="account", name=email)
    raw = secrets.token_urlsafe(32)
    expires_at = utc_now() + timedelta(minutes=LINK_MINUTES)
    session.add(SignInLink(token_hash=_hashed(raw), account_id=account.id, expires_at=expires_at))
    session.flush()
    return raw


def account_for_link(session: Session, raw: str) -> Account:
    """Return whom a link would sign in; it stays good. Raises LinkSpent."""
    account = session.scalar(
        select(Account).join(SignInLink, SignInLink.account_id == Account.id).where(*_good_link(raw))
    )
    if account is None:
        raise LinkSpent
    return account


def use_link(session: Session, raw: str) -> tuple[Account, str]:
    """Sign in by a link, which is spent with that; the account, and the value for the cookie. Raises LinkSpent."""
    account = account_for_link(session, raw)
    # of two who use it at the same instant, one changes the row
    spent = session.execute(update(SignInLink).where(*_good_link(raw)).values(used_at=utc_now()))
    if cast("CursorResult[Any]", spent).rowcount != 1:
        raise LinkSpent
    return account, _signed_in(session, account)


def _good_link(raw: str) -> tuple[ColumnElement[bool], ...]:
    return (
        SignInLink.token_hash == _hashed(raw),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > utc_now(),
    )


def account_for_cookie(session: Session, raw: str) -> Account | None:
    """Return whose browser this is, or None if the cookie is unknown, revoked or too old."""
    return session.scalar(
        select(Account)
        .join(BrowserSession, BrowserSession.account_id == Account.id)
        .where(
            BrowserSession.token_hash == _hashed(raw),
            BrowserSession.revoked_at.is_(None),
            BrowserSession.expires_at > utc_now(),
        )
    )


def account_for_bearer(session: Session, raw: str) -> Account | None:
    """Return whose program this is, or None if the token is unknown or revoked."""
    return session.scalar(
        select(Account)
        .join(ApiToken, ApiToken.account_id == Account.id)
        .where(ApiToken.token_hash == _hashed(raw), ApiToken.revoked_at.is_(None))
    )


def add_user(session: Session, *, email: str, role: str) -> Account:
    """
    Make an account for a person, or return the one that is there already with this role.

    Raises:
        EmailRefused: `email` is not an e-mail address.
        RoleRefused: there is no such role to give.
        AccountExists: the address has an account with another role.
    """
    address = _normal_email(email)
    if role not in _GIVEN_ROLES:
        raise RoleRefused(role=role, roles=", ".join(_GIVEN_ROLES))
    account = _with_email(session, address)
    if account is None:
        account = Account(email=address, role=Role(role))
        session.add(account)
        session.flush()
    elif account.role != role:
        raise AccountExists(email=address, role=account.role)
    return account


def create_token(session: Session, *, email: str, label: str = "") -> str:
    """
    Make an API token for an account and return it: it cannot be shown again.

    Raises:
        NotFound: no account has this e-mail address.
    """
    account = _with_email(session, _normal_email(email))
    if account is None:
        raise NotFound(what="account", name=email)
    raw = TOKEN_PREFIX + secrets.token_urlsafe(32)
    session.add(ApiToken(token_hash=_hashed(raw), account_id=account.id, label=label))
    session.flush()
    return raw


def _with_email(session: Session, address: str) -> Account | None:
    return session.scalar(select(Account).where(Account.email == address))


def _normal_email(email: str) -> str:
    address = email.strip().lower()
    if len(address) > _EMAIL_LIMIT or not _EMAIL.fullmatch(address):
        raise EmailRefused(email=email)
    return address


def _hashed(raw: str) -> str:
    # A plain hash will do: these are 256 random bits, which nobody can guess by trying.
    return sha256(raw.encode("utf-8", "replace")).hexdigest()
