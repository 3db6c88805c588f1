"""
Counting what is used, so that a limit holds under any concurrency.

Theory of operation: a counter goes up by one statement, which also looks whether there is room: `SET used = used + 1
WHERE used < amount`. On SQLite the transaction has the database to itself; on PostgreSQL the row is locked by it. So
of two that want the last one, one changes no row, and gets nothing. Day, month and lifetime are counted side by
side; the one that the limit speaks of decides, and the others only follow.

Whatever is taken can be given back. An administrator's reset begins a new epoch, to which what was taken before
gives nothing back.

All counters of an account are locked in one order before the first is changed, or else one who takes and one who
gives back could each wait for the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import updated_rows, upsert
from app.models import Account, Grant, Period, Rule, UsageCounter
from app.services import audit
from app.services.plans import plans
from app.services.plans.plans import Limit

_COUNTED = (Period.DAY, Period.MONTH, Period.LIFETIME)


@dataclass(frozen=True)
class Quota:
    """A limit, how much of it is used, and when there is more."""

    limit: Limit
    used: int
    resets_at: datetime | None
    """None if never, or if there is no limit."""
    extra: int = 0
    """What is left of that which was given on top."""
    plan: str = ""
    """The plan's title."""

    @property
    def left(self) -> int | None:
        """How many more may be used now; None if as many as one likes."""
        return None if self.limit.amount is None else max(0, self.limit.amount - self.used) + self.extra


@dataclass(frozen=True)
class Charge:
    """What was counted, so that it can be given back."""

    epochs: dict[str, int] = field(default_factory=dict)
    """By period key."""
    grant_id: str | None = None


def key_of(period: Period, moment: datetime) -> str:
    """Return the name of the day, the month or the lifetime that a moment lies in."""
    return {Period.DAY: f"{moment:%Y-%m-%d}", Period.MONTH: f"{moment:%Y-%m}"}.get(period, Period.LIFETIME.value)


def end_of(period: Period, moment: datetime) -> datetime | None:
    """Return when the next period begins; None for a lifetime."""
    day = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if period is Period.DAY:
        return day + timedelta(days=1)
    if period is Period.MONTH:
        return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return None


def quota_of(session: Session, account: Account, rule: Rule = Rule.TUTOR_MESSAGES) -> Quota:
    """Return how an account stands with what it may use. With a ceiling of fair use that is reached, as if limited."""
    limit, plan, now = plans.limit_of(session, account, rule), plans.plan_of(session, account.id), utc_now()
    keys = {key_of(limit.period, now), key_of(Period.DAY, now)}
    counters = {key: used_in(session, account.id, rule, key) for key in keys}
    return measured(limit, counters, extra=_extra(session, account.id, rule, now), plan=plan.title)


def measured(limit: Limit, counters: Mapping[str, int], *, extra: int, plan: str) -> Quota:
    """
    Measure what is used against a limit.

    Args:
        limit: what binds an account.
        counters: how much was used, by the name of the period.
        extra: what is left of that which was given on top.
        plan: the plan's title.
    """
    now = utc_now()
    used = counters.get(key_of(limit.period, now), 0)
    if limit.fair_use_per_day is not None:
        today = counters.get(key_of(Period.DAY, now), 0)
        if today >= limit.fair_use_per_day:
            limit, used = Limit(limit.rule, limit.fair_use_per_day, Period.DAY), today
    resets_at = None if limit.amount is None else end_of(limit.period, now)
    return Quota(limit, used, resets_at, extra, plan)


def used_in(session: Session, account_id: str, rule: str, key: str) -> int:
    """Return how much was used in one period."""
    row = session.get(UsageCounter, (account_id, rule, key), populate_existing=True)
    return row.used if row else 0


def take(session: Session, account: Account, rule: Rule) -> Charge | None:
    """Count one use, from the plan or else from what was given on top; None if there is nothing left."""
    now, limit = utc_now(), plans.limit_of(session, account, rule)
    binding, amount = (limit.period, limit.amount) if limit.amount is not None else (Period.DAY, limit.fair_use_per_day)
    keys = {period: key_of(period, now) for period in _COUNTED}
    _lock_counters(session, account.id, rule, list(keys.values()))
    if not _increment(session, account.id, rule, keys[binding], most=amount):
        grant_id = _take_extra(session, account.id, rule, now)
        return Charge(grant_id=grant_id) if grant_id else None
    for period, key in keys.items():
        if period is not binding:
            _increment(session, account.id, rule, key, most=None)
    return Charge(epochs=_epochs(session, account.id, rule, list(keys.values())))


def give_back(session: Session, account_id: str, rule: Rule, charge: Charge) -> None:
    """Undo what `take` has counted, unless the counter was reset since."""
    if charge.grant_id:
        session.execute(update(Grant).where(Grant.id == charge.grant_id, Grant.used > 0).values(used=Grant.used - 1))
    _lock_counters(session, account_id, rule, list(charge.epochs))
    for key, epoch in charge.epochs.items():
        session.execute(
            update(UsageCounter)
            .where(*_counter(account_id, rule, key), UsageCounter.epoch == epoch, UsageCounter.used > 0)
            .values(used=UsageCounter.used - 1)
        )


def count(session: Session, account_id: str, rule: str, key: str) -> None:
    """Count something that has no limit of its own."""
    _lock_counters(session, account_id, rule, [key])
    _increment(session, account_id, rule, key, most=None)


def add(session: Session, account_id: str, rule: str, key: str, *, number: int) -> None:
    """Count a number of something at once, without looking at any limit."""
    row = {"account_id": account_id, "rule": rule, "period_key": key, "used": number, "epoch": 0}
    insertion = upsert(session, UsageCounter).values(row)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=["account_id", "rule", "period_key"],
            set_={"used": UsageCounter.used + insertion.excluded.used},
        ).execution_options(synchronize_session=False)
    )


def reset(session: Session, account: Account, rule: Rule, *, by: Account | None, reason: str = "") -> None:
    """Let an account begin again from zero, in the day, the month and the lifetime that run now."""
    now = utc_now()
    keys = [key_of(period, now) for period in _COUNTED]
    _lock_counters(session, account.id, rule, keys)
    before = {key: used_in(session, account.id, rule, key) for key in keys}
    session.execute(
        update(UsageCounter)
        .where(
            UsageCounter.account_id == account.id, UsageCounter.rule == rule.value, UsageCounter.period_key.in_(keys)
        )
        .values(used=0, epoch=UsageCounter.epoch + 1)
    )
    change = ({rule.value: before}, {rule.value: dict.fromkeys(keys, 0)})
    audit.record_for_user(session, "user.reset", account, change, by=by, reason=reason)


def _extra(session: Session, account_id: str, rule: Rule, now: datetime) -> int:
    left = select(func.coalesce(func.sum(Grant.amount - Grant.used), 0)).where(*_usable(account_id, rule, now))
    return session.scalar(left) or 0


def _take_extra(session: Session, account_id: str, rule: Rule, now: datetime) -> str | None:
    """Take one from what was given on top, first from that which ends first."""
    usable = select(Grant.id).where(*_usable(account_id, rule, now))
    for grant_id in session.scalars(usable.order_by(Grant.expires_at.is_(None), Grant.expires_at, Grant.created_at)):
        raised = update(Grant).where(Grant.id == grant_id, Grant.used < Grant.amount).values(used=Grant.used + 1)
        if updated_rows(session, raised):
            return grant_id
    return None


def _usable(account_id: str, rule: Rule, now: datetime) -> tuple[Any, ...]:
    return (
        Grant.account_id == account_id,
        Grant.rule == rule,
        Grant.used < Grant.amount,
        or_(Grant.expires_at.is_(None), Grant.expires_at > now),
    )


def _lock_counters(session: Session, account_id: str, rule: str, keys: list[str]) -> None:
    """Make counters where there are none, and lock them all, always in the same order."""
    if not keys:
        return
    rows = [
        {"account_id": account_id, "rule": str(rule), "period_key": key, "used": 0, "epoch": 0} for key in sorted(keys)
    ]
    session.execute(upsert(session, UsageCounter).values(rows).on_conflict_do_nothing())
    session.execute(
        select(UsageCounter.period_key)
        .where(UsageCounter.account_id == account_id, UsageCounter.rule == str(rule), UsageCounter.period_key.in_(keys))
        .order_by(UsageCounter.period_key)
        .with_for_update()
    )


def _increment(session: Session, account_id: str, rule: str, key: str, *, most: int | None) -> bool:
    room = () if most is None else (UsageCounter.used < most,)
    raised = update(UsageCounter).where(*_counter(account_id, rule, key), *room).values(used=UsageCounter.used + 1)
    return updated_rows(session, raised) == 1


def _epochs(session: Session, account_id: str, rule: str, keys: list[str]) -> dict[str, int]:
    rows = session.execute(
        select(UsageCounter.period_key, UsageCounter.epoch).where(
            UsageCounter.account_id == account_id, UsageCounter.rule == str(rule), UsageCounter.period_key.in_(keys)
        )
    )
    return dict(iter(rows))


def _counter(account_id: str, rule: str, key: str) -> tuple[Any, ...]:
    return (UsageCounter.account_id == account_id, UsageCounter.rule == str(rule), UsageCounter.period_key == key)
