"""Administrators find users and change what they may, and can't lock everyone out."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest

from app.clock import utc_now
from app.db import Database
from app.errors import LastAdmin, NotFound, OwnAccount, RoleRefused
from app.models import Account, Period, Role, Rule
from app.services import audit
from app.services.accounts import access
from app.services.administration import near_limit, users
from app.services.administration.users import UserFilter, UserOrder
from app.services.audit import AuditFilter
from app.services.plans import plans, quotas
from app.services.plans.plans import Limit

NewAccount = Callable[..., Account]
MESSAGES = Rule.TUTOR_MESSAGES


def emails(database: Database, wanted: UserFilter, **page: int) -> list[str | None]:
    """Return the addresses of the users that are found."""
    with database.read() as session:
        found = users.search(session, wanted, **({"limit": 10} | page))  # type: ignore[arg-type]
    return [row.account.email for row in found.rows]


def test_users_are_found_by_address_role_plan_and_block(database: Database, new_account: NewAccount) -> None:
    """Guests are left out unless they are asked for."""
    one, two, three = new_account(), new_account(Role.INSTRUCTOR), new_account()
    with database.write() as session:
        access.create_guest(session)
        plans.give_plan(session, three, "pro", by=None)
        users.block(session, users.named(session, one.id), by=None)
    assert emails(database, UserFilter()) == [one.email, two.email, three.email]
    assert emails(database, UserFilter(email=" PERSON2@ex")) == [two.email]
    assert emails(database, UserFilter(email="%")) == []
    assert emails(database, UserFilter(email="person\0" + "1")) == [one.email]
    assert emails(database, UserFilter(role=Role.STUDENT)) == [one.email, three.email]
    assert emails(database, UserFilter(role=Role.GUEST)) == [None]
    assert emails(database, UserFilter(plan="pro")) == [three.email]
    assert emails(database, UserFilter(plan="free")) == [one.email, two.email]
    assert emails(database, UserFilter(blocked=True)) == [one.email]
    assert emails(database, UserFilter(blocked=False, role=Role.STUDENT)) == [three.email]


def test_users_come_in_pages_and_in_order(database: Database, new_account: NewAccount) -> None:
    """With how many there are in all."""
    made = [new_account().email for _ in range(5)]
    with database.read() as session:
        found = users.search(session, UserFilter(), order=UserOrder.NEWEST, limit=2, offset=1)
    assert ([row.account.email for row in found.rows], found.total) == ([made[3], made[2]], 5)


def test_user_is_named_by_id_or_address(database: Database, account: Account) -> None:
    """Whatever else is asked for is nobody."""
    with database.read() as session:
        assert users.named(session, account.id) == users.named(session, " Person1@Example.org ")
        for name in ("nobody@example.org", "", "\0", "x" * 10_000):
            with pytest.raises(NotFound):
                users.named(session, name)


def test_picture_of_a_user_is_whole(database: Database, account: Account) -> None:
    """Plans of the past, what was set and given, and what was used."""
    with database.write() as session:
        plans.give_plan(session, account, "pro", by=None)
        plans.give_plan(session, account, "free", by=None)
        plans.set_override(session, account, MESSAGES, Limit(MESSAGES, 5, Period.DAY), by=None)
        plans.give_extra(session, account, MESSAGES, amount=2, by=None)
        quotas.take(session, account, MESSAGES)
    with database.read() as session:
        seen = users.detail(session, account)
    assert [one.plan_name for one in seen.history] == ["free", "pro"]
    assert (seen.current_plan.name, seen.overrides[MESSAGES].amount, [one.amount for one in seen.grants]) == (
        "free",
        5,
        [2],
    )
    assert (seen.quota.used, seen.quota.left, seen.submissions) == (1, 6, 0)


def test_role_is_changed_and_recorded(database: Database, account: Account, new_account: NewAccount) -> None:
    """With before, after, who and why."""
    admin = new_account(Role.ADMIN)
    with database.write() as session:
        users.set_role(session, users.named(session, account.id), "instructor", by=admin, reason="teaches now")
    with database.read() as session:
        assert users.named(session, account.id).role is Role.INSTRUCTOR
        (entry,) = audit.search(session, AuditFilter(), limit=5)
    assert (entry.action, entry.actor, entry.before, entry.after, entry.reason) == (
        "user.role", admin.email, {"role": "student"}, {"role": "instructor"}, "teaches now",
    )  # fmt: skip


def test_change_that_changes_nothing_is_not_recorded(database: Database, account: Account) -> None:
    """The log says what has changed."""
    with database.write() as session:
        users.set_role(session, account, "student", by=None)
        users.unblock(session, account, by=None)
        assert audit.search(session, AuditFilter(), limit=5) == []


def test_role_that_does_not_exist_is_refused(database: Database, account: Account) -> None:
    """And nobody becomes a guest, nor a guest anything but by signing up."""
    with database.write() as session:
        guest, _ = access.create_guest(session)
        for role in ("king", "guest"):
            with pytest.raises(RoleRefused):
                users.set_role(session, account, role, by=None)
        with pytest.raises(NotFound):
            users.set_role(session, guest, "student", by=None)


def test_block_ends_sessions_and_tokens(database: Database, account: Account) -> None:
    """Whoever is blocked can do nothing more with what they have, not even after the block is lifted."""
    assert account.email
    with database.write() as session:
        token = access.create_token(session, email=account.email)
        cookie = access.open_session(session, account)
        known = users.named(session, account.id)
        users.block(session, known, by=None)
        users.unblock(session, known, by=None)
    with database.read() as session:
        assert access.access_by_bearer(session, token) is None
        assert access.access_by_cookie(session, cookie) is None
        assert [entry.action for entry in audit.search(session, AuditFilter(), limit=5)] == [
            "user.unblock",
            "user.block",
        ]


def test_nobody_changes_their_own_role_or_block(database: Database, new_account: NewAccount) -> None:
    """A slip of the finger must not lock anyone out, even where there are other administrators."""
    admin = new_account(Role.ADMIN)
    new_account(Role.ADMIN)
    with database.write() as session:
        for change in (
            partial(users.set_role, session, admin, "student", by=admin),
            partial(users.block, session, admin, by=admin),
        ):
            with pytest.raises(OwnAccount):
                change()


def test_last_administrator_can_be_neither_demoted_nor_blocked(database: Database, new_account: NewAccount) -> None:
    """Not by the command line either. One who is blocked does not count."""
    last, other = new_account(Role.ADMIN), new_account(Role.ADMIN)
    with database.write() as session:
        users.block(session, users.named(session, other.id), by=None)
        for change in (
            partial(users.set_role, session, last, "student", by=None),
            partial(users.block, session, last, by=None),
            partial(users.refuse_last_admin, session, last),
        ):
            with pytest.raises(LastAdmin):
                change()


def test_two_administrators_cannot_demote_each_other(database: Database, new_account: NewAccount) -> None:
    """Concurrently, too: one of them stays."""
    pair = new_account(Role.ADMIN), new_account(Role.ADMIN)

    def demote(who: int) -> bool:
        try:
            with database.write() as session:
                users.set_role(session, users.locked(session, pair[who].id), "student", by=pair[1 - who])
        except LastAdmin:
            return False
        return True

    with ThreadPoolExecutor(max_workers=2) as threads:
        assert sorted(threads.map(demote, range(2))) == [False, True]
    assert len(emails(database, UserFilter(role=Role.ADMIN))) == 1


def use(database: Database, account: Account, times: int) -> None:
    """Use so many tutor messages."""
    with database.write() as session:
        for _ in range(times):
            assert quotas.take(session, account, MESSAGES)


def test_near_a_limit_is_whoever_has_a_fifth_left_or_less(database: Database, new_account: NewAccount) -> None:
    """By the plan, the override or the ceiling of fair use that binds them; who has the fewest left stands first."""
    few, near, spent, own, fair, rich, teacher = (new_account() for _ in range(7))
    with database.write() as session:
        plans.set_limits(session, "free", [Limit(MESSAGES, 10, Period.MONTH)], by=None)
        plans.set_limits(session, "pro", [Limit(MESSAGES, None, Period.MONTH, 5)], by=None)
        plans.set_override(session, own, MESSAGES, Limit(MESSAGES, 1, Period.DAY), by=None)
        plans.give_plan(session, fair, "pro", by=None)
        plans.give_extra(session, rich, MESSAGES, amount=20, by=None)
        plans.give_extra(session, own, MESSAGES, amount=3, expires_at=utc_now() + timedelta(days=1), by=None)
    for account, times in ((few, 7), (near, 8), (spent, 10), (own, 4), (fair, 4), (rich, 10), (teacher, 9)):
        use(database, account, times)
    with database.write() as session:
        users.set_role(session, users.named(session, teacher.id), "instructor", by=None)
        told = near_limit.near_limit(session)
    assert [(one.email, one.used, one.amount, one.period, one.left) for one in told] == [
        (spent.email, 10, 10, Period.MONTH, 0),
        (own.email, 1, 1, Period.DAY, 0),
        (fair.email, 4, 5, Period.DAY, 1),
        (near.email, 8, 10, Period.MONTH, 2),
    ]
    assert [one.plan_title for one in told] == ["Free", "Free", "PRO", "Free"]
