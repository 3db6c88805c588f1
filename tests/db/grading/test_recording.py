"""What a worker found out is recorded once, and counts at most once."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from app.db import Database
from app.errors import LeaseLost
from app.models import Account, GradingResult, Job, JobKind, Submission
from app.services.grading import recording
from app.services.grading.queue import GradingQueue, Lease
from app.services.grading.recording import GradingRequest
from app.services.submissions.submissions import SubmissionState, history, state_of
from graders.report import Report, Verdict

Send = Callable[..., Submission]
Claim = Callable[[], tuple[Lease, GradingRequest]]
WORKER = "another-machine/0/0:1:1"


@pytest.fixture
def claimed(database: Database, queue: GradingQueue) -> Claim:
    """Return a function that claims the next job and begins it."""

    def claim_one() -> tuple[Lease, GradingRequest]:
        with database.write() as session:
            queue.rescue(session)  # as workers do every few seconds
        with database.write() as session:
            lease = queue.claim(session, owner=WORKER)
        assert lease is not None
        with database.read() as session:
            return lease, recording.grading_request(session, lease)

    return claim_one


@pytest.fixture
def record(database: Database, queue: GradingQueue) -> Callable[[Lease, GradingRequest, Report], None]:
    """Return a function that records a report in a transaction of its own."""

    def record_one(lease: Lease, request: GradingRequest, report: Report) -> None:
        with database.write() as session:
            recording.record(session, lease, request, report, queue=queue, worker=WORKER)

    return record_one


Record = Callable[[Lease, GradingRequest, Report], None]


def runs(database: Database) -> list[GradingResult]:
    """Return all recorded runs, in order."""
    with database.read() as session:
        return list(session.scalars(select(GradingResult).order_by(GradingResult.number)))


def verdict(state: SubmissionState) -> str:
    """Return the verdict of a submission that is graded."""
    assert state.report is not None
    return state.report.verdict


def test_order_holds_all_that_grading_needs(send: Send, claimed: Claim) -> None:
    """A worker needs no database between the claim and the record."""
    submission = send("table = 7")
    _, request = claimed()
    assert (request.submission_id, request.source, request.kind) == (submission.id, "table = 7", "check")
    assert request.task.exercise == "make-a-table"


def test_each_try_draws_another_seed(send: Send, claimed: Claim, pass_by: Callable[[float], None]) -> None:
    """Nobody can learn the fresh data of the next attempt from the last."""
    send()
    _, first = claimed()
    pass_by(31)
    _, second = claimed()
    assert first.seed != second.seed


def test_recorded_result_is_shown_and_counts(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claimed: Claim,
    record: Record,
    report: Report,
    account: Account,
) -> None:
    """After grading, the state is the report with the submission's own facts."""
    submission = send()
    lease, request = claimed()
    record(lease, request, report)
    with database.read() as session:
        state = state_of(session, account=account, submission_id=submission.id, queue=queue)
        line = history(session, account=account, exercise_id="make-a-table", limit=1)[0]
        assert session.get(Job, submission.id) is None
    assert (state.state, verdict(state), state.id) == ("graded", "passed", submission.id)
    assert state.report is not None
    assert state.report.timing_ms.run == 10.0
    assert (line.state, line.verdict) == ("graded", "passed")
    (run,) = runs(database)
    assert (run.counts, run.number, run.seed, run.worker) == (True, 1, request.seed, WORKER)


def test_recording_twice_under_one_claim_stores_one_run(
    database: Database, send: Send, claimed: Claim, record: Record, report: Report
) -> None:
    """A worker that did not hear whether its commit succeeded may try again."""
    send()
    lease, request = claimed()
    record(lease, request, report)
    record(lease, request, report)
    assert len(runs(database)) == 1


def test_late_worker_cannot_record(
    database: Database, send: Send, claimed: Claim, record: Record, report: Report, pass_by: Callable[[float], None]
) -> None:
    """A result under a claim that has passed on is dropped; the successor's is stored, once."""
    send()
    late = claimed()
    pass_by(31)
    successor = claimed()
    with pytest.raises(LeaseLost):
        record(*late, report)
    record(*successor, report)
    with pytest.raises(LeaseLost):
        record(*late, replace(report, verdict=Verdict.FAILED))
    assert [run.verdict for run in runs(database)] == ["passed"]


def test_only_one_result_counts(
    database: Database, queue: GradingQueue, send: Send, claimed: Claim, record: Record, report: Report
) -> None:
    """A regrade is kept beside the first run, and does not take its place by itself."""
    submission = send()
    record(*claimed(), report)
    with database.write() as session:
        queue.enqueue(session, submission, kind=JobKind.REGRADE)
    record(*claimed(), replace(report, verdict=Verdict.FAILED))
    assert [(run.number, run.verdict, run.counts) for run in runs(database)] == [
        (1, "passed", True),
        (2, "failed", False),
    ]
    with pytest.raises(IntegrityError), database.write() as session:
        session.execute(update(GradingResult).values(counts=True))


def test_graded_submission_stays_graded_during_a_regrade(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claimed: Claim,
    record: Record,
    report: Report,
    account: Account,
) -> None:
    """The student goes on seeing the verdict that counts."""
    submission = send()
    record(*claimed(), report)
    with database.write() as session:
        queue.enqueue(session, submission, kind=JobKind.REGRADE)
        state = state_of(session, account=account, submission_id=submission.id, queue=queue)
    assert verdict(state) == "passed"


def test_run_that_only_shows_output_does_not_count(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claimed: Claim,
    record: Record,
    report: Report,
    account: Account,
) -> None:
    """It is shown all the same."""
    submission = send(kind="run")
    record(*claimed(), report)
    (run,) = runs(database)
    assert not run.counts
    with database.read() as session:
        state = state_of(session, account=account, submission_id=submission.id, queue=queue)
    assert (state.state, state.kind) == ("graded", "run")


def test_given_up_job_is_our_fault_and_does_not_count(
    database: Database, queue: GradingQueue, send: Send, claimed: Claim, account: Account
) -> None:
    """The student is told that it was the grader, and the job is over."""
    submission = send()
    lease, _ = claimed()
    with database.write() as session:
        recording.give_up(session, lease, queue=queue, worker=WORKER)
    (run,) = runs(database)
    assert (run.verdict, run.counts) == ("grader_fault", False)
    with database.read() as session:
        state = state_of(session, account=account, submission_id=submission.id, queue=queue)
        assert session.get(Job, submission.id) is None
    assert (state.state, verdict(state)) == ("graded", "grader_fault")


def test_regrade_after_a_fault_counts(
    database: Database, queue: GradingQueue, send: Send, claimed: Claim, record: Record, report: Report
) -> None:
    """Where nothing counts yet, the first fair run does."""
    submission = send()
    lease, _ = claimed()
    with database.write() as session:
        recording.give_up(session, lease, queue=queue, worker=WORKER)
        queue.enqueue(session, submission, kind=JobKind.REGRADE)
    record(*claimed(), report)
    assert [run.counts for run in runs(database)] == [False, True]


@pytest.mark.parametrize("column", ["verdict", "seed", "submission_id"])
def test_recorded_result_cannot_change(
    database: Database, send: Send, claimed: Claim, record: Record, report: Report, column: str
) -> None:
    """Of a recorded run, only whether it counts may change."""
    send()
    record(*claimed(), report)
    with pytest.raises(DBAPIError, match="immutable"), database.write() as session:
        session.execute(update(GradingResult).values({column: "other"}))
    with database.write() as session:
        session.execute(update(GradingResult).values(counts=False))
    assert not runs(database)[0].counts


def test_job_goes_only_together_with_its_record(
    database: Database, queue: GradingQueue, send: Send, claimed: Claim, report: Report
) -> None:
    """If the transaction that records fails, the job is still there."""
    submission = send()
    lease, request = claimed()
    with database.write() as session:
        recording.record(session, lease, request, report, queue=queue, worker=WORKER)
        session.rollback()
    with database.read() as session:
        assert session.get(Job, submission.id) is not None
    assert runs(database) == []


def test_report_comes_back_as_it_went_in(
    database: Database, send: Send, claimed: Claim, record: Record, report: Report
) -> None:
    """Whatever characters a student printed, both databases keep them."""
    send()
    strange = "tab\t, \x00, \ud800, 日本語, \U0001f600, </script>"
    record(*claimed(), replace(report, output=strange))
    (run,) = runs(database)
    assert run.report["output"] == strange


def test_job_needs_its_submission(database: Database, send: Send) -> None:
    """Foreign keys hold on SQLite too: a submission with a job cannot vanish."""
    send()
    with pytest.raises(IntegrityError), database.write() as session:
        session.execute(delete(Submission))
