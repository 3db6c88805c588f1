"""
The queue of submissions to grade, as a port, and its adapter for one machine.

For more than one there is `app.services.procrastinate_jobs`; `app.services.transport` chooses.

Theory of operation: a job is a row. To claim it is to write one's name on it with a fresh
random token and a time until which the claim holds (a lease). Whoever records a result must
still hold the newest token (`finish` deletes the row by it), so a worker that was given up
for dead and comes back late is refused, and each job is recorded once however many worked on
it. Three things make a claimed job free again: its worker gives it back, its lease runs out,
or its worker is a process of this machine that is no longer there, which is noticed at the
next claim. A job that has been claimed three times is handed out once more, marked as
exhausted, for its failure to be recorded.

A claim is safe because on SQLite a writing transaction is alone.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement, delete, func, literal, or_, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.clock import Clock, utc_now
from app.errors import LeaseLost, QueueFull
from app.models import Job, JobKind, JobState, Submission
from app.services.owners import dead_among

MAX_ATTEMPTS = 3
RETRY_AFTER_S = 5


@dataclass(frozen=True)
class Lease:
    """A claim on one job."""

    submission_id: str
    token: str
    """Random; the only proof of the claim."""
    attempt: int
    """1 for the first claim of this job."""
    until: datetime
    """When the claim ends unless it is renewed."""

    @property
    def exhausted(self) -> bool:
        """Whether the job failed as often as it may: record the fault rather than run it."""
        return self.attempt > MAX_ATTEMPTS


class GradingQueue(Protocol):
    """What a queue of submissions must do. Every method works within the caller's transaction."""

    def check_room(self, session: Session) -> None:
        """Raise QueueFull if one more live submission would be too many."""

    def enqueue(self, session: Session, submission: Submission, *, kind: JobKind = JobKind.LIVE) -> None:
        """Add a job for a submission that is stored in the same transaction."""

    def claim(self, session: Session, *, owner: str) -> Lease | None:
        """Take the next job, or return None when there is none."""

    def renew(self, session: Session, lease: Lease) -> Lease:
        """Hold a claim for longer. Raises LeaseLost."""

    def finish(self, session: Session, lease: Lease) -> None:
        """Remove the job. Raises LeaseLost if the claim has passed to another."""

    def release(self, session: Session, lease: Lease, *, tried: bool = True) -> None:
        """Give the job back; `tried` says whether this counts as one of its attempts."""

    def place(self, session: Session, submission_id: str) -> int | None:
        """How many jobs are graded before it, plus one; None when it does not wait."""

    def places(self, session: Session) -> dict[str, int]:
        """The same for all that wait, at one look."""

    def depth(self, session: Session) -> int:
        """How many live submissions wait."""

    def oldest(self, session: Session) -> datetime | None:
        """Since when the oldest job of any kind waits; None if there is none."""

    def rescue(self, session: Session) -> list[str]:
        """Free the jobs whose workers are gone, and return which; where a claim finds them by itself, none."""

    def upkeep(self, session: Session) -> None:
        """Do what is to be done now and then. Every worker calls it every few seconds."""


class JobTable:
    """What both queues keep in the table of jobs: who waits, in which order, and who holds which claim."""

    order: tuple[InstrumentedAttribute[Any], ...]
    """The order in which jobs are handed out."""

    def __init__(self, *, lease_s: float = 30.0, limit: int = 200, clock: Clock = utc_now) -> None:
        """Leases hold for `lease_s` seconds; `limit` live submissions may wait."""
        self._lease_for = timedelta(seconds=lease_s)
        self._limit = limit
        self._clock = clock

    def check_room(self, session: Session) -> None:
        """Count and compare. Two at the same instant on PostgreSQL may both fit: no harm done."""
        depth = self.depth(session)
        if depth >= self._limit:
            raise QueueFull(depth=depth, retry_after_s=RETRY_AFTER_S)

    def place(self, session: Session, submission_id: str) -> int | None:
        """Count what stands before it in the order of the queue."""
        job = session.get(Job, submission_id)
        if job is None or job.state != JobState.QUEUED:
            return None
        own = tuple_(*(literal(getattr(job, column.key), column.type) for column in self.order))
        before = select(func.count()).where(Job.state == JobState.QUEUED, tuple_(*self.order) < own)
        return (session.scalar(before) or 0) + 1

    def places(self, session: Session) -> dict[str, int]:
        """Read the queue from its head."""
        waiting = select(Job.submission_id).where(Job.state == JobState.QUEUED).order_by(*self.order)
        return {submission_id: place for place, submission_id in enumerate(session.scalars(waiting), start=1)}

    def oldest(self, session: Session) -> datetime | None:
        """Look at the jobs that nobody has claimed."""
        return session.scalar(select(func.min(Job.enqueued_at)).where(Job.state == JobState.QUEUED))

    def depth(self, session: Session) -> int:
        """Count the live jobs that nobody has claimed."""
        waiting = select(func.count()).where(Job.state == JobState.QUEUED, Job.kind == JobKind.LIVE)
        return session.scalar(waiting) or 0


class LeaseQueue(JobTable):
    """The queue as one table, on SQLite and so on one machine."""

    # "live" sorts before "regrade". The id only makes the order total.
    order = (Job.kind, Job.priority, Job.enqueued_at, Job.submission_id)

    def enqueue(self, session: Session, submission: Submission, *, kind: JobKind = JobKind.LIVE) -> None:
        """Add the job behind as many of others' as the account has waiting itself."""
        session.add(new_job(session, submission, kind=kind, now=self._clock()))
        session.flush()

    def claim(self, session: Session, *, owner: str) -> Lease | None:
        """Take the first job in the order of the queue that is free or has become so."""
        job = session.scalar(
            select(Job)
            .where(self._claimable(session))
            .order_by(*self.order)
            .limit(1)
            .execution_options(populate_existing=True)
        )
        if job is None:
            return None
        job.state = JobState.RUNNING
        job.attempts += 1
        job.lease_owner = owner
        job.lease_token = token = secrets.token_hex(16)
        job.lease_until = until = self._clock() + self._lease_for
        session.flush()
        return Lease(submission_id=job.submission_id, token=token, attempt=job.attempts, until=until)

    def renew(self, session: Session, lease: Lease) -> Lease:
        """Move the end of the lease, if it is still held."""
        until = self._clock() + self._lease_for
        renewal = update(Job).where(held_by(lease)).values(lease_until=until)
        _refuse_if_lost(session.scalar(renewal.returning(Job.submission_id)), lease)
        return Lease(submission_id=lease.submission_id, token=lease.token, attempt=lease.attempt, until=until)

    def finish(self, session: Session, lease: Lease) -> None:
        """Delete the row by its token: the database decides who was in time."""
        deletion = delete(Job).where(held_by(lease))
        _refuse_if_lost(session.scalar(deletion.returning(Job.submission_id)), lease)

    def release(self, session: Session, lease: Lease, *, tried: bool = True) -> None:
        """Make the row free at once; nothing to do if it has passed to another meanwhile."""
        session.execute(
            update(Job)
            .where(held_by(lease))
            .values(
                state=JobState.QUEUED,
                attempts=Job.attempts if tried else Job.attempts - 1,
                lease_owner=None,
                lease_token=None,
                lease_until=None,
            )
        )

    def rescue(self, session: Session) -> list[str]:  # noqa: ARG002  as the port has it
        """Do nothing: each claim looks for the jobs of those who are gone."""
        return []

    def upkeep(self, session: Session) -> None:
        """Do nothing: the table holds only what is waiting or running."""

    def _claimable(self, session: Session) -> ColumnElement[bool]:
        owners = session.scalars(select(Job.lease_owner).where(Job.state == JobState.RUNNING).distinct())
        return or_(
            Job.state == JobState.QUEUED,
            Job.lease_until < self._clock(),
            Job.lease_owner.in_(dead_among(owner for owner in owners if owner)),
        )


def new_job(session: Session, submission: Submission, *, kind: JobKind, now: datetime) -> Job:
    """Return a job behind as many of others' as the account has waiting itself."""
    waiting_of_account = (
        select(func.count())
        .select_from(Job)
        .join(Submission, Submission.id == Job.submission_id)
        .where(Submission.account_id == submission.account_id, Job.state == JobState.QUEUED)
    )
    return Job(
        submission_id=submission.id,
        kind=kind,
        priority=session.scalar(waiting_of_account) or 0,
        state=JobState.QUEUED,
        attempts=0,
        enqueued_at=now,
    )


def held_by(lease: Lease) -> ColumnElement[bool]:
    """Match the job if, and only if, the claim on it is the newest."""
    return (Job.submission_id == lease.submission_id) & (Job.lease_token == lease.token)


def _refuse_if_lost(changed_id: str | None, lease: Lease) -> None:
    if changed_id is None:
        raise LeaseLost(submission_id=lease.submission_id)
