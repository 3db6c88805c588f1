"""What an account may use follows from its plan, what was set for it alone and what it was given, at every moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import update

from app.clock import utc_now
from app.db import Database
from app.errors import LimitRefused, NotFound
from app.models import Account, AccountPlan, Period, Role, Rule
from app.services import audit
from app.services.audit import AuditFilter
from app.services.plans import plans, quotas
from app.services.plans.plans import Limit

MESSAGES = Rule.TUTOR_MESSAGES


def messages(amount: int | None, period: Period = Period.LIFETIME, fair_use: int | None = None) -> Limit:
    """Return a limit of tutor messages."""
    return Limit(MESSAGES, amount, period, fair_use)


def take(database: Database, account: Account, times: int = 1) -> int:
    """Take so many messages, each as one request would; how many were given."""
    given = 0
    for _ in range(times):
        with database.write() as session:
            given += quotas.take(session, account, MESSAGES) is not None
    return given


def left(database: Database, account: Account) -> int | None:
    """Return how many messages an account has left."""
    with database.read() as session:
        return quotas.quota_of(session, account).left


def set_free(database: Database, limit: Limit) -> None:
    """Change the free plan."""
    with database.write() as session:
        plans.set_limits(session, "free", [limit], by=None)


def test_new_account_has_thirty_messages_for_ever(database: Database, account: Account) -> None:
    """The free plan as it comes: 30 tutor messages, ever."""
    with database.read() as session:
        quota = quotas.quota_of(session, account)
    assert (quota.limit.description, quota.used, quota.left, quota.resets_at) == (
        "30 tutor messages, ever",
        0,
        30,
        None,
    )
    assert take(database, account, 31) == 30


def test_change_of_a_plan_acts_on_the_next_request(database: Database, account: Account) -> None:
    """Whoever had none left has some at once, and the other way round."""
    set_free(database, messages(2))
    assert take(database, account, 3) == 2
    set_free(database, messages(3))
    assert take(database, account, 2) == 1
    set_free(database, messages(1))
    assert left(database, account) == 0


def test_unlimited_is_unlimited(database: Database, account: Account) -> None:
    """Everything is counted all the same, so that a later limit counts right."""
    set_free(database, messages(None))
    assert take(database, account, 35) == 35
    assert left(database, account) is None
    set_free(database, messages(40))
    assert left(database, account) == 5


def test_fair_use_stops_a_program(database: Database, account: Account) -> None:
    """A ceiling for the day goes with unlimited; once it is reached it is shown like a limit."""
    set_free(database, messages(None, Period.MONTH, fair_use=3))
    assert take(database, account, 5) == 3
    with database.read() as session:
        quota = quotas.quota_of(session, account)
    assert (quota.limit.amount, quota.used, quota.limit.period) == (3, 3, Period.DAY)
    assert quota.resets_at is not None


def test_period_that_changes_counts_right_from_the_first_request(database: Database, account: Account) -> None:
    """Day, month and lifetime are counted side by side."""
    take(database, account, 4)
    for period in (Period.DAY, Period.MONTH, Period.LIFETIME):
        set_free(database, messages(5, period))
        assert left(database, account) == 1


def test_next_month_begins_at_zero(database: Database, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the account is told when that is."""
    set_free(database, messages(2, Period.MONTH))
    take(database, account, 2)
    with database.read() as session:
        resets_at = quotas.quota_of(session, account).resets_at
    assert resets_at is not None
    monkeypatch.setattr(quotas, "utc_now", lambda: resets_at)
    assert take(database, account, 3) == 2


def test_what_was_set_for_one_account_goes_before_its_plan(database: Database, account: Account) -> None:
    """And taking that back brings the plan's limit back."""
    with database.write() as session:
        plans.set_override(session, account, MESSAGES, messages(1), by=None)
    assert take(database, account, 2) == 1
    with database.write() as session:
        plans.set_override(session, account, MESSAGES, None, by=None)
    assert left(database, account) == 29


def test_plan_that_has_ended_gives_way_to_the_free_one(database: Database, account: Account) -> None:
    """Nobody has to do anything for that."""
    with database.write() as session:
        plans.give_plan(session, account, "pro", ends_at=utc_now() + timedelta(days=1), by=None)
    assert left(database, account) is None
    with database.write() as session:
        session.execute(update(AccountPlan).values(ends_at=utc_now() - timedelta(seconds=1)))
    assert left(database, account) == 30


def test_new_plan_replaces_the_one_before_and_the_past_stays(database: Database, account: Account) -> None:
    """Going back to free is a plan like another."""
    with database.write() as session:
        plans.give_plan(session, account, "pro", by=None)
        current_plan = plans.give_plan(session, account, "free", by=None)
    assert (current_plan.name, left(database, account)) == ("free", 30)
    with database.read() as session:
        told = [entry.after for entry in audit.search(session, AuditFilter(action="user.plan"), limit=5)]
    assert told == [{"plan": "free", "ends_at": None}, {"plan": "pro", "ends_at": None}]


def test_what_was_given_on_top_is_used_when_the_plan_is_spent(database: Database, account: Account) -> None:
    """What expires first goes first, and what has expired is gone."""
    set_free(database, messages(1))
    soon, later = utc_now() + timedelta(hours=1), utc_now() + timedelta(days=1)
    with database.write() as session:
        endless, second, first = (
            plans.give_extra(session, account, MESSAGES, amount=2, expires_at=end, by=None)
            for end in (None, later, soon)
        )
    assert left(database, account) == 7
    used = []
    for _ in range(7):
        with database.write() as session:
            taken = quotas.take(session, account, MESSAGES)
        assert taken is not None
        used.append(taken.grant_id)
    assert used == [None, first.id, first.id, second.id, second.id, endless.id, endless.id]
    assert take(database, account) == 0


def test_expired_extra_gives_nothing(database: Database, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not shown as left either."""
    set_free(database, messages(0))
    end = utc_now() + timedelta(hours=1)
    with database.write() as session:
        plans.give_extra(session, account, MESSAGES, amount=2, expires_at=end, by=None)
    monkeypatch.setattr(quotas, "utc_now", lambda: end)
    assert (left(database, account), take(database, account)) == (0, 0)


def test_fifty_at_once_get_exactly_what_is_left(database: Database, account: Account) -> None:
    """Seven of the plan and three on top: ten of fifty get one, and the counter says so."""
    set_free(database, messages(7))
    with database.write() as session:
        plans.give_extra(session, account, MESSAGES, amount=3, by=None)
    with ThreadPoolExecutor(max_workers=16) as threads:
        assert sum(threads.map(lambda _: take(database, account), range(50))) == 10
    assert left(database, account) == 0


def test_taking_and_giving_back_at_once_loses_nothing(database: Database, account: Account) -> None:
    """Every second one is given back at the same time as others take, whatever the period; nobody waits for ever."""
    set_free(database, messages(None))

    def one(number: int) -> None:
        with database.write() as session:
            taken = quotas.take(session, account, MESSAGES)
        assert taken is not None
        if number % 2:
            with database.write() as session:
                quotas.give_back(session, account.id, MESSAGES, taken)

    with ThreadPoolExecutor(max_workers=16) as threads:
        list(threads.map(one, range(60)))
    set_free(database, messages(30))
    assert left(database, account) == 0


def test_what_is_given_back_can_be_used_again(database: Database, account: Account) -> None:
    """Of the plan as of what was given on top."""
    set_free(database, messages(1))
    with database.write() as session:
        plans.give_extra(session, account, MESSAGES, amount=1, by=None)
    for _ in range(2):
        with database.write() as session:
            both = [quotas.take(session, account, MESSAGES) for _ in range(2)]
            for taken in both:
                assert taken is not None
                quotas.give_back(session, account.id, MESSAGES, taken)
    assert left(database, account) == 2


def test_reset_begins_anew_and_what_was_taken_before_gives_nothing_back(database: Database, account: Account) -> None:
    """Or else somebody could have more than the limit after it."""
    set_free(database, messages(2))
    with database.write() as session:
        before = quotas.take(session, account, MESSAGES)
    assert before is not None
    with database.write() as session:
        quotas.reset(session, account, MESSAGES, by=None, reason="a bad day")
    assert take(database, account) == 1
    with database.write() as session:
        quotas.give_back(session, account.id, MESSAGES, before)
    assert left(database, account) == 1
    with database.read() as session:
        (entry,) = audit.search(session, AuditFilter(action="user.reset"), limit=5)
    assert entry.before is not None
    counters = entry.before[MESSAGES]
    assert isinstance(counters, dict)
    assert (counters["lifetime"], entry.reason) == (1, "a bad day")


@pytest.mark.parametrize("role", [Role.INSTRUCTOR, Role.ADMIN])
def test_plans_do_not_bind_those_who_teach(database: Database, new_account: Callable[..., Account], role: Role) -> None:
    """Whatever their plan says."""
    set_free(database, messages(0))
    assert left(database, new_account(role)) is None


@pytest.mark.parametrize(
    "facts",
    [
        {"amount": -1, "period": "day"},
        {"amount": True, "period": "day"},
        {"amount": 1.5, "period": "day"},
        {"amount": "40", "period": "day"},
        {"amount": plans.MOST + 1, "period": "day"},
        {"amount": 3, "period": "minute"},
        {"amount": 3},
        {"amount": None, "period": "day", "fair_use_per_day": 0},
    ],
)
def test_limit_that_cannot_be_is_refused(facts: dict[str, object]) -> None:
    """With a sentence that says what can."""
    with pytest.raises(LimitRefused, match=r"is (a whole number from|one of)"):
        plans.checked(MESSAGES, facts)


def test_checking_can_never_be_switched_off() -> None:
    """Limits of checks stop programs that have run wild, and nobody else."""
    with pytest.raises(LimitRefused):
        plans.checked(Rule.CHECKS, {"amount": 0, "period": "minute"})


def test_plan_that_does_not_exist_cannot_be_given(database: Database, account: Account) -> None:
    """Nor one that ends before it begins."""
    with database.write() as session, pytest.raises(NotFound):
        plans.give_plan(session, account, "gold", by=None)
    with database.write() as session, pytest.raises(LimitRefused):
        plans.give_plan(session, account, "pro", ends_at=utc_now(), by=None)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (messages(1), "1 tutor message, ever"),
        (messages(30, Period.MONTH), "30 tutor messages a month"),
        (messages(0), "no tutor messages"),
        (messages(None), "unlimited tutor messages"),
        (messages(None, fair_use=500), "unlimited tutor messages, up to 500 a day"),
        (Limit(Rule.CHECKS, 600, Period.MINUTE), "600 checks a minute"),
    ],
)
def test_limit_has_a_description(limit: Limit, words: str) -> None:
    """As people would say it."""
    assert limit.description == words
