"""From a claimed job to a recorded result."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session, defer, selectinload

from app.clock import utc_now
from app.db import new_id
from app.models import ExerciseVersion, GradingResult, Job, Submission, SubmissionKind
from app.services.grading.queue import GradingQueue, Lease
from app.services.plans.daily_limits import count_out
from graders.question import QuestionTask, assignment
from graders.report import Report, Timing, Verdict
from graders.reporting.vocabulary import GIVEN_UP
from graders.task import Task
from graders.trials import new_seed

FAULTS_BEFORE_NO_RETRY = 3
FAULTS_WITHIN = timedelta(minutes=10)


@dataclass(frozen=True)
class GradingRequest:
    """All that a worker needs to grade one submission, with no database at hand."""

    submission_id: str
    account_id: str
    result_id: str
    """The id of the result that will be recorded, in the database and in the logs."""
    request_id: str | None
    """The HTTP request by which it was sent."""
    kind: SubmissionKind
    task: Task | QuestionTask
    source: str
    seed: str
    """What the fresh trials are drawn from."""
    queued_ms: float
    """From being stored to being claimed."""
    started_at: datetime


def grading_request(session: Session, lease: Lease) -> GradingRequest:
    """Collect what grading needs, and draw a seed."""
    submission = _submission(session, lease)
    started_at = utc_now()
    enqueued_at = session.scalar(select(Job.enqueued_at).where(Job.submission_id == submission.id))
    waited = started_at - (enqueued_at or started_at)
    return GradingRequest(
        submission_id=submission.id,
        account_id=submission.account_id,
        result_id=new_id(),
        request_id=submission.request_id,
        kind=submission.kind,
        task=assignment(submission.exercise_version.task),
        source=submission.source,
        seed=new_seed(),
        queued_ms=max(0.0, waited.total_seconds() * 1000),
        started_at=started_at,
    )


def record(
    session: Session,
    lease: Lease,
    request: GradingRequest,
    report: Report,
    *,
    queue: GradingQueue,
    worker: str,
) -> None:
    """
    Store a report, and take the job off the queue, in the caller's one transaction.

    Doing so twice under the same claim, because a commit may have succeeded unheard, is harmless.

    Raises:
        LeaseLost: the job has passed to another worker; nothing is stored.
    """
    if _is_recorded(session, lease):
        return
    queue.finish(session, lease)
    stored = report.queued_for(request.queued_ms).to_json()
    count_out(session, request.submission_id, len(json.dumps(stored)))
    fair = request.kind is SubmissionKind.CHECK and report.verdict is not Verdict.GRADER_FAULT
    counting = select(GradingResult.id).where(
        GradingResult.submission_id == request.submission_id, GradingResult.counts
    )
    has_counting_result = session.scalar(counting) is not None
    _append(
        session,
        GradingResult(
            id=request.result_id,
            submission_id=request.submission_id,
            lease_token=lease.token,
            seed=request.seed,
            verdict=report.verdict.value,
            report=stored,
            # A later result of something that counts already is a regrade: which of them counts is
            # then for a person to decide.
            counts=fair and not has_counting_result,
            worker=worker,
            started_at=request.started_at,
        ),
    )


def has_recent_faults(session: Session, account_id: str) -> bool:
    """
    Say whether so many of an account's submissions have lately failed by our fault that the next are not tried again.

    A second try takes time from everybody who waits, so no account is to bring about many.
    """
    recent = (
        select(func.count())
        .select_from(GradingResult)
        .join(Submission, Submission.id == GradingResult.submission_id)
        .where(
            Submission.account_id == account_id,
            GradingResult.verdict == Verdict.GRADER_FAULT.value,
            GradingResult.finished_at > utc_now() - FAULTS_WITHIN,
        )
    )
    return (session.scalar(recent) or 0) >= FAULTS_BEFORE_NO_RETRY


def give_up(session: Session, lease: Lease, *, queue: GradingQueue, worker: str) -> None:
    """
    Record that grading failed for good and that this is our fault: the result does not count.

    It needs no grading request, because making one may be what fails.

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
        GradingResult(
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
    return session.scalar(select(GradingResult.id).where(GradingResult.lease_token == lease.token)) is not None


def _append(session: Session, result: GradingResult) -> None:
    earlier = select(func.max(GradingResult.number)).where(GradingResult.submission_id == result.submission_id)
    result.number = (session.scalar(earlier) or 0) + 1
    session.add(result)
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
        note=GIVEN_UP,
    )
