"""Who made an account with an address that is not theirs is shut out once its owner comes; and what goes with one."""

import pytest
from sqlalchemy import select

from app.db import Database
from app.models import Account, ExerciseVersion, Identity, LinkPurpose, Role, TokenMonth, TutorPolicy
from app.services.accounts import access
from app.services.accounts.access import access_by_bearer, make_link
from app.services.accounts.authentication import reset_password
from app.services.personal_data import delete_account
from app.services.process_identity import this_process
from app.services.tutor import ledger
from app.services.tutor.ledger import MessageRequest

ADDRESS = "victim@example.org"


@pytest.mark.parametrize("confirmed", [False, True])
def test_reset_shuts_out_whoever_came_before_the_owner(database: Database, confirmed: bool) -> None:  # noqa: FBT001
    """Tokens and links to other sites from before the address was confirmed are gone; later ones are the owner’s."""
    with database.write() as session:
        account = access.add_user(session, email=ADDRESS, role="student")
        account.confirmed_at = account.created_at if confirmed else None
        token = access.create_token(session, email=ADDRESS)
        session.add(Identity(account_id=account.id, issuer="https://idp.example", subject="someone"))
        link = make_link(session, account, purpose=LinkPurpose.RESET)
    with database.write() as session:
        reset_password(session, link, password_hash="h")  # noqa: S106
    with database.read() as session:
        assert (access_by_bearer(session, token) is not None) is confirmed
        assert (session.scalar(select(Identity.id)) is not None) is confirmed


def test_deleted_account_leaves_no_tokens_reserved(database: Database, version: ExerciseVersion) -> None:
    """What a model was asked for an account that is deleted meanwhile is settled, and does not eat up the month."""
    with database.write() as session:
        session.get_one(TutorPolicy, 1).month_token_ceiling = 1000
        account = Account(role=Role.GUEST)
        session.add(account)
        session.flush()
        reservation = ledger.reserve(session, account, MessageRequest(version.id, "one", "why?"), owner=this_process())
        assert ledger.reserve_tokens(session, reservation, most=600)
    with database.write() as session:
        delete_account(session, account.id)
    with database.read() as session:
        assert [(row.reserved, row.spent) for row in session.scalars(select(TokenMonth))] == [(0, 600)]
