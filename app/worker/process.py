"""The worker as a process: its slots, the renewal of their leases, and how it ends."""

import signal
import time
from threading import Event
from types import FrameType

import structlog

from app.clients.bells import ring_workers
from app.db import Database
from app.services.jobs import LeaseQueue
from app.services.owners import this_process
from app.settings import Settings
from app.worker.scratch import scratch_folder
from app.worker.slot import Slot, Surroundings

GRACE_S = 8.0
"""How long running jobs may take to finish after SIGTERM before they are given back."""

log = structlog.get_logger()


def run_worker(settings: Settings) -> None:
    """Grade until SIGTERM or SIGINT. Call it from the main thread: it handles signals."""
    stop = Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    database = Database(settings.database_url)
    with scratch_folder(settings.data_dir) as scratch:
        around = Surroundings(
            database=database,
            queue=LeaseQueue(lease_s=settings.lease_s, limit=settings.queue_limit),
            data=settings.data_dir,
            scratch=scratch,
            owner=this_process(),
            stop=stop,
        )
        slots = [Slot(around, number=number) for number in range(settings.workers)]
        for slot in slots:
            slot.start()
        log.info("worker started", owner=around.owner, slots=len(slots))
        while not stop.wait(settings.lease_s / 3):
            _renew_all(slots)
        _end(slots, around)
    database.dispose()


def _renew_all(slots: list[Slot]) -> None:
    for slot in slots:
        try:
            slot.renew()
        except Exception:
            # The database is away for a moment; there is time for another try or two.
            log.exception("renewal failed", slot=slot.name)


def _end(slots: list[Slot], around: Surroundings) -> None:
    log.info("worker is ending")
    ring_workers(around.data)  # for the slots that wait
    deadline_s = time.monotonic() + GRACE_S
    for slot in slots:
        slot.join(max(0.0, deadline_s - time.monotonic()))
    for slot in slots:
        if slot.is_alive():
            slot.give_back()
