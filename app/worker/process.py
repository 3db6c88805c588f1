"""The worker as a process: its slots, the renewal of their leases, and how it ends."""

import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Lock
from types import FrameType

import structlog

from app.db import Database
from app.metrics import UNWRITTEN
from app.services import housekeeping, metrics
from app.services.grading import workers
from app.services.grading.backend import queue_for, wakeups_for
from app.services.process_identity import this_process
from app.settings import Settings
from app.worker.database_retry import retry_while_away
from app.worker.sandbox_check import REFUSED, SandboxCheck
from app.worker.scratch import scratch_folder, touch
from app.worker.slot import Slot, WorkerContext

GRACE_S = 8.0
"""How long running jobs may take to finish after SIGTERM before they are given back."""
TIDY_EVERY_S = 600.0
"""Between two looks for what is too old, when the last has found no more."""

log = structlog.get_logger()


def run_worker(settings: Settings) -> int:
    """
    Grade until SIGTERM or SIGINT. Call it from the main thread: it handles signals.

    Returns:
        The exit code: 0, or REFUSED if a layer of the sandbox does not hold.
    """
    stop = Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    # Each slot needs one at a time; renewals and upkeep, one more.
    database = Database(settings.database_url, connections=settings.workers + 2)
    registration = _Registration(database, slots=settings.workers, check=SandboxCheck(unsafe=settings.unsafe))
    with scratch_folder(settings.data_dir) as scratch:
        context = WorkerContext(
            database=database,
            queue=queue_for(settings, database),
            wakeups=wakeups_for(settings, database),
            scratch=scratch,
            owner=registration.owner,
            stop=stop,
            sandbox_check=registration.check,
            ready=registration.begin,
        )
        # Whatever guests send, the first of several slots is never held up by it.
        slots = [
            Slot(context, number=number, takes_guests=number > 0 or settings.workers == 1)
            for number in range(settings.workers)
        ]
        for slot in slots:
            slot.start()
        log.info("worker started", owner=context.owner, slots=len(slots))
        often_s = settings.lease_s if database.is_sqlite else settings.rescue_every_s
        housekeeper = _Housekeeper(database, run_retention_days=settings.run_retention_days)
        chores = (registration.renew, housekeeper.tidy)
        _maintain(slots, context, chores, every_s=min(settings.lease_s / 3, often_s))
        _end(slots, context)
        registration.end()
    database.dispose()
    return _exit_code(slots)


def _maintain(
    slots: list[Slot], context: WorkerContext, chores: Sequence[Callable[[Path], None]], *, every_s: float
) -> None:
    """Until we are to stop: renew the leases, look after the queue, and do the `chores`."""
    while not context.stop.wait(every_s):
        for slot in slots:
            try:
                slot.renew()
            except Exception:
                # The database is away for a moment; there is time for another try or two.
                log.exception("renewal failed", slot=slot.name)
        for chore in chores:
            chore(context.scratch)
        try:
            with context.database.write() as session:
                context.queue.upkeep(session)
        except Exception:
            log.exception("upkeep failed")


class _Registration:
    """This worker's row in the table of workers. Once it is there, failing to renew it stops nobody."""

    def __init__(self, database: Database, *, slots: int, check: SandboxCheck) -> None:
        self.owner = this_process()
        self.check = check
        self._database, self._slots = database, slots
        self._lock, self._begun = Lock(), False

    def begin(self) -> None:
        """Register, with what the sandbox check found; the first slot that is ready does so for all."""

        def register() -> None:
            with self._database.write() as session:
                workers.register(session, owner=self.owner, slots=self._slots, findings=self.check.to_json())

        with self._lock:
            if not self._begun:
                retry_while_away(register)
                self._begun = True

    def renew(self, scratch: Path) -> None:
        """Say that we are alive: in the database and, for health checks in the same container, in the folder."""
        try:
            with UNWRITTEN.taken() as changes, self._database.write() as session:
                workers.seen(session, self.owner)
                metrics.add(session, changes)
            touch(scratch)
        except Exception:
            log.exception("registration could not be renewed")

    def end(self) -> None:
        try:
            with UNWRITTEN.taken() as changes, self._database.write() as session:
                workers.leave(session, self.owner)
                metrics.add(session, changes)
        except Exception:
            log.exception("registration could not be removed")


class _Housekeeper:
    """Removes what is too old: a little at a time, and again soon as long as there is more."""

    def __init__(self, database: Database, *, run_retention_days: int) -> None:
        self._database, self._run_retention_days = database, run_retention_days
        self._due_s = 0.0  # monotonic

    def tidy(self, _scratch: Path) -> None:
        if time.monotonic() < self._due_s:
            return
        try:
            with self._database.write() as session:
                more = housekeeping.tidy(session, run_retention_days=self._run_retention_days)
        except Exception:
            log.exception("housekeeping failed")
            more = False
        self._due_s = time.monotonic() + (0.0 if more else TIDY_EVERY_S)


def _exit_code(slots: list[Slot]) -> int:
    refusals = [slot.refusal for slot in slots if slot.refusal is not None]
    if not refusals:
        return 0
    sys.stderr.write(f"{refusals[0].detail}\n")
    return REFUSED


def _end(slots: list[Slot], context: WorkerContext) -> None:
    """Let the slots finish within the grace period, and give back what they cannot finish."""
    log.info("worker is ending")
    context.wakeups.notify_workers()  # for the slots that wait
    deadline_s = time.monotonic() + GRACE_S
    for slot in slots:
        if slot.is_starting:
            slot.abandon()  # its processes would go on importing from the folder that is about to be removed
    for slot in slots:
        slot.join(max(0.0, deadline_s - time.monotonic()))
    for slot in slots:
        if not slot.is_alive():
            continue
        try:
            slot.give_back()
        except Exception:
            # Its lease ends, or others notice that we are gone: it is rescued, only later.
            log.exception("job could not be given back", slot=slot.name)
    context.wakeups.close()
