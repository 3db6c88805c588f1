"""Taking in what students send, and telling what became of it."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from app.errors import IdempotencyClash, KeyRefused, NotFound, NothingToRun
from app.models import Account, ExerciseKind, ExerciseVersion, GradingResult, Job, JobState, Submission, SubmissionKind
from app.services.exercises.catalogue import current
from app.services.grading.queue import GradingQueue
from app.services.plans.daily_limits import USUAL, Allowances, count_in
from app.services.submissions.drafts import drop_sent
from app.services.submissions.source_checks import checked_source

KEY_LIMIT = 255  # characters


@dataclass(frozen=True)
class SubmissionOrigin:
    """Where a submission comes from, and what the site allows."""

    network: str | None = None
    """A keyed hash of the sender's network; None where that is not known."""
    allowed: Allowances = USUAL


UNKNOWN = SubmissionOrigin()


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
) -> Submission:
    """
    Store a submission together with its job, or return the one stored under the same key.

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
    version = current(session, exercise_id)
    if version.kind is ExerciseKind.QUESTION and request.kind is SubmissionKind.RUN:
        raise NothingToRun(exercise=exercise_id)
    if earlier := _earlier(session, request):
        return earlier
    queue.check_room(session, account, network=origin.network)
    count_in(session, account, kind=request.kind, source=request.source, allowed=origin.allowed)
    try:
        with session.begin_nested():
            submission = _store(session, request, version_id=version.version_id)
    except IntegrityError:
        # Another with the same key was concurrent; any other error is not for us to handle.
        if earlier := _earlier(session, request):
            return earlier
        raise
    if request.kind is SubmissionKind.CHECK:
        drop_sent(session, request.account_id, exercise_id, request.source)
    queue.enqueue(session, submission, network=origin.network)
    return submission


def state_of(session: Session, *, account: Account, submission_id: str, queue: GradingQueue) -> dict[str, Any]:
    """
    Say what became of a submission: its position in the queue, that it runs, or its report.

    Raises:
        NotFound: there is none, or it is another's (instructors and admins may read all).
    """
    submission, exercise_id, number = _readable(session, account, submission_id)
    head: dict[str, Any] = {
        "id": submission.id,
        "exercise": exercise_id,
        "version": number,
        "kind": submission.kind.value,
        "created_at": submission.created_at.isoformat(),
    }
    # The job is read first: it goes in the same commit in which the run comes, so that one
    # that is finished between the two reads is found as a run.
    job = session.get(Job, submission_id)
    run = session.scalar(_shown_run(submission_id))
    if run is not None and (run.counts or job is None):
        return run.report | head | {"state": "graded"}
    if job is not None and job.state == JobState.QUEUED:
        return head | {"state": "queued", "place": queue.position(session, submission_id) or 1}
    return head | {"state": "running"}


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
    _readable(session, account, submission_id)
    return session.get_one(Submission, submission_id, populate_existing=True)


def history(session: Session, *, account: Account, exercise_id: str, limit: int = 50) -> list[dict[str, Any]]:
    """Return an account's checks of one exercise, the newest first."""
    submissions = session.scalars(
        _of(account, exercise_id)
        .where(Submission.kind == SubmissionKind.CHECK)
        .options(defer(Submission.source, raiseload=True))
        .limit(limit)
    ).all()
    ids = [submission.id for submission in submissions]
    runs = session.scalars(
        select(GradingResult)
        .where(GradingResult.submission_id.in_(ids))
        .order_by(GradingResult.counts, GradingResult.number)
    )
    verdicts = {run.submission_id: run.verdict for run in runs}  # the last of each wins
    states = dict(session.execute(select(Job.submission_id, Job.state).where(Job.submission_id.in_(ids))).all())
    return [
        {
            "id": one.id,
            "created_at": one.created_at.isoformat(),
            "state": "graded" if one.id in verdicts else states.get(one.id, JobState.RUNNING).value,
            "verdict": verdicts.get(one.id),
        }
        for one in submissions
    ]


def latest(session: Session, *, account: Account, exercise_id: str) -> Submission | None:
    """Return what the account sent last for an exercise, checked or only run; None at first."""
    return session.scalar(_of(account, exercise_id).limit(1))


def _checked_key(key: str | None) -> str | None:
    if key is None:
        return None
    if not 0 < len(key) <= KEY_LIMIT or not (key.isascii() and key.isprintable()):
        raise KeyRefused(limit=KEY_LIMIT)
    return key


def _earlier(session: Session, request: SubmissionRequest) -> Submission | None:
    """Return what was stored under the same key. Raises IdempotencyClash if it is not the same."""
    if request.key is None:
        return None
    found = session.execute(
        select(Submission, ExerciseVersion.exercise_id)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(Submission.account_id == request.account_id, Submission.idempotency_key == request.key)
    ).one_or_none()
    if found is None:
        return None
    earlier, exercise_id = found
    if (exercise_id, earlier.kind, earlier.source) != (request.exercise_id, request.kind, request.source):
        raise IdempotencyClash
    return earlier


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


def _readable(session: Session, account: Account, submission_id: str) -> tuple[Submission, str, int]:
    """Return a submission without its source, the id of its exercise and the number of its version."""
    found = session.execute(
        select(Submission, ExerciseVersion.exercise_id, ExerciseVersion.number)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(Submission.id == submission_id)
        .options(defer(Submission.source, raiseload=True))
    ).one_or_none()
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
