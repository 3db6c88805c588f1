"""
What is removed by itself after a time: runs, which are looked at once, and guests who have gone.

Theory of operation: workers call this now and then. Each call removes a few rows in a transaction of its own, and says
whether there may be more: so nobody who submits waits behind a great deletion, and what was missed while no worker
ran is caught up with. Several workers at once take different rows (SKIP LOCKED), or on SQLite turns.

The newest submission of an account to an exercise stays even if it is a run, because it is what stands in the editor.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, exists, select
from sqlalchemy.orm import Session, aliased

from app.clock import utc_now
from app.models import (
    Account,
    BrowserSession,
    Draft,
    GradingResult,
    HintOpening,
    Job,
    Period,
    Role,
    Submission,
    SubmissionKind,
    TutorMessage,
    UsageCounter,
)
from app.services import metrics
from app.services.personal_data import delete_account
from app.services.plans import quotas
from app.services.plans.daily_limits import STORED
from app.services.plans.spent_quotas import forget_old

RUNS_AT_ONCE, GUESTS_AT_ONCE, COUNTERS_AT_ONCE = 100, 10, 500
EMPTY_GUESTS_AFTER = timedelta(days=1)
"""Guests of whom nothing is kept, not even a draft, are deleted after this."""
IDLE_GUESTS_AFTER = timedelta(days=90)
"""And those who have, when they have done nothing for so long."""


def tidy(session: Session, *, run_retention_days: int, now: datetime | None = None) -> bool:
    """Remove a few of what is too old; whether there may be more."""
    moment = now or utc_now()
    removed = (
        _remove_runs(session, before=moment - timedelta(days=run_retention_days)) == RUNS_AT_ONCE,
        _remove_guests(session, _empty(before=moment - EMPTY_GUESTS_AFTER)) == GUESTS_AT_ONCE,
        _remove_guests(session, _idle(before=moment - IDLE_GUESTS_AFTER)) == GUESTS_AT_ONCE,
        _remove_counters(session, before=moment - timedelta(days=1)) == COUNTERS_AT_ONCE,
    )
    forget_old(session, now=moment)
    return any(removed)


def _remove_runs(session: Session, *, before: datetime) -> int:
    newer = aliased(Submission)
    is_not_newest = exists().where(
        newer.account_id == Submission.account_id,
        newer.exercise_version_id == Submission.exercise_version_id,
        newer.created_at > Submission.created_at,
    )
    waits = exists().where(Job.submission_id == Submission.id)
    old = (
        select(Submission.id)
        .where(Submission.kind == SubmissionKind.RUN, Submission.created_at < before, is_not_newest, ~waits)
        .limit(RUNS_AT_ONCE)
        .with_for_update(skip_locked=True, of=Submission)
    )
    ids = session.scalars(old).all()
    if ids:
        metrics.preserve_verdict_counts(session, GradingResult.submission_id.in_(ids))
        session.execute(delete(GradingResult).where(GradingResult.submission_id.in_(ids)))
        session.execute(delete(Submission).where(Submission.id.in_(ids)).execution_options(synchronize_session=False))
    return len(ids)


def _remove_guests(session: Session, gone: ColumnElement[bool]) -> int:
    ids = session.scalars(
        select(Account.id)
        .where(Account.role == Role.GUEST, gone)
        .limit(GUESTS_AT_ONCE)
        .with_for_update(skip_locked=True)
    ).all()
    for account_id in ids:
        delete_account(session, account_id)
    return len(ids)


def _empty(*, before: datetime) -> ColumnElement[bool]:
    found = Account.created_at < before
    for kept in (Submission, Draft, HintOpening, TutorMessage):
        found &= ~exists().where(kept.account_id == Account.id)
    return found


def _idle(*, before: datetime) -> ColumnElement[bool]:
    found = Account.created_at < before
    for moment, owner in (
        (Submission.created_at, Submission.account_id),
        (Draft.updated_at, Draft.account_id),
        (HintOpening.opened_at, HintOpening.account_id),
        (TutorMessage.reserved_at, TutorMessage.account_id),
        (BrowserSession.created_at, BrowserSession.account_id),
    ):
        found &= ~exists().where(owner == Account.id, moment >= before)
    return found


def _remove_counters(session: Session, *, before: datetime) -> int:
    """Remove what was counted on earlier days of what is bounded by the day alone."""
    old = (
        select(UsageCounter.account_id, UsageCounter.period_key)
        .where(UsageCounter.rule == STORED, UsageCounter.period_key < quotas.key_of(Period.DAY, before))
        .limit(COUNTERS_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    rows = session.execute(old).all()
    for account_id, key in rows:
        session.execute(
            delete(UsageCounter).where(
                UsageCounter.account_id == account_id, UsageCounter.rule == STORED, UsageCounter.period_key == key
            )
        )
    return len(rows)
