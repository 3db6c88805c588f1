"""The browsers in which an account is signed in, and the tokens of its programs: seen and revoked by their owner."""

from collections.abc import Sequence

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import NotFound
from app.models import Account, ApiToken, BrowserSession


def list_browsers(session: Session, account: Account) -> Sequence[BrowserSession]:
    """Return the browsers that are signed in, the newest first."""
    return session.scalars(
        select(BrowserSession)
        .where(
            BrowserSession.account_id == account.id,
            BrowserSession.revoked_at.is_(None),
            BrowserSession.expires_at > utc_now(),
        )
        .order_by(BrowserSession.created_at.desc(), BrowserSession.id)
    ).all()


def sign_out(session: Session, account: Account, browser_id: str) -> None:
    """Sign one browser out. Raises NotFound if it is not the account's."""
    found = next((one for one in list_browsers(session, account) if one.id == browser_id), None)
    if found is None:
        raise NotFound(what="browser", name=browser_id)
    found.revoked_at = utc_now()


def sign_out_all(session: Session, account: Account, *, but: str | None = None) -> None:
    """Sign every browser out, but for one."""
    statement = update(BrowserSession).where(
        BrowserSession.account_id == account.id, BrowserSession.revoked_at.is_(None)
    )
    if but is not None:
        statement = statement.where(BrowserSession.id != but)
    session.execute(statement.values(revoked_at=utc_now()))


def list_tokens(session: Session, account: Account) -> Sequence[ApiToken]:
    """Return the tokens that work, the newest first."""
    return session.scalars(
        select(ApiToken)
        .where(
            ApiToken.account_id == account.id,
            ApiToken.revoked_at.is_(None),
            or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > utc_now()),
        )
        .order_by(ApiToken.created_at.desc(), ApiToken.id)
    ).all()


def revoke_token(session: Session, account: Account, token_id: str) -> None:
    """Revoke a token. Raises NotFound if it is not the account's."""
    found = next((one for one in list_tokens(session, account) if one.id == token_id), None)
    if found is None:
        raise NotFound(what="token", name=token_id)
    found.revoked_at = utc_now()


def revoke_all_tokens(session: Session, account: Account) -> None:
    """Revoke all of an account's tokens."""
    session.execute(
        update(ApiToken)
        .where(ApiToken.account_id == account.id, ApiToken.revoked_at.is_(None))
        .values(revoked_at=utc_now())
    )
