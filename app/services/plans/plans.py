"""Plans and their limits: which one an account has, and what an administrator changes in them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import LimitRefused, NotFound
from app.models import Account, AccountPlan, Grant, LimitOverride, Period, Plan, PlanLimit, Rule
from app.services import audit
from app.services.audit import Change

FREE = "free"
MOST = 1_000_000
"""The largest amount that a limit can have: more is a slip of the finger, and "unlimited" is there."""
PERIODS = {Rule.TUTOR_MESSAGES: (Period.DAY, Period.MONTH, Period.LIFETIME), Rule.CHECKS: (Period.MINUTE,)}
LEAST = {Rule.TUTOR_MESSAGES: 0, Rule.CHECKS: 1}
"""The smallest amount that a limit can have. Checking never stops, whatever the plan."""
_THINGS = {Rule.TUTOR_MESSAGES: ("tutor message", "tutor messages"), Rule.CHECKS: ("check", "checks")}


class PeriodWords(NamedTuple):
    """How sentences speak of a period."""

    each: str
    """After an amount: 30 messages `a day`."""
    current: str
    """The one that runs now: `today`."""
    for_now: str
    """After "no messages left", with the space before it: ` for today`."""
    kept: str
    """How long an amount lasts, beside a counter: 24 of 30 `for good`."""


PERIOD_WORDS = {
    Period.MINUTE: PeriodWords("a minute", "this minute", "", "this minute"),
    Period.DAY: PeriodWords("a day", "today", " for today", "today"),
    Period.MONTH: PeriodWords("a month", "this month", " for this month", "this month"),
    Period.LIFETIME: PeriodWords("ever", "ever", "", "for good"),
}


@dataclass(frozen=True)
class Limit:
    """How much of one thing may be used in a period."""

    rule: Rule
    amount: int | None
    """None is unlimited."""
    period: Period
    fair_use_per_day: int | None = None
    """Of what is unlimited: the ceiling that stops a program, not a person."""

    @property
    def description(self) -> str:
        """A phrase for people, such as `30 tutor messages, ever`."""
        one, many = _THINGS[self.rule]
        if self.amount is None:
            ceiling = f", up to {self.fair_use_per_day} a day" if self.fair_use_per_day else ""
            return f"unlimited {many}{ceiling}"
        thing = one if self.amount == 1 else many
        comma = "," if self.period is Period.LIFETIME else ""
        return f"{self.amount} {thing}{comma} {self.period_words.each}" if self.amount else f"no {many}"

    @property
    def period_words(self) -> PeriodWords:
        """How sentences speak of its period."""
        return PERIOD_WORDS[self.period]

    def to_json(self) -> dict[str, object]:
        """Return it as the API and the audit log have it."""
        fields = asdict(self)
        del fields["rule"]
        return fields | {"period": self.period.value}


@dataclass(frozen=True)
class PlanView:
    """A plan with its limits."""

    name: str
    title: str
    limits: Mapping[Rule, Limit]


@dataclass(frozen=True)
class CurrentPlan:
    """The plan that an account has at a moment."""

    name: str
    title: str
    starts_at: datetime | None
    ends_at: datetime | None
    """None is without end."""


def list_plans(session: Session) -> list[PlanView]:
    """Return every plan, in order."""
    rows = select(Plan, PlanLimit).outerjoin(PlanLimit, PlanLimit.plan_name == Plan.name)
    found: dict[Plan, dict[Rule, Limit]] = {}
    for plan, limit in session.execute(rows.order_by(Plan.position, Plan.name)):
        limits = found.setdefault(plan, {})
        if limit is not None:  # a plan may have none
            limits[limit.rule] = _limit(limit)
    return [
        PlanView(plan.name, plan.title, {rule: limits[rule] for rule in Rule if rule in limits})
        for plan, limits in found.items()
    ]


def plan_named(session: Session, name: str) -> PlanView:
    """Return a plan. Raises NotFound."""
    found = next((plan for plan in list_plans(session) if plan.name == name), None)
    if found is None:
        raise NotFound(what="plan", name=name)
    return found


def plan_of(session: Session, account_id: str) -> CurrentPlan:
    """Return which plan an account has now."""
    now = utc_now()
    found = session.execute(
        select(AccountPlan, Plan.title)
        .join(Plan, Plan.name == AccountPlan.plan_name)
        .where(
            AccountPlan.account_id == account_id,
            AccountPlan.starts_at <= now,
            or_(AccountPlan.ends_at.is_(None), AccountPlan.ends_at > now),
        )
        .order_by(AccountPlan.starts_at.desc(), AccountPlan.id)
        .limit(1)
    ).first()
    if found is None:
        free = session.get_one(Plan, FREE)
        return CurrentPlan(free.name, free.title, None, None)
    current_plan, title = found
    return CurrentPlan(current_plan.plan_name, title, current_plan.starts_at, current_plan.ends_at)


def limit_of(session: Session, account: Account, rule: Rule) -> Limit:
    """Return what binds an account now: what was set for it alone, or else what its plan says."""
    if not account.is_limited:
        return Limit(rule, None, Period.LIFETIME)
    own = session.get(LimitOverride, (account.id, rule), populate_existing=True)
    if own is not None:
        return _limit(own)
    row = session.get(PlanLimit, (plan_of(session, account.id).name, rule), populate_existing=True)
    return _limit(row) if row else Limit(rule, 0, PERIODS[rule][0])  # a plan that says nothing gives nothing


def checked(rule: Rule, entered: Mapping[str, Any]) -> Limit:
    """
    Make a limit of what somebody has entered.

    Raises:
        LimitRefused: the amount or the period is none that this rule can have.
    """
    amount, fair_use = entered.get("amount"), entered.get("fair_use_per_day")
    periods, least = PERIODS[rule], LEAST[rule]
    if entered.get("period") not in periods:
        raise LimitRefused(reason=f"The period of {rule.value} is one of: {', '.join(periods)}.")
    if amount is not None and not _is_whole(amount, least):
        raise LimitRefused(
            reason=f"The amount of {rule.value} is a whole number from {least} to {MOST}, or none at all for unlimited."
        )
    if fair_use is not None and not _is_whole(fair_use, 1):
        raise LimitRefused(reason=f"A ceiling of fair use is a whole number from 1 to {MOST}, or none at all.")
    if fair_use is not None and rule is not Rule.TUTOR_MESSAGES:
        raise LimitRefused(reason="Only tutor messages have a ceiling of fair use.")
    return Limit(rule, amount, Period(entered["period"]), fair_use if amount is None else None)


def _is_whole(number: object, least: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= MOST


def lock_plan(session: Session, name: str) -> None:
    """
    Let one transaction at a time change a plan: until it is over, others that call this wait.

    Raises:
        NotFound: there is no such plan.
    """
    plan_named(session, name)
    session.execute(select(Plan.name).where(Plan.name == name).with_for_update())


def lock_account(session: Session, account_id: str) -> None:
    """Let one transaction at a time change what an account has: until it is over, others that call this wait."""
    session.execute(select(Account.id).where(Account.id == account_id).with_for_update(key_share=True))


def set_limits(
    session: Session, name: str, limits: Sequence[Limit], *, by: Account | None, reason: str = ""
) -> PlanView:
    """Change what a plan allows, from the next request on. Raises NotFound."""
    lock_plan(session, name)
    plan = plan_named(session, name)  # as it is now that nobody else can change it
    for limit in limits:
        row = session.get(PlanLimit, (name, limit.rule), populate_existing=True)
        row = row or PlanLimit(plan_name=name, rule=limit.rule)
        row.amount, row.period, row.fair_use_per_day = limit.amount, limit.period, limit.fair_use_per_day
        session.add(row)
    before = {one.rule.value: plan.limits[one.rule].to_json() for one in limits if one.rule in plan.limits}
    after = {one.rule.value: one.to_json() for one in limits}
    audit.record(session, Change("plan.limits", "plan", name, plan.title, before, after, reason), by=by)
    return plan_named(session, name)


def give_plan(
    session: Session,
    account: Account,
    name: str,
    *,
    ends_at: datetime | None = None,
    origin: str = "admin",
    by: Account | None,
    reason: str = "",
) -> CurrentPlan:
    """
    Put an account on a plan from now on. What it had before ends, and stays on record.

    Raises:
        NotFound: there is no such plan.
        LimitRefused: the plan would end before it begins.
    """
    plan_named(session, name)
    lock_account(session, account.id)
    now = utc_now()
    if ends_at is not None and ends_at <= now:
        raise LimitRefused(reason="A plan has to end later than now.")
    before = plan_of(session, account.id)
    for row in session.scalars(select(AccountPlan).where(AccountPlan.account_id == account.id)):
        if row.ends_at is None or row.ends_at > now:
            row.ends_at = max(now, row.starts_at)
    session.flush()
    session.add(AccountPlan(account_id=account.id, plan_name=name, starts_at=now, ends_at=ends_at, origin=origin))
    session.flush()
    after = plan_of(session, account.id)
    audit.record_for_user(session, "user.plan", account, (_plan_json(before), _plan_json(after)), by=by, reason=reason)
    return after


def extended(session: Session, account: Account, name: str, *, days: int | None) -> datetime | None:
    """Return when a plan ends that is given for some days: they follow what is left of the same plan."""
    current_plan = plan_of(session, account.id)
    if days is None or (current_plan.name == name and current_plan.ends_at is None):
        return None
    start = current_plan.ends_at if current_plan.name == name and current_plan.ends_at else utc_now()
    return start + timedelta(days=days)


def set_override(
    session: Session, account: Account, rule: Rule, limit: Limit | None, *, by: Account | None, reason: str = ""
) -> None:
    """Set what one account may, whatever its plan says; None takes that back."""
    lock_account(session, account.id)
    row = session.get(LimitOverride, (account.id, rule), populate_existing=True)
    before = _limit(row).to_json() if row else None
    if limit is None:
        session.execute(delete(LimitOverride).where(LimitOverride.account_id == account.id, LimitOverride.rule == rule))
    else:
        row = row or LimitOverride(account_id=account.id, rule=rule)
        row.amount, row.period, row.fair_use_per_day = limit.amount, limit.period, limit.fair_use_per_day
        session.add(row)
    session.flush()
    after = limit.to_json() if limit else None
    audit.record_for_user(
        session, "user.override", account, (_under(rule, before), _under(rule, after)), by=by, reason=reason
    )


def give_extra(
    session: Session,
    account: Account,
    rule: Rule,
    *,
    amount: int,
    expires_at: datetime | None = None,
    by: Account | None,
    reason: str = "",
) -> Grant:
    """Give something once on top of the plan. Raises LimitRefused."""
    if not 0 < amount <= MOST:
        raise LimitRefused(reason=f"Give a whole number from 1 to {MOST}.")
    if expires_at is not None and expires_at <= utc_now():
        raise LimitRefused(reason="What is given has to last longer than until now.")
    grant = Grant(account_id=account.id, rule=rule, amount=amount, expires_at=expires_at)
    session.add(grant)
    session.flush()
    after = {rule.value: {"extra": amount, "expires_at": expires_at.isoformat() if expires_at else None}}
    audit.record_for_user(session, "user.extra", account, (None, after), by=by, reason=reason)
    return grant


def _under(rule: Rule, limit: dict[str, object] | None) -> dict[str, object] | None:
    return {rule.value: limit} if limit else None


def _plan_json(current_plan: CurrentPlan) -> dict[str, object]:
    return {"plan": current_plan.name, "ends_at": current_plan.ends_at.isoformat() if current_plan.ends_at else None}


def _limit(row: PlanLimit | LimitOverride) -> Limit:
    return Limit(row.rule, row.amount, row.period, row.fair_use_per_day)
