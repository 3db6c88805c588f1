"""
One slot of a worker: a thread with a warm grader of its own, which grades one job at a time.

Theory of operation: what a fault of ours costs must not depend on whoever sends submissions. There are two kinds.

- `MachineFault`: a process cannot be had. The job goes back to the queue, three times at most, and after a few in a
  row the slot makes itself a new grader.
- Any other is this submission's to this exercise until shown otherwise. It is graded once more at once, with the same
  seed. If that works, well; if not, it would fail for ever, so the fault is recorded: no more tries, and the
  grader, which has done what it can, stays.

An account that has had several faults recorded within some minutes is not given second tries of either kind, and what
goes wrong with its submissions says nothing about the grader.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

import structlog
from sqlalchemy.orm import Session

from app import metrics
from app.clients.wakeups.port import Wakeups, WorkerWakeup
from app.db import Database
from app.errors import LeaseLost
from app.models import SubmissionKind
from app.services.grading import recording
from app.services.grading.queue import MAX_TRIES, GradingQueue, Lease
from app.services.grading.recording import GradingRequest, has_recent_faults
from app.worker.database_retry import PATIENCE_S, is_away, retry_while_away
from app.worker.sandbox_check import SandboxCheck, SandboxIncomplete
from graders.faults import GraderFault, MachineFault
from graders.grader import Grader
from graders.question import QuestionTask
from graders.report import Report
from graders.task import Limits, Task

POLL_S = 1.0
"""How long a lost wakeup can delay a job."""
RENEWAL_LIMIT_S = 180.0
"""How long a lease is renewed: far above any time limit, so beyond it the slot is stuck."""
FAULTS_BEFORE_NEW_GRADER = 4
"""In a row, of those that say that processes cannot be had."""
REST_S = 1.0

Result = TypeVar("Result")
log = structlog.get_logger()


class PermanentFault(Exception):
    """Grading a submission has failed in a way that another try would not mend."""


@dataclass(frozen=True)
class WorkerContext:
    """What all slots of a worker share."""

    database: Database
    queue: GradingQueue
    wakeups: Wakeups
    scratch: Path
    owner: str
    stop: Event
    sandbox_check: SandboxCheck
    ready: Callable[[], None]
    """Called once a slot can grade."""


@dataclass(frozen=True)
class _CurrentJob:
    """The job that a slot has claimed and not yet finished."""

    lease: Lease
    since_s: float  # monotonic


class Slot(Thread):
    """A daemon thread, so that a stuck execution cannot keep the worker from ending."""

    def __init__(self, context: WorkerContext, *, number: int, takes_guests: bool = True) -> None:
        """Prepare; `start` begins to work. One that does not take guests' submissions is free for everyone else's."""
        super().__init__(name=f"slot-{number}", daemon=True)
        self._context = context
        self._scratch = context.scratch / str(number)
        self._takes_guests = takes_guests
        self._job: _CurrentJob | None = None
        self._faults = 0
        self._restarts = 0  # of the grader in use, as far as they were counted
        self._limits = Limits()  # those that the next submission will most likely have
        self.refusal: SandboxIncomplete | None = None
        """Why this slot will not grade."""
        self.is_starting = True
        """Whether its grader is not ready yet, so that it has no job."""
        self._grader: Grader | None = None
        self._is_abandoned = False

    def run(self) -> None:
        """Work until told to stop, whatever happens."""
        while not self._context.stop.is_set():
            try:
                # The wakeup is made last: from it the pages see that somebody is ready to grade.
                with self._started_grader() as grader, self._context.wakeups.worker_wakeup() as wakeup:
                    self._serve(grader, wakeup)
            except SandboxIncomplete as refusal:
                if self._is_abandoned:  # the sandbox was tried with processes that we killed
                    return
                self.refusal = refusal
                self._context.stop.set()
            except Exception:
                if self._is_abandoned:
                    return
                # The database is away, or the grader did not start: say so, and try anew.
                log.exception("slot failed", slot=self.name)
                self._context.stop.wait(REST_S)

    def renew(self) -> None:
        """Renew the lease of the current job. Called from outside, because the slot itself is busy."""
        job = self._job
        if job is None or time.monotonic() - job.since_s > RENEWAL_LIMIT_S:
            return
        try:
            with self._context.database.write() as session:
                self._context.queue.renew(session, job.lease)
        except LeaseLost:
            log.info("lease lost", submission=job.lease.submission_id)

    def give_back(self) -> None:
        """Let another worker have the current job, because this one must end now."""
        job = self._job
        if job is not None:
            self._release(job.lease, tried=False, patience_s=0)  # there is no time for more

    def abandon(self) -> None:
        """End while the grader is being started, at once. Called from outside, once it was told to stop."""
        self._is_abandoned = True
        if self._grader is not None:
            self._grader.abandon()

    @contextmanager
    def _started_grader(self) -> Iterator[Grader]:
        """Give a new grader whose sandbox was checked. Raises SandboxIncomplete, GraderFault."""
        self._faults = self._restarts = 0
        self.is_starting = True
        self._scratch.mkdir(mode=0o711, exist_ok=True)
        self._grader = Grader(scratch=self._scratch, unsafe=self._context.sandbox_check.unsafe)
        if self._is_abandoned:  # since before there was a grader to abandon
            raise GraderFault("the slot was abandoned before its grader started")
        with self._grader as grader:
            self._context.sandbox_check.run(grader)
            grader.prepare()
            self._context.ready()
            log.info("slot ready", slot=self.name)
            self.is_starting = False
            yield grader

    def _serve(self, grader: Grader, wakeup: WorkerWakeup) -> None:
        """Grade one job after the other, until told to stop or the grader seems to be broken."""
        while not self._context.stop.is_set() and self._faults < FAULTS_BEFORE_NEW_GRADER:
            try:
                lease = self._claim()
            except Exception as error:
                if not is_away(error):
                    raise
                # The grader is warm and well: only wait until there is a database again.
                log.warning("database is away", slot=self.name, error=type(error).__name__)
                self._context.stop.wait(REST_S)
                continue
            if lease is not None:
                self._grade(grader, lease)
                continue
            # Only now: while jobs are waiting, a fork that warms up first takes from them what it saves later.
            grader.prepare(self._limits)
            wakeup.wait(POLL_S)

    def _claim(self) -> Lease | None:
        with self._context.database.write() as session:
            return self._context.queue.claim(session, owner=self._context.owner, guests=self._takes_guests)

    def _grade(self, grader: Grader, lease: Lease) -> None:
        """Bring one job to its end: a recorded result, back to the queue, or given up."""
        self._job = _CurrentJob(lease=lease, since_s=time.monotonic())
        with structlog.contextvars.bound_contextvars(submission=lease.submission_id, tries=lease.tries):
            try:
                if lease.exhausted:
                    self._give_up(lease)
                    return
                self._notify(lease, "running")
                request = self._read(lambda session: recording.grading_request(session, lease))
                structlog.contextvars.bind_contextvars(run=request.result_id, request=request.request_id)
                self._record(lease, request, self._judge(grader, request))
            except LeaseLost:
                log.info("result came too late")
            except Exception as fault:
                if not is_away(fault):
                    log.exception("grading failed")
                self._handle_fault(lease, fault)
            finally:
                self._job = None
                metrics.warm_processes_restarted(grader.restarts - self._restarts)
                self._restarts = grader.restarts
                structlog.contextvars.unbind_contextvars("run", "request")

    def _judge(self, grader: Grader, request: GradingRequest) -> Report:
        """Return the report, from a second try with the same seed if need be. Raises MachineFault, PermanentFault."""
        for is_last in (False, True):
            try:
                return _execute(grader, request)
            except Exception as fault:
                if not is_last and self._read(lambda session: has_recent_faults(session, request.account_id)):
                    raise PermanentFault("this account has had several") from fault
                if isinstance(fault, MachineFault):
                    raise
                if is_last:
                    raise PermanentFault("it repeats with the same seed") from fault
                metrics.grader_failed()
                log.exception("grading failed, and is tried with the same seed")
        raise AssertionError("the last try returns or raises")

    def _record(self, lease: Lease, request: GradingRequest, report: Report) -> None:
        queue, owner = self._context.queue, self._context.owner
        self._write(lambda session: recording.record(session, lease, request, report, queue=queue, worker=owner))
        self._faults = 0
        self._notify(lease, "graded")
        # Nothing of what the student wrote, nor of what it did.
        phases = {"queued": request.queued_ms, "run": report.timing_ms.run, "judge": report.timing_ms.judge}
        metrics.graded(**phases)
        in_ms = {f"{name}_ms": round(took, 1) for name, took in phases.items()}
        log.info("graded", verdict=report.verdict.value, **in_ms)
        if isinstance(request.task, Task):
            self._limits = request.task.limits

    def _handle_fault(self, lease: Lease, fault: Exception) -> None:
        """Let the job be tried again, or record that it failed."""
        if is_away(fault):
            # Not the grader's fault: what it found could not be stored, so it is found again later.
            log.warning("database is away or full, result not stored")
            try:
                self._release(lease, tried=False)
            except Exception:
                log.exception("job could not be given back; it is rescued when its lease ends")
            return
        # A GraderFault, or what nobody foresaw: ours in either case, never the student's.
        self._faults += isinstance(fault, MachineFault)
        metrics.grader_failed()
        try:
            if isinstance(fault, PermanentFault) or lease.tries >= MAX_TRIES:
                self._give_up(lease)
            else:
                self._release(lease, tried=True)
        except LeaseLost:
            log.info("lease lost", submission=lease.submission_id)

    def _give_up(self, lease: Lease) -> None:
        queue, owner = self._context.queue, self._context.owner
        self._write(lambda session: recording.give_up(session, lease, queue=queue, worker=owner))
        log.warning("gave up")
        self._notify(lease, "graded")

    def _release(self, lease: Lease, *, tried: bool, patience_s: float = PATIENCE_S) -> None:
        release = self._context.queue.release
        self._write(lambda session: release(session, lease, tried=tried), patience_s=patience_s)
        self._notify(lease, "queued")
        self._context.wakeups.notify_workers()

    def _read(self, action: Callable[[Session], Result]) -> Result:
        """Read in a transaction of its own, again and again while the database is away."""

        def once() -> Result:
            with self._context.database.read() as session:
                return action(session)

        return retry_while_away(once)

    def _write(self, action: Callable[[Session], None], *, patience_s: float = PATIENCE_S) -> None:
        """Do in a transaction of its own what is harmless to do twice, although the database may be away."""

        def once() -> None:
            with self._context.database.write() as session:
                action(session)

        retry_while_away(once, patience_s=patience_s)

    def _notify(self, lease: Lease, state: str) -> None:
        self._context.wakeups.notify_webs(lease.submission_id, state)


def _execute(grader: Grader, request: GradingRequest) -> Report:
    if isinstance(request.task, QuestionTask):
        return request.task.grade(request.source)
    if request.kind is SubmissionKind.RUN:
        return grader.execute(request.task, request.source)
    return grader.grade(request.task, request.source, seed=request.seed)
