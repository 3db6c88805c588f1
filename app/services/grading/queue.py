"""
The queue of submissions to grade, as a port, and its adapter for one machine.

For more than one there is `app.services.grading.procrastinate_queue`; `app.services.grading.backend` chooses.

Theory of operation: a job is a row. To claim it is to write one's name on it with a fresh
random token and a time until which the claim is valid (a lease). Whoever records a result must
still have the newest token (`finish` deletes the row by it), so a worker that was given up
for dead and comes back late is refused, and each job is recorded once however many worked on
it. Three things make a claimed job free again: its worker gives it back, its lease runs out,
or its worker is a process of this machine that is no longer there, which is noticed at the
next claim. A job that has been claimed three times is handed out once more, marked as
exhausted, for its failure to be recorded.

A claim is safe because on SQLite a writing transaction is alone.

Turns are shared on two levels: networks take turns, and within a network its accounts do. A job's priority is
its position in the order of its own network, in which the first jobs of all accounts come first, then all second
ones, and so on. So whoever sends many, under however many accounts, stands behind themselves. When a job comes, those
of its network that are to go after it move back; none ever moves forward, or else whoever kept sending would
turn what has waited longest into what comes first. The priority of a guest's job is one higher than it would be: the
first submission of somebody who is signed in goes before all of guests.

Guests' jobs have bounds of their own: a quarter of the queue for all of them, and a few for each network.
"""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Protocol

from sqlalchemy import ColumnElement, delete, func, or_, select, text, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from app.clock import Clock, utc_now
from app.errors import GuestsQueueFull, LeaseLost, QueueFull, TooManyWaiting
from app.models import Account, Job, JobKind, JobState, Role, Submission
from app.services.process_identity import dead_among

MAX_TRIES = 3
RETRY_AFTER_S = 5
GUESTS_SHARE = 4
"""Guests together may have one in so many jobs of the queue."""
GUESTS_OF_NETWORK = 5
"""Submissions of guests that may wait at once from one network."""


@dataclass(frozen=True)
class Lease:
    """A claim on one job."""

    submission_id: str
    token: str
    """Random; the only proof of the claim."""
    tries: int
    """How often the job was claimed: 1 for the first claim."""
    until: datetime
    """When the claim ends unless it is renewed."""

    @property
    def exhausted(self) -> bool:
        """Whether the job failed as often as it may: record the fault rather than run it."""
        return self.tries > MAX_TRIES


@dataclass(frozen=True)
class Moved:
    """A job that has to wait longer than it would have."""

    submission_id: str
    procrastinate_id: int | None
    priority: int


class GradingQueue(Protocol):
    """What a queue of submissions must do. Every method works within the caller's transaction."""

    def check_room(self, session: Session, account: Account, *, network: str | None = None) -> None:
        """Raise QueueFull, GuestsQueueFull or TooManyWaiting if one more live submission would be too many."""

    def enqueue(
        self,
        session: Session,
        submission: Submission,
        *,
        kind: JobKind = JobKind.LIVE,
        network: str | None = None,
        is_guest: bool | None = None,
    ) -> None:
        """
        Add a job for a submission that is stored in the same transaction.

        Args:
            session: of the transaction.
            submission: what is to be graded.
            kind: whether somebody waits for it.
            network: a hash of its sender's.
            is_guest: whether its sender is a guest; looked up unless it is given.
        """

    def claim(self, session: Session, *, owner: str, guests: bool = True) -> Lease | None:
        """Take the next job, or return None when there is none. `guests`: whether it may be a guest's."""

    def renew(self, session: Session, lease: Lease) -> Lease:
        """Extend a lease. Raises LeaseLost."""

    def finish(self, session: Session, lease: Lease) -> None:
        """Remove the job. Raises LeaseLost if the claim has passed to another."""

    def release(self, session: Session, lease: Lease, *, tried: bool = True) -> None:
        """Give the job back; `tried` says whether this counts as one of its tries."""

    def position(self, session: Session, submission_id: str) -> int | None:
        """How many jobs are graded before it, plus one; None when it does not wait."""

    def positions(self, session: Session) -> dict[str, int]:
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
    """What both queues keep in the table of jobs: who waits, in which order, and under which claim a job runs."""

    order: tuple[InstrumentedAttribute[Any], ...]
    """The order in which jobs are handed out."""

    def __init__(self, *, lease_s: float = 30.0, limit: int = 200, clock: Clock = utc_now) -> None:
        """Leases are valid for `lease_s` seconds; `limit` live submissions may wait."""
        self._lease_for = timedelta(seconds=lease_s)
        self._limit = limit
        self._clock = clock

    def check_room(self, session: Session, account: Account, *, network: str | None = None) -> None:
        """Count and compare. On PostgreSQL two who are signed in may both fit concurrently: no harm done."""
        waiting = (Job.state == JobState.QUEUED, Job.kind == JobKind.LIVE)
        guests = func.count().filter(Job.is_guest)
        here = func.count().filter(Job.is_guest, Job.network == (network or account.id))
        if account.role is Role.GUEST:
            take_turns(session, "guests")
        depth, of_guests, of_network = session.execute(select(func.count(), guests, here).where(*waiting)).one()
        if depth >= self._limit:
            raise QueueFull(depth=depth, retry_after_s=RETRY_AFTER_S)
        if account.role is Role.GUEST:
            self._check_guests(of_guests, of_network)

    def _check_guests(self, of_guests: int, of_network: int) -> None:
        if of_network >= GUESTS_OF_NETWORK:
            raise TooManyWaiting(waiting=of_network, limit=GUESTS_OF_NETWORK, retry_after_s=RETRY_AFTER_S)
        if of_guests >= ceil(self._limit / GUESTS_SHARE):
            raise GuestsQueueFull(depth=of_guests, retry_after_s=RETRY_AFTER_S)

    def _prioritise(self, session: Session, job: Job, *, account: str) -> list[Moved]:
        """Give a new job its priority in the order of its network; return the jobs that have to move back for it."""
        take_turns(session, job.network)
        rows = session.execute(
            select(Job.submission_id, Job.procrastinate_id, Job.priority, Job.is_guest, Submission.account_id)
            .join(Submission, Submission.id == Job.submission_id)
            .where(Job.state == JobState.QUEUED, Job.kind == job.kind, Job.network == job.network)
            .order_by(Job.enqueued_at, Job.submission_id)
        ).all()
        order = _by_turns([*((owner, is_guest) for *_, is_guest, owner in rows), (account, job.is_guest)])
        moved = []
        for position, number in enumerate(order):
            if number == len(rows):
                job.priority = position + job.is_guest
                continue
            submission_id, procrastinate_id, priority, is_guest, _ = rows[number]
            if priority < position + is_guest:
                moved.append(Moved(submission_id, procrastinate_id, position + is_guest))
        return moved

    def _move(self, session: Session, moved: Sequence[Moved]) -> None:
        """Move jobs back, but for those that were claimed meanwhile."""
        for one in sorted(moved, key=lambda one: one.submission_id):
            session.execute(
                update(Job)
                .where(Job.submission_id == one.submission_id, Job.state == JobState.QUEUED)
                .values(priority=one.priority)
            )

    def position(self, session: Session, submission_id: str) -> int | None:
        """Count what stands up to it in the order of the queue."""
        own = aliased(Job)
        up_to = tuple_(*self.order) <= tuple_(*(getattr(own, column.key) for column in self.order))
        counted = (
            select(func.count())
            .select_from(own)
            .join(Job, up_to)
            .where(own.submission_id == submission_id, own.state == JobState.QUEUED, Job.state == JobState.QUEUED)
        )
        return session.scalar(counted) or None

    def positions(self, session: Session) -> dict[str, int]:
        """Read the queue from its head."""
        waiting = select(Job.submission_id).where(Job.state == JobState.QUEUED).order_by(*self.order)
        return {submission_id: position for position, submission_id in enumerate(session.scalars(waiting), start=1)}

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

    def enqueue(
        self,
        session: Session,
        submission: Submission,
        *,
        kind: JobKind = JobKind.LIVE,
        network: str | None = None,
        is_guest: bool | None = None,
    ) -> None:
        """Add the job with its priority."""
        job = new_job(session, submission, kind=kind, now=self._clock(), network=network, is_guest=is_guest)
        self._move(session, self._prioritise(session, job, account=submission.account_id))
        session.add(job)
        session.flush()

    def claim(self, session: Session, *, owner: str, guests: bool = True) -> Lease | None:
        """Take the first job in the order of the queue that is free or has become so."""
        job = session.scalar(
            select(Job)
            .where(self._claimable(session), *(() if guests else (Job.is_guest.is_(False),)))
            .order_by(*self.order)
            .limit(1)
            .execution_options(populate_existing=True)
        )
        if job is None:
            return None
        job.state = JobState.RUNNING
        job.tries += 1
        job.lease_owner = owner
        job.lease_token = token = secrets.token_hex(16)
        job.lease_until = until = self._clock() + self._lease_for
        session.flush()
        return Lease(submission_id=job.submission_id, token=token, tries=job.tries, until=until)

    def renew(self, session: Session, lease: Lease) -> Lease:
        """Move the end of the lease, if it is still valid."""
        until = self._clock() + self._lease_for
        renewal = update(Job).where(leased_by(lease)).values(lease_until=until)
        _refuse_if_lost(session.scalar(renewal.returning(Job.submission_id)), lease)
        return Lease(submission_id=lease.submission_id, token=lease.token, tries=lease.tries, until=until)

    def finish(self, session: Session, lease: Lease) -> None:
        """Delete the row by its token: the database decides who was in time."""
        deletion = delete(Job).where(leased_by(lease))
        _refuse_if_lost(session.scalar(deletion.returning(Job.submission_id)), lease)

    def release(self, session: Session, lease: Lease, *, tried: bool = True) -> None:
        """Make the row free at once; nothing to do if it has passed to another meanwhile."""
        session.execute(
            update(Job)
            .where(leased_by(lease))
            .values(
                state=JobState.QUEUED,
                tries=Job.tries if tried else Job.tries - 1,
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


def new_job(
    session: Session,
    submission: Submission,
    *,
    kind: JobKind,
    now: datetime,
    network: str | None,
    is_guest: bool | None = None,
) -> Job:
    """Return a job that has no priority yet. Where the network is not known, the account stands for it."""
    if is_guest is None:
        role = session.scalar(select(Account.role).where(Account.id == submission.account_id))
        is_guest = role is Role.GUEST
    return Job(
        submission_id=submission.id,
        kind=kind,
        priority=0,
        network=network or submission.account_id,
        is_guest=is_guest,
        state=JobState.QUEUED,
        tries=0,
        enqueued_at=now,
    )


def take_turns(session: Session, name: str) -> None:
    """Have all who give the same name follow each other until their commits; on SQLite whoever writes is alone."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"queue:{name}"})


def _by_turns(jobs: Sequence[tuple[str, bool]]) -> list[int]:
    """
    Return the order in which the accounts of a network take turns.

    Args:
        jobs: the account of each, and whether it is a guest's; the oldest first.

    Returns:
        Their numbers in `jobs`, from 0.
    """
    sent: Counter[str] = Counter()
    turns = []
    for number, (account, is_guest) in enumerate(jobs):
        turns.append((sent[account] + is_guest, number))
        sent[account] += 1
    return [number for _, number in sorted(turns)]


def leased_by(lease: Lease) -> ColumnElement[bool]:
    """Match the job if, and only if, the claim on it is the newest."""
    return (Job.submission_id == lease.submission_id) & (Job.lease_token == lease.token)


def _refuse_if_lost(changed_id: str | None, lease: Lease) -> None:
    if changed_id is None:
        raise LeaseLost(submission_id=lease.submission_id)
