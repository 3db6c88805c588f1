"""
The plan of an account, what it limits and how much of it is used, read at once.

A page says all of it, and a list says it of fifty accounts. So it is one statement, however many accounts there are: a
union in which each row says of what kind it is. Nothing here takes or gives back; that is what `quotas` does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    String,
    cast,
    func,
    literal,
    or_,
    select,
    type_coerce,
    union_all,
)
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import UtcDateTime
from app.models import (
    Account,
    AccountPlan,
    Grant,
    LimitOverride,
    Period,
    Plan,
    PlanLimit,
    Rule,
    Submission,
    UsageCounter,
)
from app.services.plans import quotas
from app.services.plans.plans import FREE, PERIODS, CurrentPlan, Limit
from app.services.plans.quotas import Quota

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class PlanUsage:
    """How one account stands with its plan at a moment."""

    at: datetime
    plan: CurrentPlan
    limits: Mapping[Rule, Limit]
    """What binds the account: what was set for it alone, or else what its plan says."""
    overrides: Mapping[Rule, Limit]
    """What was set for it alone."""
    used: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By what is counted and the period in which it is: what is not in here was not used."""
    extra: Mapping[str, int] = field(default_factory=dict)
    """By rule, what is left of that which was given on top."""
    sent: Mapping[str, tuple[int, datetime]] = field(default_factory=dict)
    """By kind, how many submissions came in the last minute, and when the first of them did."""

    @property
    def tutor_messages(self) -> Quota:
        """How the account stands with its messages to the tutor."""
        rule = Rule.TUTOR_MESSAGES
        counters = {key: number for (counted, key), number in self.used.items() if counted == rule}
        return quotas.measured(self.limits[rule], counters, extra=self.extra.get(rule, 0), plan=self.plan.title)

    @property
    def checks(self) -> Quota:
        """How many checks and runs it may still send in this minute."""
        limit, number = self.limits[Rule.CHECKS], sum(number for number, _ in self.sent.values())
        is_bound = number and limit.amount is not None
        resets_at = min(first for _, first in self.sent.values()) + _MINUTE if is_bound else None
        return Quota(limit, number, resets_at, plan=self.plan.title)


def usage_of(
    session: Session, account: Account, *, counted: Sequence[str] = (Rule.TUTOR_MESSAGES,), at: datetime | None = None
) -> PlanUsage:
    """
    Return how an account stands, which may be a guest's without a row.

    Args:
        session: to read with.
        account: whose plan.
        counted: of what, beside submissions.
        at: the moment; now, unless it is given.
    """
    return usage_of_all(session, [account], counted=counted, at=at)[account.id]


def usage_of_all(
    session: Session,
    accounts: Iterable[Account],
    *,
    counted: Sequence[str] = (Rule.TUTOR_MESSAGES,),
    at: datetime | None = None,
) -> dict[str, PlanUsage]:
    """Return how several accounts stand, by their ids."""
    asked, now = list(accounts), at or utc_now()
    ids = [one.id for one in asked]
    parts = [
        _current_plans(ids, now),
        _plan_limits(),
        _overrides(ids),
        _counters(ids, counted, now),
        _extra(ids, now),
        _sent(ids, now),
    ]
    rows = session.execute(union_all(*parts)).all()
    return {one.id: _usage(one, rows, now) for one in asked}


def _usage(account: Account, rows: Sequence[Row[Any]], now: datetime) -> PlanUsage:
    mine = [row for row in rows if row.account_id == account.id]
    titles = {row.name: row.title for row in rows if row.part == "limit"}
    newest = max(
        (row for row in mine if row.part == "plan"), key=lambda row: (row.starts_at, _reversed(row.key)), default=None
    )
    plan = (
        CurrentPlan(newest.name, titles[newest.name], newest.starts_at, newest.ends_at)
        if newest
        else CurrentPlan(FREE, titles[FREE], None, None)
    )
    overrides = {Rule(row.name): _limit(row.name, row) for row in mine if row.part == "override"}
    of_plan = {
        Rule(row.key): _limit(row.key, row) for row in rows if (row.part, row.name) == ("limit", plan.name) and row.key
    }
    nothing = {rule: Limit(rule, 0, PERIODS[rule][0]) for rule in Rule}  # a plan that says nothing gives nothing
    unlimited = {rule: Limit(rule, None, Period.LIFETIME) for rule in Rule}
    return PlanUsage(
        at=now,
        plan=plan,
        limits=nothing | of_plan | overrides if account.is_limited else unlimited,
        overrides=overrides,
        used={(row.name, row.key): row.number for row in mine if row.part == "used"},
        extra={row.name: row.number for row in mine if row.part == "extra"},
        sent={row.name: (row.number, row.starts_at) for row in mine if row.part == "sent"},
    )


def _reversed(text: str) -> tuple[int, ...]:
    """Return a key by which the text that sorts first is the largest."""
    return tuple(-ord(c) for c in text)


def _limit(rule: str, row: Row[Any]) -> Limit:
    return Limit(Rule(rule), row.number, Period(row.period), row.fair_use)


def _part(part: str, **columns: Any) -> Select[Any]:  # noqa: ANN401  columns of any type
    """Select one kind of rows, with all columns of the union: what is not given is NULL."""
    kinds: dict[str, Any] = {
        "account_id": String(),
        "name": String(),
        "key": String(),
        "title": String(),
        "number": Integer(),
        "period": String(),
        "fair_use": Integer(),
        "starts_at": UtcDateTime(),
        "ends_at": UtcDateTime(),
    }
    shown: list[ColumnElement[Any]] = [literal(part).label("part")]
    for name, kind in kinds.items():
        column = columns.get(name)
        # PostgreSQL has to be told of which type a NULL is; an enumeration is text in both databases
        shown.append((cast(None, kind) if column is None else type_coerce(column, kind)).label(name))
    return select(*shown)


def _current_plans(ids: Sequence[str], now: datetime) -> Select[Any]:
    columns = {
        "account_id": AccountPlan.account_id,
        "name": AccountPlan.plan_name,
        "key": AccountPlan.id,
        "starts_at": AccountPlan.starts_at,
        "ends_at": AccountPlan.ends_at,
    }
    return _part("plan", **columns).where(
        AccountPlan.account_id.in_(ids),
        AccountPlan.starts_at <= now,
        or_(AccountPlan.ends_at.is_(None), AccountPlan.ends_at > now),
    )


def _plan_limits() -> Select[Any]:
    """Select what each plan says: few rows, whoever asks. A plan without limits is there with its title alone."""
    columns = {
        "name": Plan.name,
        "key": PlanLimit.rule,
        "title": Plan.title,
        "number": PlanLimit.amount,
        "period": PlanLimit.period,
        "fair_use": PlanLimit.fair_use_per_day,
    }
    return _part("limit", **columns).select_from(Plan).outerjoin(PlanLimit, PlanLimit.plan_name == Plan.name)


def _overrides(ids: Sequence[str]) -> Select[Any]:
    columns = {
        "account_id": LimitOverride.account_id,
        "name": LimitOverride.rule,
        "number": LimitOverride.amount,
        "period": LimitOverride.period,
        "fair_use": LimitOverride.fair_use_per_day,
    }
    return _part("override", **columns).where(LimitOverride.account_id.in_(ids))


def _counters(ids: Sequence[str], counted: Sequence[str], now: datetime) -> Select[Any]:
    keys = [quotas.key_of(period, now) for period in (Period.DAY, Period.MONTH, Period.LIFETIME)]
    columns = {
        "account_id": UsageCounter.account_id,
        "name": UsageCounter.rule,
        "key": UsageCounter.period_key,
        "number": UsageCounter.used,
    }
    return _part("used", **columns).where(
        UsageCounter.account_id.in_(ids),
        UsageCounter.rule.in_([str(one) for one in counted]),
        UsageCounter.period_key.in_(keys),
    )


def _extra(ids: Sequence[str], now: datetime) -> Select[Any]:
    left = func.sum(Grant.amount - Grant.used)
    usable = (Grant.used < Grant.amount, or_(Grant.expires_at.is_(None), Grant.expires_at > now))
    columns = {"account_id": Grant.account_id, "name": Grant.rule, "number": left}
    return _part("extra", **columns).where(Grant.account_id.in_(ids), *usable).group_by(Grant.account_id, Grant.rule)


def _sent(ids: Sequence[str], now: datetime) -> Select[Any]:
    columns = {
        "account_id": Submission.account_id,
        "name": Submission.kind,
        "number": func.count(),
        "starts_at": func.min(Submission.created_at),
    }
    recent = (Submission.account_id.in_(ids), Submission.created_at > now - _MINUTE)
    return _part("sent", **columns).where(*recent).group_by(Submission.account_id, Submission.kind)
