"""
How much one account may have stored in a day, and how often it may have code run: bounds for programs, not for people.

What is sent is counted when it is taken in, what comes of it (output, report) when that is recorded, and of a draft by
how much it grows; all in the counter of the day. So the last submission of a day may go over the amount by its own
report, which is bounded itself. As all such bounds, these hold for guests and students, and not for those who teach.
"""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import StorageSpent, TooManyChecks, TooManyRuns
from app.models import Account, Period, Role, Submission, SubmissionKind
from app.services.plans import quotas
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
    _refuse_haste(session, account)
    if kind is SubmissionKind.RUN:
        _refuse_runs(session, account, most=allowed.runs_per_minute)
    _store(session, account, len(source.encode()), allowed=allowed)


def count_growth(session: Session, account: Account, *, size_bytes: int, allowed: Allowances) -> None:
    """
    Count what a draft that is saved adds to what is stored; one that gets shorter gives nothing back.

    Raises:
        StorageSpent: the account has had as much stored today as it may.
    """
    if account.is_limited and size_bytes > 0:
        _store(session, account, size_bytes, allowed=allowed)


def _store(session: Session, account: Account, size_bytes: int, *, allowed: Allowances) -> None:
    now, mib = utc_now(), allowed.mib_per_day(account)
    day = quotas.key_of(Period.DAY, now)
    if quotas.used_in(session, account.id, STORED, day) + size_bytes > mib * _MIB:
        free_at = quotas.end_of(Period.DAY, now) or now
        raise StorageSpent(mib=mib, wait=_hours(free_at - now), free_at=free_at, retry_after_s=_seconds(free_at - now))
    quotas.add(session, account.id, STORED, day, number=size_bytes)


def count_out(session: Session, submission_id: str, size_bytes: int) -> None:
    """Count what came of a submission."""
    limited = (Role.GUEST, Role.STUDENT)
    owner = select(Submission.account_id).join(Account, Account.id == Submission.account_id)
    account_id = session.scalar(owner.where(Submission.id == submission_id, Account.role.in_(limited)))
    if account_id is not None:
        quotas.add(session, account_id, STORED, quotas.key_of(Period.DAY, utc_now()), number=size_bytes)


def _refuse_haste(session: Session, account: Account) -> None:
    """Let no program that has run wild send more than the plan allows. Raises TooManyChecks."""
    quota = quotas.checks_left(session, account)
    if quota.left == 0:
        wait_s = _seconds(quota.resets_at - utc_now()) if quota.resets_at else 60
        fields = {"rule": quota.limit.rule.value, "limit": quota.limit.amount, "used": quota.used, "plan": quota.plan}
        raise TooManyChecks(**fields, resets_at=quota.resets_at, retry_after_s=wait_s)


def _refuse_runs(session: Session, account: Account, *, most: int) -> None:
    now = utc_now()
    sent = select(func.count(), func.min(Submission.created_at)).where(
        Submission.account_id == account.id,
        Submission.kind == SubmissionKind.RUN,
        Submission.created_at > now - _MINUTE,
    )
    number, first = session.execute(sent).one()
    if number >= most:
        raise TooManyRuns(limit=most, retry_after_s=_seconds(first + _MINUTE - now))


def _seconds(span: timedelta) -> int:
    return max(1, ceil(span.total_seconds()))


def _hours(span: timedelta) -> str:
    hours = ceil(span / timedelta(hours=1))
    return "within the hour" if hours <= 1 else f"in {hours} hours"
