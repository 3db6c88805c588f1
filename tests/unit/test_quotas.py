"""Periods have names and ends, and what is used is measured against a limit."""

from datetime import UTC, datetime, timedelta

import pytest

from app.clock import utc_now
from app.models import Period, Rule
from app.services.plans import quotas
from app.services.plans.plans import Limit

MESSAGES = Rule.TUTOR_MESSAGES


def at(text: str) -> datetime:
    """Return a moment."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("period", "moment", "end"),
    [
        (Period.DAY, "2026-03-01T00:00:00", "2026-03-02T00:00:00"),
        (Period.DAY, "2026-12-31T23:59:59", "2027-01-01T00:00:00"),
        (Period.MONTH, "2026-01-31T12:00:00", "2026-02-01T00:00:00"),
        (Period.MONTH, "2026-02-01T00:00:00", "2026-03-01T00:00:00"),
        (Period.MONTH, "2028-12-01T00:00:00", "2029-01-01T00:00:00"),
    ],
)
def test_period_ends_where_the_next_begins(period: Period, moment: str, end: str) -> None:
    """At midnight UTC, whatever the hour and however long the month."""
    assert quotas.end_of(period, at(moment)) == at(end)
    last = at(end) - timedelta(microseconds=1)
    assert quotas.key_of(period, last) == quotas.key_of(period, at(moment)) != quotas.key_of(period, at(end))


def test_lifetime_has_no_end() -> None:
    """And one name, whenever one looks."""
    assert quotas.end_of(Period.LIFETIME, at("2026-03-01")) is None
    assert quotas.key_of(Period.LIFETIME, at("2026-03-01")) == quotas.key_of(Period.LIFETIME, at("2027-03-01"))


def measured(limit: Limit, used: int, today: int = 0, extra: int = 0) -> quotas.Quota:
    """Return a quota of which so much is used in its period and today."""
    now = utc_now()
    counters = {quotas.key_of(Period.DAY, now): today, quotas.key_of(limit.period, now): used}
    return quotas.measured(limit, {key: count for key, count in counters.items() if count}, extra=extra, plan="Free")


def test_what_nobody_has_counted_is_nothing() -> None:
    """A new account has all of it left."""
    quota = measured(Limit(MESSAGES, 3, Period.LIFETIME), 0)
    assert (quota.used, quota.left, quota.extra) == (0, 3, 0)


def test_what_is_left_is_never_less_than_nothing() -> None:
    """A limit that was lowered below what is used leaves what was given on top."""
    assert measured(Limit(MESSAGES, 3, Period.LIFETIME), 5).left == 0
    assert measured(Limit(MESSAGES, 3, Period.LIFETIME), 5, extra=2).left == 2


@pytest.mark.parametrize(("today", "is_bound"), [(0, False), (1, False), (2, True), (3, True)])
def test_fair_use_binds_from_its_last_use_on(today: int, is_bound: bool) -> None:  # noqa: FBT001
    """Below it is unlimited; at it, the day's ceiling is the limit and the day's end is when there is more."""
    quota = measured(Limit(MESSAGES, None, Period.MONTH, 2), 9, today)
    assert (quota.limit.amount, quota.limit.period, quota.used) == (
        (2, Period.DAY, today) if is_bound else (None, Period.MONTH, 9)
    )
    assert quota.resets_at == (quotas.end_of(Period.DAY, utc_now()) if is_bound else None)


def test_fair_use_of_one_binds_nobody_who_has_used_nothing() -> None:
    """Nothing counted is nothing used."""
    assert measured(Limit(MESSAGES, None, Period.MONTH, 1), 0).left is None


def test_quota_says_nothing_of_extras_unless_told() -> None:
    """There are none by themselves."""
    assert quotas.Quota(Limit(MESSAGES, 3, Period.LIFETIME), 1, None).left == 2
