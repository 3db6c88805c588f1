"""Counters go up and down by one, of one account, one rule and one period alone, and never below nothing."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select

from app.clock import utc_now
from app.db import Database
from app.models import Account, Grant, Period, Rule, UsageCounter
from app.services import audit
from app.services.audit import AuditFilter
from app.services.plans import plans, quotas
from app.services.plans.plans import Limit
from app.services.plans.quotas import Charge

MESSAGES = Rule.TUTOR_MESSAGES
KEYS = [quotas.key_of(period, utc_now()) for period in (Period.DAY, Period.MONTH, Period.LIFETIME)]


def used(database: Database, account: Account) -> list[int]:
    """Return what is counted in the day, the month and the lifetime that run now."""
    with database.read() as session:
        return [quotas.used_in(session, account.id, MESSAGES, key) for key in KEYS]


def take(database: Database, account: Account) -> Charge:
    """Take one, as a request would."""
    with database.write() as session:
        charge = quotas.take(session, account, MESSAGES)
    assert charge is not None
    return charge


def give_back(database: Database, account: Account, charge: Charge) -> None:
    """Give one back, in a transaction of its own."""
    with database.write() as session:
        quotas.give_back(session, account.id, MESSAGES, charge)


def test_take_counts_one_in_each_period(database: Database, account: Account) -> None:
    """Whichever of them binds; the first use begins each at one."""
    assert used(database, account) == [0, 0, 0]
    assert set(take(database, account).epochs.values()) == {0}
    assert used(database, account) == [1, 1, 1]
    take(database, account)
    assert used(database, account) == [2, 2, 2]


def test_giving_back_takes_one_off_each_period(database: Database, account: Account) -> None:
    """And of nobody else's."""
    charge = take(database, account)
    take(database, account)
    give_back(database, account, charge)
    assert used(database, account) == [1, 1, 1]


def test_giving_back_twice_never_goes_below_nothing(database: Database, account: Account) -> None:
    """Or else somebody could have more than the limit."""
    charge = take(database, account)
    for _ in range(2):
        give_back(database, account, charge)
    assert used(database, account) == [0, 0, 0]


def test_accounts_and_rules_are_counted_apart(
    database: Database, account: Account, new_account: Callable[..., Account]
) -> None:
    """What one uses, or uses of another thing, is nobody else's."""
    other = new_account()
    charges = take(database, account), take(database, other)
    with database.write() as session:
        quotas.count(session, account.id, Rule.CHECKS, KEYS[0])
        quotas.reset(session, other, MESSAGES, by=None)
    give_back(database, account, charges[0])
    assert (used(database, account), used(database, other)) == ([0, 0, 0], [0, 0, 0])
    with database.read() as session:
        assert quotas.used_in(session, account.id, Rule.CHECKS, KEYS[0]) == 1
        assert quotas.used_in(session, other.id, Rule.CHECKS, KEYS[0]) == 0


def test_reset_begins_a_new_epoch_of_each_period(database: Database, account: Account) -> None:
    """By one, from wherever it stood; the account's other rules go on."""
    take(database, account)
    with database.write() as session:
        quotas.count(session, account.id, Rule.CHECKS, KEYS[0])
    for _ in range(2):
        with database.write() as session:
            quotas.reset(session, account, MESSAGES, by=None)
    assert set(take(database, account).epochs.values()) == {2}
    with database.read() as session:
        rows = session.execute(select(UsageCounter.rule, UsageCounter.used, UsageCounter.epoch)).all()
    assert {(str(rule), number, epoch) for rule, number, epoch in rows} == {
        (MESSAGES.value, 1, 2),
        (Rule.CHECKS.value, 1, 0),
    }


def test_added_numbers_are_summed(database: Database, account: Account) -> None:
    """The first makes the counter, the next go on top, and the count of one goes beside."""
    for number in (5, 7):
        with database.write() as session:
            quotas.add(session, account.id, MESSAGES, KEYS[0], number=number)
    assert used(database, account) == [12, 0, 0]
    with database.write() as session:
        quotas.count(session, account.id, MESSAGES, KEYS[0])
    assert used(database, account) == [13, 0, 0]
    with database.read() as session:
        assert session.scalars(select(UsageCounter.epoch)).all() == [0]


@pytest.fixture
def on_top(database: Database, account: Account) -> str:
    """Give an account whose plan has nothing two messages on top, and return which grant that is."""
    with database.write() as session:
        plans.set_limits(session, "free", [Limit(MESSAGES, 0, Period.LIFETIME, None)], by=None)
        return plans.give_extra(session, account, MESSAGES, amount=2, by=None).id


def grant(database: Database, grant_id: str) -> int:
    """Return how many of a grant are used."""
    with database.read() as session:
        return session.get_one(Grant, grant_id).used


def test_what_was_given_on_top_is_counted_in_its_grant_alone(database: Database, account: Account, on_top: str) -> None:
    """The plan's own counters stay where they are; giving back goes to the grant, and not below nothing."""
    charge = take(database, account)
    assert (charge.grant_id, charge.epochs) == (on_top, {})
    assert (grant(database, on_top), used(database, account)) == (1, [0, 0, 0])
    take(database, account)
    assert grant(database, on_top) == 2
    for expected in (1, 0, 0):
        give_back(database, account, charge)
        assert grant(database, on_top) == expected
    assert used(database, account) == [0, 0, 0]


def test_each_grant_is_given_back_to_itself(database: Database, account: Account, on_top: str) -> None:
    """Of two grants the other is left alone, and so is one of another account."""
    with database.write() as session:
        first = plans.give_extra(
            session, account, MESSAGES, amount=1, expires_at=utc_now() + timedelta(hours=1), by=None
        ).id
    charges = [take(database, account) for _ in range(2)]
    assert [one.grant_id for one in charges] == [first, on_top]
    give_back(database, account, charges[1])
    assert (grant(database, first), grant(database, on_top)) == (1, 0)


def test_grants_of_others_and_of_other_rules_give_nothing(
    database: Database, account: Account, new_account: Callable[..., Account], on_top: str
) -> None:
    """Neither to take nor to see."""
    other = new_account()
    with database.write() as session:
        session.add(Grant(account_id=other.id, rule=Rule.CHECKS, amount=5))
    with database.write() as session:
        assert quotas.take(session, other, MESSAGES) is None
        assert quotas.quota_of(session, other).extra == 0
        assert quotas.quota_of(session, account).extra == 2


def test_what_is_left_of_a_grant_is_shown(database: Database, account: Account, on_top: str) -> None:
    """One of two, and then none; a spent grant gives nothing more, though it has not expired."""
    take(database, account)
    with database.read() as session:
        assert quotas.quota_of(session, account).extra == 1
    take(database, account)
    with database.write() as session:
        assert quotas.quota_of(session, account).extra == 0
        assert quotas.take(session, account, MESSAGES) is None
    assert grant(database, on_top) == 2


def test_reset_is_on_record_with_before_and_after(database: Database, account: Account) -> None:
    """Under the name by which the log is searched."""
    take(database, account)
    with database.write() as session:
        quotas.reset(session, account, MESSAGES, by=None, reason="why")
    with database.read() as session:
        (entry,) = audit.search(session, AuditFilter(action="user.reset"), limit=5)
    before, after = entry.before or {}, entry.after or {}
    assert before[MESSAGES.value] == dict.fromkeys(KEYS, 1)
    assert after[MESSAGES.value] == dict.fromkeys(KEYS, 0)
