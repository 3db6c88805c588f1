"""From a claimed job to a recorded run."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session, defer, selectinload

from app.clock import utc_now
from app.db import new_id
from app.models import ExerciseVersion, GradingRun, Job, Submission, SubmissionKind
from app.services.grading.queue import GradingQueue, Lease
from app.services.plans.daily_limits import count_out
from graders.question import QuestionTask, assignment
from graders.report import Report, Timing, Verdict
from graders.task import Task
from graders.trials import new_seed

_GAVE_UP = (
    "Our grader failed on this submission. This is not the fault of your code, and it does not count. "
    "Please send it again."
)
FAULTS_BEFORE_NO_RETRY = 3
FAULTS_WITHIN = timedelta(minutes=10)


@dataclass(frozen=True)
class GradingOrder:
    """All that a worker needs to grade one submission, with no database at hand."""

    submission_id: str
    account_id: str
    run_id: str
    """What the run will be called, in the database and in the logs."""
    request_id: str | None
    """The request by which it came."""
    kind: SubmissionKind
    task: Task | QuestionTask
    source: str
    seed: str
    """What the fresh trials are drawn from."""
    attempt: int
    queued_ms: float
    """From being stored to being claimed."""
    started_at: datetime


def begin(session: Session, lease: Lease) -> GradingOrder:
    """Collect what grading needs, and draw a seed."""
    submission = _submission(session, lease)
    started_at = utc_now()
    enqueued_at = session.scalar(select(Job.enqueued_at).where(Job.submission_id == submission.id))
    waited = started_at - (enqueued_at or started_at)
    return GradingOrder(
        submission_id=submission.id,
        account_id=submission.account_id,
        run_id=new_id(),
        request_id=submission.request_id,
        kind=submission.kind,
        task=assignment(submission.exercise_version.task),
        source=submission.source,
        seed=new_seed(),
        attempt=lease.attempt,
        queued_ms=max(0.0, waited.total_seconds() * 1000),
        started_at=started_at,
    )


def record(
    session: Session,
    lease: Lease,
    order: GradingOrder,
    report: Report,
    *,
    queue: GradingQueue,
    worker: str,
) -> None:
    """
    Store what came of a run, and take the job off the queue, in the caller's one transaction.

    Doing so twice under the same claim, because a commit may have succeeded unheard, is harmless.

    Raises:
        LeaseLost: the job has passed to another worker; nothing is stored.
    """
    if _is_recorded(session, lease):
        return
    queue.finish(session, lease)
    told = report.queued_for(order.queued_ms).to_json()
    count_out(session, order.submission_id, len(json.dumps(told)))
    fair = order.kind is SubmissionKind.CHECK and report.verdict is not Verdict.GRADER_FAULT
    _append(
        session,
        GradingRun(
            id=order.run_id,
            submission_id=order.submission_id,
            lease_token=lease.token,
            seed=order.seed,
            verdict=report.verdict.value,
            report=told,
            # A later run of something that counts already is a regrade: which of them counts is
            # then for a person to decide.
            counts=fair and not _has_counting_run(session, order.submission_id),
            worker=worker,
            started_at=order.started_at,
        ),
    )


def has_had_its_faults(session: Session, account_id: str) -> bool:
    """
    Say whether so many of an account's submissions have lately failed by our fault that the next are not tried again.

    A second try takes time from everybody who waits, so no account is to bring about many.
    """
    recent = (
        select(func.count())
        .select_from(GradingRun)
        .join(Submission, Submission.id == GradingRun.submission_id)
        .where(
            Submission.account_id == account_id,
            GradingRun.verdict == Verdict.GRADER_FAULT.value,
            GradingRun.finished_at > utc_now() - FAULTS_WITHIN,
        )
    )
    return (session.scalar(recent) or 0) >= FAULTS_BEFORE_NO_RETRY


def give_up(session: Session, lease: Lease, *, queue: GradingQueue, worker: str) -> None:
    """
    Record that grading failed for good and that this is our fault: the run does not count.

    It needs no order, because making one may be what fails.

    Raises:
        LeaseLost: the job has passed to another worker; nothing is stored.
    """
    if _is_recorded(session, lease):
        return
    queue.finish(session, lease)
    submission = _submission(session, lease)
    version = submission.exercise_version
    _append(
        session,
        GradingRun(
            submission_id=submission.id,
            lease_token=lease.token,
            seed="",
            verdict=Verdict.GRADER_FAULT.value,
            report=_fault_report(version.exercise_id, version.number).to_json(),
            counts=False,
            worker=worker,
            started_at=utc_now(),
        ),
    )


def _submission(session: Session, lease: Lease) -> Submission:
    return session.scalars(
        select(Submission)
        .where(Submission.id == lease.submission_id)
        .options(selectinload(Submission.exercise_version).options(defer(ExerciseVersion.content, raiseload=True)))
    ).one()


def _is_recorded(session: Session, lease: Lease) -> bool:
    return session.scalar(select(GradingRun.id).where(GradingRun.lease_token == lease.token)) is not None


def _has_counting_run(session: Session, submission_id: str) -> bool:
    counting = select(GradingRun.id).where(GradingRun.submission_id == submission_id, GradingRun.counts)
    return session.scalar(counting) is not None


def _append(session: Session, run: GradingRun) -> None:
    earlier = select(func.max(GradingRun.attempt)).where(GradingRun.submission_id == run.submission_id)
    run.attempt = (session.scalar(earlier) or 0) + 1
    session.add(run)
    session.flush()


def _fault_report(exercise_id: str, version: int) -> Report:
    return Report(
        exercise=exercise_id,
        version=version,
        verdict=Verdict.GRADER_FAULT,
        checks=(),
        misconception=None,
        error=None,
        report="",
        output="",
        output_truncated=False,
        tensors=(),
        timing_ms=Timing(),
        seed="",
        note=_GAVE_UP,
    )
