"""Users as administrators see them: finding one, all about one, their role, and blocking them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import LastAdmin, NotFound, OwnAccount, RoleRefused
from app.models import (
    ASSIGNABLE_ROLES,
    Account,
    AccountPlan,
    ApiToken,
    BrowserSession,
    Grant,
    Role,
    Rule,
    Submission,
    TutorMessage,
)
from app.services import audit
from app.services.administration.near_limit import current_plans
from app.services.plans import plans
from app.services.plans.plan_usage import usage_of, usage_of_all
from app.services.plans.plans import CurrentPlan, Limit
from app.services.plans.quotas import Quota


class UserOrder(StrEnum):
    """How a list of users is sorted."""

    EMAIL = "email"
    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True)
class UserFilter:
    """Which users to look for. What is empty does not narrow."""

    email: str = ""
    """A part of the address."""
    role: Role | None = None
    """None is all but guests."""
    plan: str = ""
    blocked: bool | None = None


@dataclass(frozen=True)
class UserRow:
    """A user in a list."""

    account: Account
    current_plan: CurrentPlan
    quota: Quota
    """Of tutor messages."""

    @property
    def quotas(self) -> dict[Rule, Quota]:
        """What is limited, by rule."""
        return {Rule.TUTOR_MESSAGES: self.quota}


@dataclass(frozen=True)
class UserPage:
    """One page of a list of users."""

    rows: Sequence[UserRow]
    total: int


@dataclass(frozen=True)
class UserDetail:
    """All about one user that an administrator decides by."""

    account: Account
    current_plan: CurrentPlan
    quota: Quota
    """Of tutor messages."""
    limits: Mapping[Rule, Limit]
    """What binds the account now."""
    overrides: Mapping[Rule, Limit]
    history: Sequence[AccountPlan]
    """Plans, the newest first."""
    grants: Sequence[Grant]
    """The newest first, spent and expired ones too."""
    submissions: int
    active_at: datetime | None
    """When the account last sent or asked something, or signed in."""

    @property
    def quotas(self) -> dict[Rule, Quota]:
        """What is limited, by rule."""
        return {Rule.TUTOR_MESSAGES: self.quota}

    def to_json(self) -> dict[str, object]:
        """Return what administrators change: where this is the same, they see the same."""
        return {
            "role": self.account.role.value,
            "blocked_at": _iso(self.account.blocked_at),
            "plan": [self.current_plan.name, _iso(self.current_plan.ends_at)],
            "overrides": {rule.value: limit.to_json() for rule, limit in self.overrides.items()},
            "grants": sorted(one.id for one in self.grants),
        }


def search(
    session: Session, filters: UserFilter, *, order: UserOrder = UserOrder.EMAIL, limit: int, offset: int = 0
) -> UserPage:
    """Return a page of users."""
    sorting: dict[UserOrder, tuple[Any, ...]] = {
        UserOrder.EMAIL: (Account.email, Account.id),
        UserOrder.NEWEST: (Account.created_at.desc(), Account.id),
        UserOrder.OLDEST: (Account.created_at, Account.id),
    }
    matching = _matching(filters)
    total = session.scalar(select(func.count()).select_from(matching.subquery())) or 0
    accounts = session.scalars(matching.order_by(*sorting[order]).limit(limit).offset(offset)).all()
    usages = usage_of_all(session, accounts)
    rows = [UserRow(one, usages[one.id].plan, usages[one.id].tutor_messages) for one in accounts]
    return UserPage(rows, total)


def named(session: Session, name: str) -> Account:
    """Return the account with this id or this e-mail address. Raises NotFound."""
    account = None
    if name.isprintable():  # what PostgreSQL cannot even be asked for is nobody's
        address = name.strip().lower()
        account = session.get(Account, name, populate_existing=True) or session.scalar(
            select(Account).where(Account.email == address)
        )
    if account is None:
        raise NotFound(what="account", name=name)
    return account


def locked(session: Session, name: str) -> Account:
    """Return an account that nobody else changes until this transaction is over. Raises NotFound."""
    account = named(session, name)
    # with the administrators, who may have to be counted (`refuse_last_admin`), and all in one order: if each locked
    # the account first and the rest later, two who act on each other would deadlock
    together = select(Account.id).where(or_(Account.id == account.id, Account.role == Role.ADMIN))
    session.execute(together.order_by(Account.id).with_for_update(key_share=True))
    return session.get_one(Account, account.id, populate_existing=True)


def detail(session: Session, account: Account) -> UserDetail:
    """Return all about an account."""
    usage = usage_of(session, account)
    submissions, active_at = _activity(session, account.id)
    history = select(AccountPlan).where(AccountPlan.account_id == account.id)
    grants = select(Grant).where(Grant.account_id == account.id)
    return UserDetail(
        account=account,
        current_plan=usage.plan,
        quota=usage.tutor_messages,
        limits=usage.limits,
        overrides=usage.overrides,
        history=session.scalars(history.order_by(AccountPlan.starts_at.desc(), AccountPlan.id)).all(),
        grants=session.scalars(grants.order_by(Grant.created_at.desc(), Grant.id)).all(),
        submissions=submissions,
        active_at=active_at,
    )


def set_role(session: Session, account: Account, role: str, *, by: Account | None, reason: str = "") -> None:
    """
    Change what an account may do, from its next request on.

    Raises:
        RoleRefused: there is no such role to give.
        NotFound: the account is a guest's, who becomes a student by signing up.
        OwnAccount: it is the account of `by`.
        LastAdmin: nobody could administer the site any more.
    """
    if role not in ASSIGNABLE_ROLES:
        raise RoleRefused(role=role, roles=", ".join(ASSIGNABLE_ROLES))
    if account.role is Role.GUEST:
        raise NotFound(what="account with an e-mail address", name=account.id)
    before = account.role
    if before == role:
        return
    _refuse_own(account, by)
    if before is Role.ADMIN:
        refuse_last_admin(session, account)
    account.role = Role(role)
    session.flush()
    audit.record_for_user(session, "user.role", account, ({"role": before.value}, {"role": role}), by=by, reason=reason)


def block(session: Session, account: Account, *, by: Account | None, reason: str = "") -> None:
    """
    Let an account do nothing from now on: it can't sign in, and its browsers and programs are signed out for good.

    Raises:
        OwnAccount: it is the account of `by`.
        LastAdmin: nobody could administer the site any more.
    """
    if account.blocked_at is not None:
        return
    _refuse_own(account, by)
    if account.role is Role.ADMIN:
        refuse_last_admin(session, account)
    now = utc_now()
    account.blocked_at = now
    for kind in (BrowserSession, ApiToken):
        theirs = (kind.account_id == account.id, kind.revoked_at.is_(None))
        session.execute(update(kind).where(*theirs).values(revoked_at=now))
    session.flush()
    audit.record_for_user(session, "user.block", account, ({"blocked": False}, {"blocked": True}), by=by, reason=reason)


def unblock(session: Session, account: Account, *, by: Account | None, reason: str = "") -> None:
    """Let an account sign in again. What was revoked stays so."""
    if account.blocked_at is None:
        return
    _refuse_own(account, by)
    account.blocked_at = None
    session.flush()
    audit.record_for_user(
        session, "user.unblock", account, ({"blocked": True}, {"blocked": False}), by=by, reason=reason
    )


def refuse_last_admin(session: Session, account: Account) -> None:
    """
    Keep the last administrator who can sign in: ask before demoting, blocking or deleting one. Raises LastAdmin.

    Two who act on each other concurrently follow each other here, and the second finds nobody left.
    """
    admins = session.scalars(
        select(Account.id)
        .where(Account.role == Role.ADMIN, Account.blocked_at.is_(None))
        .order_by(Account.id)
        .with_for_update(key_share=True)
    ).all()
    if account.id in admins and len(admins) == 1:
        raise LastAdmin(email=account.email)


def _matching(filters: UserFilter) -> Select[Account]:
    current = current_plans()
    found = select(Account).outerjoin(current, current.c.account_id == Account.id).where(_role(filters.role))
    if filters.email:
        found = found.where(Account.email.icontains(_plain(filters.email), autoescape=True))
    if filters.plan:
        found = found.where(func.coalesce(current.c.plan_name, plans.FREE) == _plain(filters.plan))
    if filters.blocked is not None:
        found = found.where(Account.blocked_at.is_not(None) if filters.blocked else Account.blocked_at.is_(None))
    return found


def _role(role: Role | None) -> ColumnElement[bool]:
    return Account.role != Role.GUEST if role is None else Account.role == role


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _plain(text: str) -> str:
    return "".join(c for c in text.strip() if c.isprintable())


def _activity(session: Session, account_id: str) -> tuple[int, datetime | None]:
    """Return how many submissions an account has sent, and when it last did anything."""
    moments = (
        (Submission.created_at, Submission.account_id),
        (TutorMessage.reserved_at, TutorMessage.account_id),
        (BrowserSession.created_at, BrowserSession.account_id),
    )
    latest = (select(func.max(moment)).where(owner == account_id).scalar_subquery() for moment, owner in moments)
    sent = select(func.count()).where(Submission.account_id == account_id).scalar_subquery()
    number, *found = session.execute(select(sent, *latest)).one()
    return number, max((moment for moment in found if moment is not None), default=None)


def _refuse_own(account: Account, by: Account | None) -> None:
    if by is not None and by.id == account.id:
        raise OwnAccount
