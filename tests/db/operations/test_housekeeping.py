"""What is removed by itself after a time, and what is not."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from app.clock import utc_now
from app.db import Database
from app.db.base import Base
from app.models import (
    Account,
    Draft,
    ExerciseVersion,
    GradingResult,
    HintOpening,
    Job,
    Role,
    Submission,
    SubmissionKind,
)
from app.services import housekeeping, metrics
from app.services.accounts.access import create_guest
from app.services.grading import recording
from app.services.grading.queue import GradingQueue, Lease
from app.services.personal_data import tables
from graders.report import Report

Send = Callable[..., Submission]
DAY = timedelta(days=1)


@pytest.fixture
def tidy(database: Database) -> Callable[..., bool]:
    """Return a function that tidies up as if so many days had passed."""

    def after(days: float) -> bool:
        with database.write() as session:
            return housekeeping.tidy(session, run_retention_days=7, now=utc_now() + days * DAY)

    return after


@pytest.fixture
def graded(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease], report: Report
) -> Callable[..., str]:
    """Return a function that sends something and has it graded."""

    def one(**wishes: Any) -> str:  # noqa: ANN401  whatever `send` takes
        sent = send(**wishes)
        lease = claimed()
        with database.write() as session:
            order = recording.grading_request(session, lease)
            recording.record(session, lease, order, report, queue=queue, worker="w")
        return sent.id

    return one


def number(database: Database, model: type[Base]) -> int:
    """Count the rows of a table."""
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_runs_are_removed_after_their_time(
    database: Database, graded: Callable[..., str], tidy: Callable[..., bool], queue: GradingQueue
) -> None:
    """With what they have printed; checks stay, and what is counted does not fall."""
    old = [graded(source=f"run = {n}", kind=SubmissionKind.RUN) for n in range(3)]
    check = graded(source="check = 1")
    with database.read() as session:
        before = metrics.snapshot(session, queue).verdicts
    tidy(6.9)
    assert number(database, Submission) == 4
    tidy(7.1)
    with database.read() as session:
        assert set(session.scalars(select(Submission.id))) == {check}
        assert set(session.scalars(select(GradingResult.submission_id))) == {check}
        assert metrics.snapshot(session, queue).verdicts == before
    assert old


def test_what_stands_in_the_editor_stays(
    database: Database, graded: Callable[..., str], tidy: Callable[..., bool]
) -> None:
    """The newest submission to an exercise is not removed although it is a run."""
    graded(source="old = 1", kind=SubmissionKind.RUN)
    newest = graded(source="newest = 1", kind=SubmissionKind.RUN)
    tidy(30)
    with database.read() as session:
        assert session.scalars(select(Submission.id)).all() == [newest]


def test_run_that_waits_is_not_removed(database: Database, send: Send, tidy: Callable[..., bool]) -> None:
    """However long it has waited, nothing is lost that was taken in."""
    send("run = 1", kind=SubmissionKind.RUN)
    send("run = 2", kind=SubmissionKind.RUN)
    tidy(30)
    assert (number(database, Submission), number(database, Job)) == (2, 2)


def test_little_is_removed_at_once(
    database: Database, graded: Callable[..., str], tidy: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody waits behind a great deletion; each call says whether there may be more."""
    monkeypatch.setattr(housekeeping, "RUNS_AT_ONCE", 2)
    for n in range(4):
        graded(source=f"run = {n}", kind=SubmissionKind.RUN)
    left = []
    while tidy(8):
        left.append(number(database, Submission))
    assert left == [2]
    assert number(database, Submission) == 1


def test_guest_without_work_is_deleted_after_a_day(database: Database, tidy: Callable[..., bool]) -> None:
    """With the browser's session; an account with an address stays."""
    with database.write() as session:
        create_guest(session)
        session.add(Account(email="ada@example.org", role=Role.STUDENT))
    tidy(0.9)
    assert number(database, Account) == 2
    tidy(1.1)
    with database.read() as session:
        assert session.scalars(select(Account.email)).all() == ["ada@example.org"]
        for name in tables() - {"account"}:
            assert session.scalar(select(func.count()).select_from(Base.metadata.tables[name])) == 0, name


def test_draft_of_a_guest_counts_as_work(
    database: Database, tidy: Callable[..., bool], version: ExerciseVersion
) -> None:
    """Whoever has typed something finds it again; what nobody has touched for ninety days goes with its guest."""
    with database.write() as session:
        guests = [create_guest(session)[0] for _ in range(2)]
        for one, typed_after in zip(guests, (0, 20), strict=True):
            one.created_at = utc_now() - 80 * DAY
            facts = {"exercise_id": version.exercise_id, "name": "tab", "text": "a = 1", "version": 1}
            session.add(Draft(account_id=one.id, updated_at=utc_now() + typed_after * DAY, **facts))
    tidy(89)
    assert number(database, Draft) == 2
    tidy(91)
    with database.read() as session:
        assert session.scalars(select(Draft.account_id)).all() == [guests[1].id]
        assert session.scalars(select(Account.id)).all() == [guests[1].id]


def test_guest_with_work_is_deleted_when_idle_for_ninety_days(
    database: Database, graded: Callable[..., str], tidy: Callable[..., bool], version: ExerciseVersion
) -> None:
    """All that hangs on the guest goes too; one who has done something since stays."""
    with database.write() as session:
        idle, _ = create_guest(session)
        busy, _ = create_guest(session)
        for one in (idle, busy):
            one.created_at = utc_now() - 80 * DAY
        opening = {"exercise_version_id": version.id, "number": 1, "attempts_before": 0, "offered": False}
        session.add(HintOpening(account_id=busy.id, opened_at=utc_now() + 20 * DAY, **opening))
        session.add(HintOpening(account_id=idle.id, **opening))
    graded(source="mine = 1", account=idle)
    tidy(89)
    assert number(database, Account) == 3  # the student of the tests is the third
    tidy(91)
    with database.read() as session:
        kept = set(session.scalars(select(Account.id).where(Account.role == Role.GUEST)))
        assert kept == {busy.id}
        assert session.scalars(select(HintOpening.account_id)).all() == [busy.id]
    assert (number(database, Submission), number(database, GradingResult)) == (0, 0)
