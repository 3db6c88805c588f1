"""
How much one account may have stored in a day, and how often it may have code run: bounds for programs, not for people.

What is sent is counted when it is taken in, what comes of it (output, report) when that is recorded, and of a draft by
how much it grows; all in the counter of the day. So the last submission of a day may go over the amount by its own
report, which is bounded itself. As all such bounds, these hold for guests and students, and not for those who teach.
"""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import StorageSpent, TooManyChecks, TooManyRuns
from app.models import Account, Period, Role, Submission, SubmissionKind
from app.services.plans import quotas
from app.services.plans.plan_usage import PlanUsage, usage_of
from app.settings import Settings

STORED = "stored_bytes"
"""What the counters of the day are called."""
_MIB = 2**20
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Allowances:
    """What a site allows, whatever the plan."""

    runs_per_minute: int = 30
    student_mib_per_day: int = 100
    guest_mib_per_day: int = 10

    def mib_per_day(self, account: Account) -> int:
        """Return how much an account may have stored in a day, in MiB."""
        return self.guest_mib_per_day if account.role is Role.GUEST else self.student_mib_per_day


USUAL = Allowances()


def allowances_of(settings: Settings) -> Allowances:
    """Return what the settings allow."""
    return Allowances(
        runs_per_minute=settings.runs_per_minute,
        student_mib_per_day=settings.student_mib_per_day,
        guest_mib_per_day=settings.guest_mib_per_day,
    )


def count_in(session: Session, account: Account, *, kind: SubmissionKind, source: str, allowed: Allowances) -> None:
    """
    Count a submission before it is stored.

    Raises:
        TooManyChecks: the account sends more in a minute than its plan allows.
        TooManyRuns: it has more run in a minute than anybody reads.
        StorageSpent: it has had as much stored today as it may.
    """
    if not account.is_limited:
        return
    usage = usage_of(session, account, counted=[STORED], at=utc_now())
    _refuse_haste(usage)
    if kind is SubmissionKind.RUN:
        _refuse_runs(usage, most=allowed.runs_per_minute)
    today = usage.used.get((STORED, quotas.key_of(Period.DAY, usage.at)), 0)
    _store(session, account, len(source.encode()), stored_bytes=today, allowed=allowed)


def count_growth(session: Session, account: Account, *, size_bytes: int, allowed: Allowances) -> None:
    """
    Count what a draft that is saved adds to what is stored; one that gets shorter gives nothing back.

    Raises:
        StorageSpent: the account has had as much stored today as it may.
    """
    if account.is_limited and size_bytes > 0:
        today = quotas.used_in(session, account.id, STORED, quotas.key_of(Period.DAY, utc_now()))
        _store(session, account, size_bytes, stored_bytes=today, allowed=allowed)


def _store(session: Session, account: Account, size_bytes: int, *, stored_bytes: int, allowed: Allowances) -> None:
    """Count some bytes on top of those of today. Raises StorageSpent."""
    now, mib = utc_now(), allowed.mib_per_day(account)
    if stored_bytes + size_bytes > mib * _MIB:
        free_at = quotas.end_of(Period.DAY, now) or now
        raise StorageSpent(mib=mib, wait=_hours(free_at - now), free_at=free_at, retry_after_s=_seconds(free_at - now))
    quotas.add(session, account.id, STORED, quotas.key_of(Period.DAY, now), number=size_bytes)


def count_out(session: Session, submission_id: str, size_bytes: int) -> None:
    """Count what came of a submission."""
    limited = (Role.GUEST, Role.STUDENT)
    owner = select(Submission.account_id).join(Account, Account.id == Submission.account_id)
    account_id = session.scalar(owner.where(Submission.id == submission_id, Account.role.in_(limited)))
    if account_id is not None:
        quotas.add(session, account_id, STORED, quotas.key_of(Period.DAY, utc_now()), number=size_bytes)


def _refuse_haste(usage: PlanUsage) -> None:
    """Let no program that has run wild send more than the plan allows. Raises TooManyChecks."""
    quota = usage.checks
    if quota.left == 0:
        wait_s = _seconds(quota.resets_at - utc_now()) if quota.resets_at else 60
        fields = {"rule": quota.limit.rule.value, "limit": quota.limit.amount, "used": quota.used, "plan": quota.plan}
        raise TooManyChecks(**fields, resets_at=quota.resets_at, retry_after_s=wait_s)


def _refuse_runs(usage: PlanUsage, *, most: int) -> None:
    number, first = usage.sent.get(SubmissionKind.RUN, (0, usage.at))
    if number >= most:
        raise TooManyRuns(limit=most, retry_after_s=_seconds(first + _MINUTE - usage.at))


def _seconds(span: timedelta) -> int:
    return max(1, ceil(span.total_seconds()))


def _hours(span: timedelta) -> str:
    hours = ceil(span / timedelta(hours=1))
    return "within the hour" if hours <= 1 else f"in {hours} hours"
