"""
What a guest has done becomes an account's, when the guest signs in to an account that is there already.

Everything moves that can. Where both have the same (a hint opened, a key for sending twice) the account's
stays. What was used adds up, so that nobody gets anything twice by first trying it as a guest.
"""

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.db import new_id
from app.models import (
    Account,
    AccountPlan,
    ApiToken,
    BrowserSession,
    Grant,
    HintOpening,
    Identity,
    LimitOverride,
    MessageState,
    RedeemCode,
    Role,
    SignInLink,
    Submission,
    TutorMessage,
    UsageCounter,
)
from app.services.submissions.drafts import move_drafts

_NOT_THE_SAME = -1
"""An epoch that no counter has: a message that is under way gives nothing back to such a counter."""


def merge(session: Session, guest_id: str, account: Account) -> None:
    """Move all that a guest has to an account, and delete the guest. Whoever is no guest any more is left alone."""
    # locked, so that nothing more is sent as this guest meanwhile
    guest = session.get(Account, guest_id, with_for_update=True, populate_existing=True)
    if guest is None or guest.role is not Role.GUEST or guest.id == account.id:
        return
    _move_submissions(session, guest.id, account.id)
    move_drafts(session, guest.id, account.id)
    _move_hints(session, guest.id, account.id)
    _move_plans(session, guest.id, account.id)
    _move_messages(session, guest.id, account.id)
    _add_up(session, guest.id, account.id)
    for model in (BrowserSession, ApiToken, SignInLink, Identity):
        session.execute(delete(model).where(model.account_id == guest.id))
    session.flush()
    session.execute(delete(Account).where(Account.id == guest.id))


def _move_submissions(session: Session, guest: str, account: str) -> None:
    keys = select(Submission.idempotency_key).where(
        Submission.account_id == account, Submission.idempotency_key.is_not(None)
    )
    clashing = Submission.account_id == guest, Submission.idempotency_key.in_(keys.scalar_subquery())
    session.execute(
        update(Submission)
        .where(*clashing)
        .values(account_id=account, idempotency_key=None)
        .execution_options(synchronize_session=False)
    )
    session.execute(
        update(Submission)
        .where(Submission.account_id == guest)
        .values(account_id=account)
        .execution_options(synchronize_session=False)
    )


def _move_hints(session: Session, guest: str, account: str) -> None:
    opened = {
        (one.exercise_version_id, one.number)
        for one in session.scalars(select(HintOpening).where(HintOpening.account_id == account))
    }
    for one in session.scalars(select(HintOpening).where(HintOpening.account_id == guest)).all():
        if (one.exercise_version_id, one.number) in opened:
            session.delete(one)
        else:
            one.account_id = account


def _move_plans(session: Session, guest: str, account: str) -> None:
    for model in (AccountPlan, Grant):
        session.execute(update(model).where(model.account_id == guest).values(account_id=account))
    session.execute(update(RedeemCode).where(RedeemCode.redeemed_by == guest).values(redeemed_by=account))
    rules = set(session.scalars(select(LimitOverride.rule).where(LimitOverride.account_id == account)))
    kept = LimitOverride.account_id == guest, LimitOverride.rule.not_in(rules)
    session.execute(update(LimitOverride).where(*kept).values(account_id=account))
    session.execute(delete(LimitOverride).where(LimitOverride.account_id == guest))


def _move_messages(session: Session, guest: str, account: str) -> None:
    epochs = {one.period_key: one.epoch for one in _counters(session, account)}
    was = {one.period_key: one.epoch for one in _counters(session, guest)}
    taken = set(session.scalars(select(TutorMessage.client_message_id).where(TutorMessage.account_id == account)))
    for one in session.scalars(select(TutorMessage).where(TutorMessage.account_id == guest)).all():
        if one.client_message_id in taken:
            one.client_message_id = f"{one.client_message_id}#{new_id()}"
        if one.state is MessageState.RESERVED:
            one.epochs = {key: epochs.get(key, epoch) if was.get(key) == epoch else _NOT_THE_SAME
                          for key, epoch in one.epochs.items()}  # fmt: skip
        one.account_id = account


def _add_up(session: Session, guest: str, account: str) -> None:
    there = {(one.rule, one.period_key): one for one in _counters(session, account)}
    for one in _counters(session, guest):
        if counter := there.get((one.rule, one.period_key)):
            # by the database, not from what was read: messages may be counted meanwhile
            counter.used = UsageCounter.used + one.used
        else:
            session.add(
                UsageCounter(
                    account_id=account, rule=one.rule, period_key=one.period_key, used=one.used, epoch=one.epoch
                )
            )
        session.delete(one)
    session.flush()


def _counters(session: Session, owner: str) -> list[UsageCounter]:
    return list(session.scalars(select(UsageCounter).where(UsageCounter.account_id == owner)))
