"""Taking in what students send, and telling what became of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Select, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased, defer

from app.errors import IdempotencyClash, KeyRefused, NotFound, NothingToRun
from app.models import (
    Account,
    Exercise,
    ExerciseKind,
    ExerciseVersion,
    GradingResult,
    Job,
    JobState,
    Role,
    Submission,
    SubmissionKind,
)
from app.services.exercises import catalogue
from app.services.exercises.catalogue import Current
from app.services.grading.queue import GradingQueue
from app.services.plans.daily_limits import USUAL, Allowances, count_in
from app.services.submissions.drafts import drop_sent
from app.services.submissions.source_checks import checked_source
from graders.report import Report, Verdict

KEY_LIMIT = 255  # characters


@dataclass(frozen=True)
class SubmissionOrigin:
    """Where a submission comes from, and what the site allows."""

    network: str | None = None
    """A keyed hash of the sender's network; None where that is not known."""
    allowed: Allowances = USUAL


UNKNOWN = SubmissionOrigin()


class SubmissionPhase(StrEnum):
    """How far a submission has come."""

    QUEUED = "queued"
    RUNNING = "running"
    GRADED = "graded"


@dataclass(frozen=True)
class SubmissionState:
    """Where a submission stands at a moment."""

    id: str
    exercise: str
    version: int
    """Of the exercise."""
    kind: SubmissionKind
    created_at: datetime
    state: SubmissionPhase
    queue_position: int | None = None
    """1 is next; only while it is queued."""
    report: Report | None = None
    """Only once it is graded."""


@dataclass(frozen=True)
class PastAttempt:
    """An earlier check of an exercise, as a line of a list."""

    id: str
    created_at: datetime
    state: SubmissionPhase
    verdict: Verdict | None
    """None while it is not graded."""


@dataclass(frozen=True)
class Sent:
    """What became of something that was sent."""

    submission: Submission
    version: Current
    """Which version of the exercise is to be done now."""
    is_new: bool
    """False if it was stored before, under the same key."""


@dataclass(frozen=True)
class SubmissionRequest:
    """A submission as it is asked for."""

    account_id: str
    exercise_id: str
    kind: SubmissionKind
    source: str
    key: str | None


def submit(
    session: Session,
    *,
    account: Account,
    exercise_id: str,
    source: str,
    queue: GradingQueue,
    kind: str = SubmissionKind.CHECK,
    idempotency_key: str | None = None,
    origin: SubmissionOrigin = UNKNOWN,
) -> Sent:
    """
    Store a submission together with its job, or find the one stored under the same key.

    Raises:
        NotFound: there is no such exercise.
        NothingToRun: a run was asked for, and the exercise is a question.
        SourceTooLarge, SourceNotText: the source cannot be graded.
        KeyRefused: the idempotency key is empty, too long or not printable.
        IdempotencyClash: the account used the key before, for something else.
        TooManyChecks, TooManyRuns, StorageSpent: the account sends more than it may; nothing was stored.
        QueueFull, GuestsQueueFull, TooManyWaiting: too many wait; nothing was stored.
    """
    request = SubmissionRequest(
        account_id=account.id,
        exercise_id=exercise_id,
        kind=SubmissionKind(kind),
        source=checked_source(source),
        key=_checked_key(idempotency_key),
    )
    version, earlier = _current_and_earlier(session, request)
    if version.kind is ExerciseKind.QUESTION and request.kind is SubmissionKind.RUN:
        raise NothingToRun(exercise=exercise_id)
    if earlier:
        return Sent(earlier, version, is_new=False)
    queue.check_room(session, account, network=origin.network)
    count_in(session, account, kind=request.kind, source=request.source, allowed=origin.allowed)
    try:
        with session.begin_nested():
            submission = _store(session, request, version_id=version.version_id)
    except IntegrityError:
        # Another with the same key was stored concurrently; any other error is not for us to handle.
        version, earlier = _current_and_earlier(session, request)
        if earlier:
            return Sent(earlier, version, is_new=False)
        raise
    if request.kind is SubmissionKind.CHECK:
        drop_sent(session, request.account_id, exercise_id, request.source)
    queue.enqueue(session, submission, network=origin.network, is_guest=account.role is Role.GUEST)
    return Sent(submission, version, is_new=True)


def state_of_sent(
    session: Session, sent: Sent, *, account: Account, exercise_id: str, queue: GradingQueue
) -> SubmissionState:
    """Say where something stands that was sent in this transaction: what is new is queued, and need not be read."""
    submission = sent.submission
    if not sent.is_new:
        return state_of(session, account=account, submission_id=submission.id, queue=queue)
    return SubmissionState(
        id=submission.id,
        exercise=exercise_id,
        version=sent.version.number,
        kind=submission.kind,
        created_at=submission.created_at,
        state=SubmissionPhase.QUEUED,
        queue_position=queue.position(session, submission.id) or 1,
    )


def state_of(session: Session, *, account: Account, submission_id: str, queue: GradingQueue) -> SubmissionState:
    """
    Say what became of a submission: its position in the queue, that it runs, or its report.

    Raises:
        NotFound: there is none, or it is another's (instructors and admins may read all).
    """
    submission, exercise_id, number = _readable(session, account, submission_id)
    # The job is read first: it goes in the same commit in which the run comes, so that one
    # that is finished between the two reads is found as a run.
    job = session.get(Job, submission_id)
    run = session.scalar(_shown_run(submission_id))
    state, position, report = SubmissionPhase.RUNNING, None, None
    if run is not None and (run.counts or job is None):
        state, report = SubmissionPhase.GRADED, Report.from_json(run.report)
    elif job is not None and job.state == JobState.QUEUED:
        state, position = SubmissionPhase.QUEUED, queue.position(session, submission_id) or 1
    return SubmissionState(
        id=submission.id,
        exercise=exercise_id,
        version=number,
        kind=submission.kind,
        created_at=submission.created_at,
        state=state,
        queue_position=position,
        report=report,
    )


def source_of(session: Session, *, account: Account, submission_id: str) -> str:
    """
    Return what was sent, exactly.

    Raises:
        NotFound: there is none, or it is another's (instructors and admins may read all).
    """
    return readable(session, account=account, submission_id=submission_id).source


def readable(session: Session, *, account: Account, submission_id: str) -> Submission:
    """
    Return a submission with its source.

    Raises:
        NotFound: there is none, or it is another's (instructors and admins may read all).
    """
    return _readable(session, account, submission_id, with_source=True)[0]


def history(session: Session, *, account: Account, exercise_id: str, limit: int = 50) -> list[PastAttempt]:
    """Return an account's checks of one exercise, the newest first."""
    mine = (
        _of(account, exercise_id)
        .where(Submission.kind == SubmissionKind.CHECK)
        .with_only_columns(Submission.id, Submission.created_at)
        .limit(limit)
        .subquery()
    )
    rows = session.execute(
        select(mine.c.id, mine.c.created_at, Job.state, GradingResult.verdict)
        .select_from(mine)
        .outerjoin(Job, Job.submission_id == mine.c.id)
        .outerjoin(GradingResult, GradingResult.submission_id == mine.c.id)
        .order_by(mine.c.created_at.desc(), mine.c.id, GradingResult.counts, GradingResult.number)
    )
    # one row for each run, and of those of one submission the last is the one that is shown
    return list({key: _past(key, at, state, verdict) for key, at, state, verdict in rows}.values())


def _past(submission_id: str, created_at: datetime, job: JobState | None, verdict: str | None) -> PastAttempt:
    if verdict is not None:
        return PastAttempt(submission_id, created_at, SubmissionPhase.GRADED, Verdict(verdict))
    return PastAttempt(submission_id, created_at, SubmissionPhase(job or JobState.RUNNING), None)


def latest(session: Session, *, account: Account, exercise_id: str) -> Submission | None:
    """Return what the account sent last for an exercise, checked or only run; None at first."""
    return session.scalar(_of(account, exercise_id).limit(1))


def _checked_key(key: str | None) -> str | None:
    if key is None:
        return None
    if not 0 < len(key) <= KEY_LIMIT or not (key.isascii() and key.isprintable()):
        raise KeyRefused(limit=KEY_LIMIT)
    return key


def _current_and_earlier(session: Session, request: SubmissionRequest) -> tuple[Current, Submission | None]:
    """
    Return what is to be done now, and what was stored under the same key.

    Raises:
        NotFound: there is no such exercise.
        IdempotencyClash: something else was stored under the key.
    """
    if request.key is None:
        return catalogue.current(session, request.exercise_id), None
    of_earlier = aliased(ExerciseVersion)
    found = session.execute(
        select(*catalogue.CURRENT, Submission, of_earlier.exercise_id)
        .select_from(Exercise)
        .join(ExerciseVersion, Exercise.current_version_id == ExerciseVersion.id)
        .outerjoin(
            Submission,
            (Submission.account_id == request.account_id) & (Submission.idempotency_key == request.key),
        )
        .outerjoin(of_earlier, of_earlier.id == Submission.exercise_version_id)
        .where(Exercise.id == request.exercise_id)
    ).one_or_none()
    if found is None:
        raise NotFound(what="exercise", name=request.exercise_id)
    version_id, kind, number, earlier, exercise_id = found
    if earlier is not None:
        sent_before = (exercise_id, earlier.kind, earlier.source)
        if sent_before != (request.exercise_id, request.kind, request.source):
            raise IdempotencyClash
    return catalogue.current_of(version_id, kind, number), earlier


def _store(session: Session, request: SubmissionRequest, *, version_id: str) -> Submission:
    submission = Submission(
        account_id=request.account_id,
        exercise_version_id=version_id,
        kind=request.kind,
        source=request.source,
        idempotency_key=request.key,
    )
    session.add(submission)
    session.flush()
    return submission


def _readable(
    session: Session, account: Account, submission_id: str, *, with_source: bool = False
) -> tuple[Submission, str, int]:
    """Return a submission, the id of its exercise and the number of its version. Raises NotFound."""
    wanted = (
        select(Submission, ExerciseVersion.exercise_id, ExerciseVersion.number)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(Submission.id == submission_id)
    )
    if with_source:
        wanted = wanted.execution_options(populate_existing=True)
    else:
        wanted = wanted.options(defer(Submission.source, raiseload=True))
    found = session.execute(wanted).one_or_none()
    if found is None or not (found[0].account_id == account.id or account.may_read_all):
        raise NotFound(what="submission", name=submission_id)
    submission, exercise_id, number = found
    return submission, exercise_id, number


def _shown_run(submission_id: str) -> Select[GradingResult]:
    """Select the run that counts, or else the latest."""
    return (
        select(GradingResult)
        .where(GradingResult.submission_id == submission_id)
        .order_by(GradingResult.counts.desc(), GradingResult.number.desc())
        .limit(1)
    )


def _of(account: Account, exercise_id: str) -> Select[Submission]:
    """Select an account's submissions to any version of an exercise, the newest first."""
    return (
        select(Submission)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(Submission.account_id == account.id, ExerciseVersion.exercise_id == exercise_id)
        .order_by(Submission.created_at.desc(), Submission.id)
    )
