"""People get accounts and tokens, visitors a cookie; neither can be read from the database."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app.clock import utc_now
from app.db import Database
from app.errors import AccountExists, EmailRefused, NotFound, RoleRefused
from app.models import Account, ApiToken, BrowserSession, Role
from app.services.accounts.access import (
    access_by_bearer,
    access_by_cookie,
    add_user,
    create_guest,
    create_token,
)


def test_guest_is_known_by_the_cookie(database: Database) -> None:
    """A visitor's next request finds the same account."""
    with database.write() as session:
        guest, cookie = create_guest(session)
    with database.read() as session:
        found = access_by_cookie(session, cookie)
    assert found is not None
    assert (found.account.id, found.account.role, found.account.email) == (guest.id, Role.GUEST, None)


@pytest.mark.parametrize("cookie", ["", "unknown", "é\udce9\0"])
def test_unknown_cookie_is_nobodys(database: Database, cookie: str) -> None:
    """Whatever a browser sends, the answer is an account or none."""
    with database.read() as session:
        assert access_by_cookie(session, cookie) is None
        assert access_by_bearer(session, cookie) is None


@pytest.mark.parametrize("ended", ["expires_at", "revoked_at"])
def test_ended_session_is_nobodys(database: Database, ended: str) -> None:
    """A cookie that is too old, or was revoked, opens nothing."""
    with database.write() as session:
        _, cookie = create_guest(session)
        session.execute(update(BrowserSession).values({ended: utc_now() - timedelta(seconds=1)}))
        assert access_by_cookie(session, cookie) is None


def test_token_opens_its_account_until_revoked(database: Database) -> None:
    """A program with the token acts for the person."""
    with database.write() as session:
        ada = add_user(session, email="ada@example.org", role="student")
        token = create_token(session, email=" Ada@Example.org ")
        found = access_by_bearer(session, token)
        assert token.startswith("kel_")
        assert found is not None
        assert found.account is ada
        session.execute(update(ApiToken).values(revoked_at=utc_now()))
        assert access_by_bearer(session, token) is None


def test_secrets_are_stored_only_as_hashes(database: Database) -> None:
    """Whoever reads the database cannot act as anyone."""
    with database.write() as session:
        _, cookie = create_guest(session)
        add_user(session, email="ada@example.org", role="student")
        token = create_token(session, email="ada@example.org")
        stored = {
            *session.scalars(select(ApiToken.token_hash)),
            *session.scalars(select(BrowserSession.token_hash)),
        }
    assert not any(secret in text for secret in (cookie, token) for text in stored)


def test_adding_a_user_twice_makes_one(database: Database) -> None:
    """A script may run again; capitals in the address make no second person."""
    with database.write() as session:
        first = add_user(session, email="ada@example.org", role="instructor")
        assert add_user(session, email="ADA@example.org", role="instructor") is first
        assert len(list(session.scalars(select(Account)))) == 1


def test_role_is_not_changed_in_passing(database: Database) -> None:
    """Adding someone again with another role is refused, and says which role they have."""
    with database.write() as session:
        add_user(session, email="ada@example.org", role="student")
    with pytest.raises(AccountExists, match="student"), database.write() as session:
        add_user(session, email="ada@example.org", role="admin")


@pytest.mark.parametrize("email", ["", "ada", "@", "a@", "ada @example.org", "a\0@b", "a\n@b", "x" * 250 + "@b.org"])
def test_what_is_no_address_is_refused(database: Database, email: str) -> None:
    """The sentence shows what one looks like."""
    with pytest.raises(EmailRefused, match=r"name@example\.org"), database.write() as session:
        add_user(session, email=email, role="student")


@pytest.mark.parametrize("role", ["guest", "owner", ""])
def test_role_that_cannot_be_given_is_refused(database: Database, role: str) -> None:
    """The sentence lists those that can."""
    with pytest.raises(RoleRefused, match="student, instructor, admin"), database.write() as session:
        add_user(session, email="ada@example.org", role=role)


def test_token_for_nobody_is_refused(database: Database) -> None:
    """A token needs an account."""
    with pytest.raises(NotFound), database.write() as session:
        create_token(session, email="nobody@example.org")
