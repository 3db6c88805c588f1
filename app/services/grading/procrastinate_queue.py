"""
The queue for more than one machine: procrastinate hands out the jobs.

Theory of operation: a job is two rows that come and go in the same transactions. Procrastinate's row is the
queue: it decides who is next, hands each job to one taker (SKIP LOCKED), wakes workers when one is added,
knows by heartbeats of which takers nothing has been heard, and does the periodic work once however many
workers there are. The row in our own table is what the submission knows of it: whether it waits or runs, how
often it was tried, and the random token of the newest claim. Procrastinate has no such token. With it,
whoever was given up for dead and comes back late is refused, so each job is recorded once.

Procrastinate's own worker is not used, only its tables and functions. It runs tasks in an event loop, and a
slot is a thread with a warm grader of its own, which forks, and must not do so under an event loop; it
knows one heartbeat a process, and a slot that is stuck must lose its own job only; and it commits between
the task and the end of the job, while here the verdict and the end of the job are one commit.

Wakeups are sent from inside the transactions (NOTIFY is delivered at the commit), so none is sent for what was
undone, and none is lost by a process that dies right after its commit.
"""

import secrets
import time
from collections.abc import Callable

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.clients.procrastinate_jobs import FetchedJob, JobTables
from app.clients.wakeups.postgresql import GRADING, GRADING_OF_GUESTS, WEBS, WORKERS, notify
from app.clock import Clock, utc_now
from app.errors import LeaseLost
from app.models import Job, JobKind, JobState, Submission
from app.services.grading.queue import JobTable, Lease, leased_by, new_job
from app.services.process_identity import dead_among

UPKEEP = "upkeep"
"""Procrastinate's name of the queue of periodic work, beside that of grading."""
DELETE_OLD_EVERY_S = 3600

_GRADED = (GRADING, GRADING_OF_GUESTS)
_RESCUE, _DELETE_OLD = "rescue", "delete-old"
_FURTHEST_BACK = 1_000_000  # waiting jobs of one account; the migration has it too


class ProcrastinateQueue(JobTable):
    """The queue on PostgreSQL, for any number of machines."""

    # Procrastinate's own: the higher priority first, then the lower number.
    order = (Job.kind, Job.priority, Job.procrastinate_id)

    def __init__(
        self,
        *,
        lease_s: float = 30.0,
        limit: int = 200,
        rescue_every_s: float = 3.0,
        keep_h: int = 24,
        clock: Clock = utc_now,
    ) -> None:
        """As its base; rescue that often, and keep finished jobs for `keep_h` hours."""
        super().__init__(lease_s=lease_s, limit=limit, clock=clock)
        self._lease_s = lease_s
        self._keep_h = keep_h
        self._every_s = {_RESCUE: max(1, round(rescue_every_s)), _DELETE_OLD: DELETE_OLD_EVERY_S}

    def enqueue(
        self,
        session: Session,
        submission: Submission,
        *,
        kind: JobKind = JobKind.LIVE,
        network: str | None = None,
        is_guest: bool | None = None,
    ) -> None:
        """Defer the job with its priority, and have procrastinate too move back those that go after it."""
        tables = JobTables(session)
        job = new_job(session, submission, kind=kind, now=self._clock(), network=network, is_guest=is_guest)
        moved = self._prioritise(session, job, account=submission.account_id)
        # Procrastinate's rows first, as whoever claims a job has it: so neither waits for the other.
        tables.prioritise(
            {one.procrastinate_id: _priority(kind, one.priority) for one in moved if one.procrastinate_id is not None}
        )
        self._move(session, moved)
        queue = GRADING_OF_GUESTS if job.is_guest else GRADING
        job.procrastinate_id = tables.defer(
            queue, "grade", priority=_priority(kind, job.priority), task_kwargs={"submission_id": submission.id}
        )
        session.add(job)
        session.flush()

    def claim(self, session: Session, *, owner: str, guests: bool = True) -> Lease | None:
        """Fetch the first job, and write the claim on our own row of it."""
        tables = JobTables(session)
        while fetched := tables.fetch(*(_GRADED if guests else (GRADING,))):
            job = _job_of(session, fetched)
            if job is not None:
                return self._claimed(session, job, worker=fetched.worker, owner=owner)
            # Somebody deleted our row by hand. There is nothing to grade.
            tables.finish(fetched.number, worker=fetched.worker, keep=False)
        return None

    def renew(self, session: Session, lease: Lease) -> Lease:
        """Send the heartbeat of the claim, if it is still valid."""
        until = self._clock() + self._lease_for
        renewal = update(Job).where(leased_by(lease)).values(lease_until=until)
        if session.scalar(renewal.returning(Job.submission_id)) is None:
            raise LeaseLost(submission_id=lease.submission_id)
        JobTables(session).beat(_worker_of(lease.token))
        return Lease(submission_id=lease.submission_id, token=lease.token, tries=lease.tries, until=until)

    def finish(self, session: Session, lease: Lease) -> None:
        """Delete our row by its token, which decides who was in time; then procrastinate's job is done too."""
        number = session.scalar(delete(Job).where(leased_by(lease)).returning(Job.procrastinate_id))
        if number is None:
            raise LeaseLost(submission_id=lease.submission_id)
        JobTables(session).finish(number, worker=_worker_of(lease.token), keep=self._keep_h > 0)
        notify(session, WEBS, f"{lease.submission_id} graded")

    def release(self, session: Session, lease: Lease, *, tried: bool = True) -> None:
        """Give the job back to procrastinate; nothing to do if it has passed to another meanwhile."""
        job = session.scalar(
            select(Job).where(leased_by(lease)).with_for_update().execution_options(populate_existing=True)
        )
        if job is not None:
            job.tries -= 0 if tried else 1
            self._free(session, job)

    def rescue(self, session: Session) -> list[str]:
        """
        Free the jobs of claims that are silent for longer than a lease, and of processes here that have died.

        A rescued job has been tried once more. One that was tried too often is handed out as exhausted, for
        its failure to be recorded: what a grader fault says to the student, and that it does not count, is
        not for the queue to know.
        """
        running = select(Job).where(Job.state == JobState.RUNNING).with_for_update(skip_locked=True)
        # Locked first, and only then looked at: nobody renews or finishes between the look and the rescue.
        jobs = session.scalars(running.execution_options(populate_existing=True)).all()
        silent = JobTables(session).stalled(*_GRADED, silent_s=self._lease_s)
        dead = set(dead_among({job.lease_owner for job in jobs if job.lease_owner}))
        lost = [job for job in jobs if job.procrastinate_id in silent or job.lease_owner in dead]
        for job in lost:
            self._free(session, job)
        JobTables(session).forget_workers(silent_s=2 * self._lease_s)
        return [job.submission_id for job in lost]

    def upkeep(self, session: Session) -> None:
        """Do the periodic work that is due, and ask for what comes next. All workers ask, and each is done once."""
        tables = JobTables(session)
        chores: dict[str, Callable[[], object]] = {
            _RESCUE: lambda: self.rescue(session),
            _DELETE_OLD: lambda: tables.delete_old(after_h=self._keep_h),
        }
        while fetched := tables.fetch(UPKEEP):
            chores[str(fetched.task_kwargs["chore"])]()
            tables.finish(fetched.number, worker=fetched.worker, keep=False)
        now_s = int(time.time())
        for chore, every_s in self._every_s.items():
            tables.defer_periodic(UPKEEP, chore, due=now_s // every_s * every_s)

    def _claimed(self, session: Session, job: Job, *, worker: int, owner: str) -> Lease:
        job.state = JobState.RUNNING
        job.tries += 1
        job.lease_owner = owner
        job.lease_token = token = f"{worker}-{secrets.token_hex(16)}"
        job.lease_until = until = self._clock() + self._lease_for
        session.flush()
        notify(session, WEBS, f"{job.submission_id} running")
        return Lease(submission_id=job.submission_id, token=token, tries=job.tries, until=until)

    def _free(self, session: Session, job: Job) -> None:
        tables = JobTables(session)
        if job.procrastinate_id is not None:
            tables.give_back(job.procrastinate_id)
        if job.lease_token is not None:
            tables.unregister(_worker_of(job.lease_token))
        job.state = JobState.QUEUED
        job.lease_owner = job.lease_token = job.lease_until = None
        session.flush()
        notify(session, WEBS, f"{job.submission_id} queued")
        notify(session, WORKERS, "")


def _priority(kind: JobKind, position: int) -> int:
    """Return procrastinate's priority, of which the higher goes first: any live job before any regrade."""
    behind = min(position, _FURTHEST_BACK)
    return -behind if kind is JobKind.LIVE else -behind - _FURTHEST_BACK - 1


def _job_of(session: Session, fetched: FetchedJob) -> Job | None:
    ours = select(Job).where(Job.procrastinate_id == fetched.number).with_for_update()
    return session.scalar(ours.execution_options(populate_existing=True))


def _worker_of(token: str) -> int:
    return int(token.partition("-")[0])
