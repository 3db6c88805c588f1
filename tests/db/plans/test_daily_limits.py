"""How much an account may have stored in a day and run in a minute."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from app.clock import utc_now
from app.db import Database
from app.errors import StorageSpent, TooManyRuns
from app.models import Account, Period, Role, Submission, SubmissionKind
from app.services.grading import recording
from app.services.grading.queue import GradingQueue, Lease
from app.services.plans import daily_limits, quotas
from app.services.plans.daily_limits import STORED, Allowances
from app.services.submissions.submissions import SubmissionOrigin
from graders.report import Report

Send = Callable[..., Submission]
MIB = 2**20
LITTLE = SubmissionOrigin(allowed=Allowances(runs_per_minute=3, student_mib_per_day=2, guest_mib_per_day=1))


def stored(database: Database, account: Account) -> int:
    """Return what was counted for an account today."""
    with database.read() as session:
        return quotas.used_in(session, account.id, STORED, quotas.key_of(Period.DAY, utc_now()))


def test_source_and_report_are_counted(
    database: Database, queue: GradingQueue, send: Send, account: Account, claimed: Callable[..., Lease], report: Report
) -> None:
    """In bytes, when they are stored."""
    send("é = 1")
    assert stored(database, account) == 6
    lease = claimed()
    with database.write() as session:
        order = recording.grading_request(session, lease)
        recording.record(session, lease, order, report, queue=queue, worker="w")
    told = len(json.dumps(report.to_json()))
    assert told <= stored(database, account) - 6 < told + 100


@pytest.mark.parametrize(("role", "mib"), [(Role.STUDENT, 2), (Role.GUEST, 1)])
def test_storage_of_a_day_is_bounded(
    database: Database, send: Send, new_account: Callable[..., Account], role: Role, mib: int
) -> None:
    """Over it, the answer names when there is room again, nothing is stored, and the next day begins anew."""
    account = new_account(role)
    with database.write() as session:
        today = quotas.key_of(Period.DAY, utc_now())
        quotas.add(session, account.id, STORED, today, number=mib * MIB - 10)
    send("x" * 10, account=account, origin=LITTLE)
    with pytest.raises(StorageSpent) as refusal:
        send("x", account=account, origin=LITTLE)
    assert refusal.value.status == 429
    assert "midnight UTC" in refusal.value.detail
    wait_s = refusal.value.fields["retry_after_s"]
    assert isinstance(wait_s, int)
    assert 0 < wait_s <= 24 * 3600
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 1
    later = utc_now() + timedelta(days=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(daily_limits, "utc_now", lambda: later)
        send("x", account=account, origin=LITTLE)


def test_runs_of_a_minute_are_bounded(send: Send) -> None:
    """The fourth is told when it may come; checks go on."""
    for number in range(3):
        send(f"run = {number}", kind=SubmissionKind.RUN, origin=LITTLE)
    with pytest.raises(TooManyRuns) as refusal:
        send("run = 4", kind=SubmissionKind.RUN, origin=LITTLE)
    assert refusal.value.status == 429
    wait_s = refusal.value.fields["retry_after_s"]
    assert isinstance(wait_s, int)
    assert 0 < wait_s <= 60
    send("check = 1", origin=LITTLE)


def test_those_who_teach_are_not_bounded(send: Send, new_account: Callable[..., Account]) -> None:
    """Neither in what they store nor in what they run."""
    teacher = new_account(Role.INSTRUCTOR)
    for number in range(5):
        send(f"run = {number}", kind=SubmissionKind.RUN, account=teacher, origin=LITTLE)
