"""
What carries jobs to workers and news to browsers. This is the one place where it is chosen.

SQLite is one machine: the table of leases, and sockets in the data folder. PostgreSQL may be shared by many
machines: procrastinate, and LISTEN and NOTIFY.
"""

from app.clients.wakeups.local_sockets import LocalWakeups
from app.clients.wakeups.port import Wakeups
from app.clients.wakeups.postgresql import PostgresWakeups
from app.db import Database
from app.services.grading.procrastinate_queue import ProcrastinateQueue
from app.services.grading.queue import GradingQueue, LeaseQueue
from app.settings import Settings


def queue_for(settings: Settings, database: Database) -> GradingQueue:
    """Return the queue of submissions that goes with a database."""
    if database.is_sqlite:
        return LeaseQueue(lease_s=settings.lease_s, limit=settings.queue_limit)
    return ProcrastinateQueue(
        lease_s=settings.lease_s,
        limit=settings.queue_limit,
        rescue_every_s=settings.rescue_every_s,
        keep_h=settings.keep_jobs_h,
    )


def wakeups_for(settings: Settings, database: Database) -> Wakeups:
    """Return the wakeups that go with a database."""
    return LocalWakeups(settings.data_dir) if database.is_sqlite else PostgresWakeups(database.url)
