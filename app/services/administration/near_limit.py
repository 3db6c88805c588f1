"""Who stands near a limit, over all accounts at once."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Subquery, and_, case, func, or_, select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.models import Account, AccountPlan, Grant, LimitOverride, Period, Plan, PlanLimit, Role, Rule, UsageCounter
from app.services.plans import plans, quotas
from app.services.plans.plans import PERIOD_WORDS, PeriodWords

SHARE = 5
"""Whoever has a fifth of the amount left, or less, is near the limit."""
_LIMITED = (Role.GUEST, Role.STUDENT)


@dataclass(frozen=True)
class AccountNearLimit:
    """Somebody with few tutor messages left."""

    account_id: str
    email: str | None
    """None is a guest."""
    plan_title: str
    used: int
    """In the period that runs now."""
    amount: int
    period: Period
    left: int
    """What was given on top of the plan included."""

    @property
    def period_words(self) -> PeriodWords:
        """How a sentence speaks of the period."""
        return PERIOD_WORDS[self.period]


def near_limit(session: Session, *, limit: int = 50) -> list[AccountNearLimit]:
    """Return who has used most of the tutor messages of the period that runs now; who has the fewest left, first."""
    current, extra = current_plans(), _extra()
    own = LimitOverride.account_id.is_not(None)
    amount, period = _either(own, "amount"), _either(own, "period")
    # of what is unlimited, a ceiling of fair use is a limit for the day
    ceiling = func.coalesce(amount, _either(own, "fair_use_per_day"))
    binding = case((amount.is_(None), Period.DAY), else_=period)
    plan_name = func.coalesce(current.c.plan_name, plans.FREE)
    left = case((UsageCounter.used < ceiling, ceiling - UsageCounter.used), else_=0) + func.coalesce(extra.c.left, 0)
    rows = session.execute(
        select(Account.id, Account.email, Plan.title, UsageCounter.used, ceiling, binding, left)
        .join(UsageCounter, and_(UsageCounter.account_id == Account.id, UsageCounter.rule == Rule.TUTOR_MESSAGES.value))
        .outerjoin(current, current.c.account_id == Account.id)
        .outerjoin(extra, extra.c.account_id == Account.id)
        .join(Plan, Plan.name == plan_name)
        .outerjoin(PlanLimit, and_(PlanLimit.plan_name == plan_name, PlanLimit.rule == Rule.TUTOR_MESSAGES))
        .outerjoin(
            LimitOverride,
            and_(LimitOverride.account_id == Account.id, LimitOverride.rule == Rule.TUTOR_MESSAGES),
        )
        .where(
            Account.role.in_(_LIMITED),
            Account.blocked_at.is_(None),
            UsageCounter.period_key == _key(binding),
            ceiling > 0,
            (ceiling - UsageCounter.used) * SHARE <= ceiling,
            left * SHARE <= ceiling,
        )
        .order_by(left, UsageCounter.used.desc(), Account.id)
        .limit(limit)
    )
    return [
        AccountNearLimit(
            account_id=key, email=email, plan_title=plan, used=used, amount=most, period=Period(span), left=rest
        )
        for key, email, plan, used, most, span, rest in rows
    ]


def current_plans() -> Subquery:
    """Return the plan that each account has now, for those who have one (`account_id`, `plan_name`)."""
    now = utc_now()
    newest = func.row_number().over(
        partition_by=AccountPlan.account_id, order_by=(AccountPlan.starts_at.desc(), AccountPlan.id)
    )
    holding = (
        select(AccountPlan.account_id, AccountPlan.plan_name, newest.label("rank"))
        .where(AccountPlan.starts_at <= now, or_(AccountPlan.ends_at.is_(None), AccountPlan.ends_at > now))
        .subquery()
    )
    return select(holding.c.account_id, holding.c.plan_name).where(holding.c.rank == 1).subquery()


def _extra() -> Subquery:
    """Return what is left of all that each account was given on top (`account_id`, `left`)."""
    usable = (Grant.rule == Rule.TUTOR_MESSAGES, or_(Grant.expires_at.is_(None), Grant.expires_at > utc_now()))
    left = func.sum(Grant.amount - Grant.used).label("left")
    return select(Grant.account_id, left).where(*usable).group_by(Grant.account_id).subquery()


def _either(own: ColumnElement[bool], column: str) -> ColumnElement[Any]:
    """What was set for the account alone, or else what its plan says."""
    return case((own, getattr(LimitOverride, column)), else_=getattr(PlanLimit, column))


def _key(period: ColumnElement[Any]) -> ColumnElement[str]:
    now = utc_now()
    keys = {one.value: quotas.key_of(one, now) for one in (Period.DAY, Period.MONTH)}
    return case(keys, value=period, else_=Period.LIFETIME.value)
