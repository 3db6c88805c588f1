"""
Which account somebody has whom another site knows.

Found by what that site calls them; else by their e-mail address, if the site has verified it; else a new one.
An instructor's or administrator's account is never found by the address alone: whoever controls mail, or the
provider, would take it over. Its owner links it while signed in.
"""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.clients.oidc import IdentityRefused, Person
from app.clock import utc_now
from app.errors import EmailRefused, EmailTaken, NotFound
from app.models import Account, Identity, Role
from app.services.accounts.access import admitted, normal_email, with_email
from app.services.accounts.authentication import BrowserContext, sign_up, start_afresh


def account_for(session: Session, person: Person, browser: BrowserContext) -> Account:
    """
    Return the account of somebody, linked to them from now on.

    Raises:
        IdentityRefused: there is none that they could have; the sentence says what to do.
        AccountBlocked: nobody gets in there.
    """
    known = _linked(session, person)
    here = session.get(Account, browser.account_id) if browser.account_id else None
    signed_in = here if here is not None and here.role is not Role.GUEST else None
    if known is not None:
        if signed_in is not None and signed_in.id != known.id:
            raise IdentityRefused(reason="That belongs to another account here. Sign out first to sign in to it.")
        return admitted(known)
    account = admitted(signed_in) if signed_in else _by_address(session, person, browser)
    try:
        with session.begin_nested():
            session.add(Identity(account_id=account.id, issuer=person.issuer, subject=person.subject))
    except IntegrityError:
        raise IdentityRefused(reason="You have just signed in elsewhere. Please try again.") from None
    return account


def list_identities(session: Session, account: Account) -> Sequence[Identity]:
    """Return as whom other sites know the owner of an account."""
    return session.scalars(
        select(Identity).where(Identity.account_id == account.id).order_by(Identity.created_at, Identity.id)
    ).all()


def unlink(session: Session, account: Account, identity_id: str) -> None:
    """Forget that another site knows the owner. Raises NotFound if it is not the account's."""
    found = next((one for one in list_identities(session, account) if one.id == identity_id), None)
    if found is None:
        raise NotFound(what="link", name=identity_id)
    session.delete(found)


def _linked(session: Session, person: Person) -> Account | None:
    return session.scalar(
        select(Account)
        .join(Identity, Identity.account_id == Account.id)
        .where(Identity.issuer == person.issuer, Identity.subject == person.subject)
    )


def _by_address(session: Session, person: Person, browser: BrowserContext) -> Account:
    address = _verified(person)
    account = with_email(session, address)
    if account is None:
        try:
            account = sign_up(session, browser, email=address, password_hash=None)
        except EmailTaken:  # by another request, concurrently
            raise IdentityRefused(reason="You have just signed in elsewhere. Please try again.") from None
        account.confirmed_at = utc_now()
        return account
    admitted(account)
    if account.role is not Role.STUDENT:
        raise IdentityRefused(
            reason="Your account here can do more than a student’s, so it is not opened by its e-mail address alone. "
            "Sign in to it with your password, and link it on the page of your account."
        )
    start_afresh(session, account)
    return account


def _verified(person: Person) -> str:
    """Return the address that the other site vouches for. Raises IdentityRefused."""
    try:
        return normal_email(person.email or "")
    except EmailRefused:
        raise IdentityRefused(
            reason="Your e-mail address has not been confirmed over there, so it cannot be yours here. Confirm it "
            "there first, or sign up here with a password."
        ) from None
