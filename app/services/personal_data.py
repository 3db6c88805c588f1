"""
All that is stored about an account: to be given to its owner, or to be deleted with it.

Two things stay when an account is deleted, and say no more than a number of 32 random digits: codes that it
has redeemed, which stay spent, and the audit log. A third is what it had used, under a keyed hash of its address, for
a time (`app.services.plans.spent_quotas`).
"""

from collections.abc import Iterator
from datetime import datetime
from enum import Enum

from sqlalchemy import ColumnElement, ScalarSelect, delete, or_, select
from sqlalchemy.orm import Session

from app.db import Base
from app.models import (
    Account,
    AccountPlan,
    ApiToken,
    AuditEntry,
    BrowserSession,
    Draft,
    GradingResult,
    Grant,
    HintOpening,
    Identity,
    Job,
    LimitOverride,
    RedeemCode,
    SignInLink,
    Submission,
    TutorMessage,
    UsageCounter,
)
from app.services.administration.users import refuse_last_admin
from app.services.keyed_hash import KeyedHash
from app.services.metrics import preserve_verdict_counts
from app.services.plans.spent_quotas import remember
from app.services.tutor.ledger import give_up_all

# In the order in which they can be deleted: what refers to another goes before it.
_OF_SUBMISSIONS = (Job, GradingResult)
_OF_ACCOUNTS = (
    Submission,
    Draft,
    HintOpening,
    TutorMessage,
    Grant,
    LimitOverride,
    AccountPlan,
    UsageCounter,
    Identity,
    SignInLink,
    ApiToken,
    BrowserSession,
)

_SECRET = {
    "actor",
    "actor_id",
    "code_hash",
    "lease_owner",
    "lease_token",
    "network",
    "owner",
    "password_hash",
    "token_hash",
    "worker",
}
"""Columns that are not the account's own: hashes, the names of processes, and who else did something."""
_AT_ONCE = 50  # rows


def tables() -> set[str]:
    """Return the names of all tables that may hold something about an account."""
    return {model.__tablename__ for model in (Account, *_OF_SUBMISSIONS, *_OF_ACCOUNTS)}


def delete_account(session: Session, account_id: str, *, keyed_hash: KeyedHash | None = None) -> None:
    """
    Delete an account and all that belongs to it; what is being graded is dropped.

    With a `keyed_hash`, what it had used is kept for whoever signs up with its address again.

    Raises:
        LastAdmin: nobody would be left to administer the site.
    """
    # locked, so that nothing is added to what is being deleted
    account = session.get(Account, account_id, with_for_update=True)
    if account is not None:
        refuse_last_admin(session, account)
        give_up_all(session, account_id)
        if keyed_hash is not None:
            remember(session, account, keyed_hash=keyed_hash)
    preserve_verdict_counts(session, GradingResult.submission_id.in_(_sent_by(account_id)))
    for model, mine in _owned_rows(account_id):
        session.execute(delete(model).where(mine).execution_options(synchronize_session=False))
    session.execute(delete(Account).where(Account.id == account_id))


def export_account(session: Session, account_id: str) -> Iterator[tuple[str, Iterator[dict[str, object]]]]:
    """Yield each table's name with its rows about an account, in pieces that fit into memory."""
    yield "account", _rows(session, Account, Account.id == account_id)
    for model, mine in reversed(list(_owned_rows(account_id))):
        yield model.__tablename__, _rows(session, model, mine)
    yield "redeem_code", _rows(session, RedeemCode, RedeemCode.redeemed_by == account_id)
    concerns = or_(AuditEntry.subject_id == account_id, AuditEntry.actor_id == account_id)
    yield "audit_entry", _rows(session, AuditEntry, concerns)


def _owned_rows(account_id: str) -> Iterator[tuple[type[Base], ColumnElement[bool]]]:
    for model in _OF_SUBMISSIONS:
        yield model, model.submission_id.in_(_sent_by(account_id))
    for owned in _OF_ACCOUNTS:
        yield owned, owned.account_id == account_id


def _sent_by(account_id: str) -> ScalarSelect[str]:
    return select(Submission.id).where(Submission.account_id == account_id).scalar_subquery()


def _rows(session: Session, model: type[Base], mine: ColumnElement[bool]) -> Iterator[dict[str, object]]:
    columns = [column for column in model.__table__.columns if column.name not in _SECRET]
    for row in session.execute(select(*columns).where(mine).execution_options(yield_per=_AT_ONCE)):
        yield {column.name: _plain(value) for column, value in zip(columns, row, strict=True)}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value
