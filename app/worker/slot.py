"""
One slot of a worker: a thread with a warm grader of its own, which grades one job at a time.

Theory of operation: what a fault of ours costs must not be up to whoever sends submissions. There are two kinds.

- `MachineFault`: a process cannot be had. The job goes back to the queue, three times at most, and after a few in a
  row the slot makes itself a new grader.
- Any other is this submission's to this exercise until shown otherwise. It is graded once more at once, with the same
  seed. If that works, well; if not, it would fail for ever, so the fault is recorded: no more tries, and the
  grader, which has done what it can, stays.

An account that has had several faults recorded within some minutes is not given second tries of either kind, and what
goes wrong with its submissions says nothing about the grader.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import structlog
from sqlalchemy.orm import Session

from app import metrics
from app.clients.wakeups.local_sockets import Bells, Waiting
from app.db import Database
from app.errors import LeaseLost
from app.models import SubmissionKind
from app.services.grading import recording
from app.services.grading.queue import MAX_ATTEMPTS, GradingQueue, Lease
from app.services.grading.recording import GradingOrder
from app.worker.database_retry import PATIENCE_S, insist, is_away
from app.worker.sandbox_check import Walls, WallsBroken
from graders.faults import MachineFault
from graders.grader import Grader
from graders.question import QuestionTask
from graders.report import Report
from graders.task import Limits, Task

POLL_S = 1.0
"""How long a lost bell can delay a job."""
HOLD_LIMIT_S = 180.0
"""How long a lease is renewed: far above any limit on a run, so beyond it the slot is stuck."""
FAULTS_BEFORE_NEW_GRADER = 4
"""In a row, of those that say that processes cannot be had."""
REST_S = 1.0

log = structlog.get_logger()


class LastingFault(Exception):
    """Grading a submission has failed in a way that another try would not mend."""


@dataclass(frozen=True)
class Surroundings:
    """What all slots of a worker share."""

    database: Database
    queue: GradingQueue
    bells: Bells
    scratch: Path
    owner: str
    stop: Event
    walls: Walls
    ready: Callable[[], None]
    """Called once a slot can grade."""


@dataclass(frozen=True)
class _Holding:
    """The job in hand."""

    lease: Lease
    since_s: float  # monotonic


class Slot(Thread):
    """A daemon thread, so that a stuck run cannot keep the worker from ending."""

    def __init__(self, surroundings: Surroundings, *, number: int, takes_guests: bool = True) -> None:
        """Prepare; `start` begins to work. One that does not take guests' submissions is free for everyone else's."""
        super().__init__(name=f"slot-{number}", daemon=True)
        self._around = surroundings
        self._scratch = surroundings.scratch / str(number)
        self._takes_guests = takes_guests
        self._holding: _Holding | None = None
        self._faults = 0
        self._restarts = 0  # of the grader in use, as far as they were counted
        self._limits = Limits()  # those that the next submission will most likely have
        self.refusal: WallsBroken | None = None
        """Why this slot will not grade."""
        self.is_starting = True
        """Whether its grader is not ready yet, so that it holds no job."""
        self._grader: Grader | None = None
        self._is_abandoned = False

    def run(self) -> None:
        """Work until told to stop, whatever happens."""
        while not self._around.stop.is_set():
            try:
                self._work_with_one_grader()
            except WallsBroken as refusal:
                if self._is_abandoned:  # the walls were tried with processes that we killed
                    return
                self.refusal = refusal
                self._around.stop.set()
            except Exception:
                if self._is_abandoned:
                    return
                # The database is away, or the grader did not start: say so, and try anew.
                log.exception("slot failed", slot=self.name)
                self._around.stop.wait(REST_S)

    def renew(self) -> None:
        """Hold on to the job in hand. Called from outside, because the slot itself is busy."""
        holding = self._holding
        if holding is None or time.monotonic() - holding.since_s > HOLD_LIMIT_S:
            return
        try:
            with self._around.database.write() as session:
                self._around.queue.renew(session, holding.lease)
        except LeaseLost:
            log.info("lease lost", submission=holding.lease.submission_id)

    def give_back(self) -> None:
        """Let another worker have the job in hand, because this one must end now."""
        holding = self._holding
        if holding is not None:
            self._release(holding.lease, tried=False, patience_s=0)  # there is no time for more

    def abandon(self) -> None:
        """End while the grader is being started, at once. Called from outside, once it was told to stop."""
        self._is_abandoned = True
        if self._grader is not None:
            self._grader.abandon()

    def _work_with_one_grader(self) -> None:
        self._faults = self._restarts = 0
        self.is_starting = True
        self._scratch.mkdir(mode=0o711, exist_ok=True)
        self._grader = Grader(scratch=self._scratch, unsafe=self._around.walls.unsafe)
        if self._is_abandoned:  # since before there was one to be told
            return
        with self._grader as grader:
            self._around.walls.prove(grader)
            grader.prepare()
            self._around.ready()
            log.info("slot ready", slot=self.name)
            self.is_starting = False
            # Not before: from its bell the pages see that somebody is ready to grade.
            with self._around.bells.worker_bell() as bell:
                self._work(grader, bell)

    def _work(self, grader: Grader, bell: Waiting) -> None:
        while not self._around.stop.is_set() and self._faults < FAULTS_BEFORE_NEW_GRADER:
            try:
                lease = self._claim()
            except Exception as error:
                if not is_away(error):
                    raise
                # The grader is warm and well: only wait until there is a database again.
                log.warning("database is away", slot=self.name, error=type(error).__name__)
                self._around.stop.wait(REST_S)
                continue
            if lease is None:
                # Only now: while jobs are waiting, a fork that rehearses first takes from them what it saves later.
                grader.prepare(self._limits)
                bell.wait(POLL_S)
            else:
                self._handle(grader, lease)

    def _claim(self) -> Lease | None:
        with self._around.database.write() as session:
            return self._around.queue.claim(session, owner=self._around.owner, guests=self._takes_guests)

    def _handle(self, grader: Grader, lease: Lease) -> None:
        self._holding = _Holding(lease=lease, since_s=time.monotonic())
        with structlog.contextvars.bound_contextvars(submission=lease.submission_id, attempt=lease.attempt):
            try:
                if lease.exhausted:
                    self._give_up(lease)
                else:
                    self._grade(grader, lease)
            except LeaseLost:
                log.info("result came too late")
            except Exception as fault:
                if is_away(fault):
                    # Nor the grader's fault: what it found could not be stored, so it is found again later.
                    self._put_back(lease)
                    return
                # A GraderFault, or what nobody foresaw: ours in either case, never the student's.
                self._faults += isinstance(fault, MachineFault)
                metrics.grader_failed()
                log.exception("grading failed")
                self._retry_or_give_up(lease, again=not isinstance(fault, LastingFault))
            finally:
                self._holding = None
                self._count_restarts(grader)
                structlog.contextvars.unbind_contextvars("run", "request")

    def _put_back(self, lease: Lease) -> None:
        log.warning("database is away or full, result not stored")
        try:
            self._release(lease, tried=False)
        except Exception:
            log.exception("job could not be given back; it is rescued when its lease ends")

    def _grade(self, grader: Grader, lease: Lease) -> None:
        self._ring(lease, "running")
        order = insist(lambda: self._begin(lease))
        structlog.contextvars.bind_contextvars(run=order.run_id, request=order.request_id)
        report = self._judged(grader, order)
        queue, owner = self._around.queue, self._around.owner
        self._write(lambda session: recording.record(session, lease, order, report, queue=queue, worker=owner))
        self._faults = 0
        self._ring(lease, "graded")
        _note(order, report)
        if isinstance(order.task, Task):
            self._limits = order.task.limits

    def _judged(self, grader: Grader, order: GradingOrder) -> Report:
        """The report. Raises MachineFault, LastingFault."""
        try:
            return _judge(grader, order)
        except Exception as fault:
            if insist(lambda: self._has_had_its_faults(order.account_id)):
                raise LastingFault("this account has had several") from fault
            if isinstance(fault, MachineFault):
                raise
            metrics.grader_failed()
            log.exception("grading failed, and is tried with the same seed")
        try:
            return _judge(grader, order)
        except MachineFault:
            raise
        except Exception as fault:
            raise LastingFault("it repeats with the same seed") from fault

    def _has_had_its_faults(self, account_id: str) -> bool:
        with self._around.database.read() as session:
            return recording.has_had_its_faults(session, account_id)

    def _count_restarts(self, grader: Grader) -> None:
        metrics.warm_processes_restarted(grader.restarts - self._restarts)
        self._restarts = grader.restarts

    def _begin(self, lease: Lease) -> GradingOrder:
        with self._around.database.read() as session:
            return recording.begin(session, lease)

    def _write(self, deed: Callable[[Session], None], *, patience_s: float = PATIENCE_S) -> None:
        """Do in a transaction of its own what is harmless to do twice, although the database may be away."""

        def once() -> None:
            with self._around.database.write() as session:
                deed(session)

        insist(once, patience_s=patience_s)

    def _retry_or_give_up(self, lease: Lease, *, again: bool) -> None:
        try:
            if again and lease.attempt < MAX_ATTEMPTS:
                self._release(lease, tried=True)
            else:
                self._give_up(lease)
        except LeaseLost:
            log.info("lease lost", submission=lease.submission_id)

    def _give_up(self, lease: Lease) -> None:
        queue, owner = self._around.queue, self._around.owner
        self._write(lambda session: recording.give_up(session, lease, queue=queue, worker=owner))
        log.warning("gave up")
        self._ring(lease, "graded")

    def _release(self, lease: Lease, *, tried: bool, patience_s: float = PATIENCE_S) -> None:
        release = self._around.queue.release
        self._write(lambda session: release(session, lease, tried=tried), patience_s=patience_s)
        self._ring(lease, "queued")
        self._around.bells.ring_workers()

    def _ring(self, lease: Lease, state: str) -> None:
        self._around.bells.ring_webs(lease.submission_id, state)


def _note(order: GradingOrder, report: Report) -> None:
    """Tell those who watch; nothing of what the student wrote, nor of what it did."""
    phases = {"queued": order.queued_ms, "run": report.timing_ms.run, "judge": report.timing_ms.judge}
    metrics.graded(**phases)
    log.info("graded", verdict=report.verdict.value, **{f"{name}_ms": round(took, 1) for name, took in phases.items()})


def _judge(grader: Grader, order: GradingOrder) -> Report:
    if isinstance(order.task, QuestionTask):
        return order.task.grade(order.source)
    if order.kind is SubmissionKind.RUN:
        return grader.execute(order.task, order.source)
    return grader.grade(order.task, order.source, seed=order.seed)
