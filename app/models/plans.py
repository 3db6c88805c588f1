"""What each plan allows, who has which, and how much of it was used."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id


class Rule(StrEnum):
    """What a plan limits."""

    TUTOR_MESSAGES = "tutor_messages"
    CHECKS = "checks"


class Period(StrEnum):
    """How long an amount has to last. Days and months are those of UTC."""

    MINUTE = "minute"
    DAY = "day"
    MONTH = "month"
    LIFETIME = "lifetime"


class Plan(Base):
    """A set of limits that accounts have. `free` is everyone's who has no other."""

    __tablename__ = "plan"

    name: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    position: Mapped[int] = mapped_column(default=0)


class PlanLimit(Base):
    """How much of one thing a plan allows."""

    __tablename__ = "plan_limit"

    plan_name: Mapped[str] = mapped_column(ForeignKey("plan.name"), primary_key=True)
    rule: Mapped[Rule] = mapped_column(primary_key=True)
    amount: Mapped[int | None]
    """None is unlimited."""
    period: Mapped[Period]
    fair_use_per_day: Mapped[int | None]
    """Of what is unlimited: how many a day before somebody must be a program. None is no such ceiling."""


class AccountPlan(Base):
    """An account's plan for a time. Of several that hold at a moment, the one that began last counts."""

    __tablename__ = "account_plan"
    __table_args__ = (Index(None, "account_id", "starts_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"))
    plan_name: Mapped[str] = mapped_column(ForeignKey("plan.name"))
    starts_at: Mapped[datetime] = mapped_column(default=utc_now)
    ends_at: Mapped[datetime | None]
    """None is without end."""
    origin: Mapped[str]
    """How it came: `admin` or `code`. A payment provider would be another."""


class LimitOverride(Base):
    """What one account may, whatever its plan says."""

    __tablename__ = "limit_override"

    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    rule: Mapped[Rule] = mapped_column(primary_key=True)
    amount: Mapped[int | None]
    period: Mapped[Period]
    fair_use_per_day: Mapped[int | None]


class Grant(Base):
    """Something given once on top of the plan: used when the plan's own amount is spent."""

    __tablename__ = "grant"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    rule: Mapped[Rule]
    amount: Mapped[int]
    used: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class UsageCounter(Base):
    """
    How much of something an account has used in one period, what is only reserved included.

    A day, a month and a lifetime are counted side by side, so that a plan that changes its period counts right
    from the first request on.
    """

    __tablename__ = "usage_counter"

    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    rule: Mapped[str] = mapped_column(primary_key=True)
    period_key: Mapped[str] = mapped_column(primary_key=True)
    """`2026-11-30`, `2026-11` or `lifetime`."""
    used: Mapped[int] = mapped_column(default=0)
    epoch: Mapped[int] = mapped_column(default=0)
    """Goes up when an administrator resets the counter: what was reserved before gives nothing back to it."""


class RedeemCode(Base):
    """A code that gives a plan to the first account that enters it. Only its hash is kept."""

    __tablename__ = "redeem_code"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    code_hash: Mapped[str] = mapped_column(unique=True)
    batch: Mapped[str] = mapped_column(index=True)
    plan_name: Mapped[str] = mapped_column(ForeignKey("plan.name"))
    plan_days: Mapped[int | None]
    """How long the plan then lasts; None is without end."""
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    redeemed_by: Mapped[str | None]
    """The account's id. No foreign key: an account that is deleted leaves the code spent."""
    redeemed_at: Mapped[datetime | None]
