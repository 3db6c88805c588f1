"""What the queue on PostgreSQL has of its own: procrastinate's rows, periodic work, and wakeups at the commit."""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from sqlalchemy import select, text

from app.clients.wakeups.postgresql import WEBS, WORKERS
from app.db import Database
from app.errors import LeaseLost
from app.models import Job, JobKind, JobState, Submission
from app.services.grading.procrastinate_queue import ProcrastinateQueue
from app.services.grading.queue import Lease

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

Send = Callable[..., Submission]
ELSEWHERE = "another-machine/0/0:1:1"
PATIENCE_S = 10.0


@pytest.fixture
def claimed(database: Database, queue: ProcrastinateQueue) -> Callable[[], Lease]:
    """Return a function that claims a job which must be there."""

    def claim_one() -> Lease:
        with database.write() as session:
            lease = queue.claim(session, owner=ELSEWHERE)
        assert lease is not None
        return lease

    return claim_one


@pytest.fixture
def listener(database: Database) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Give a connection that listens to all channels."""
    address = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        for channel in (WEBS, WORKERS, '"procrastinate_queue_v1#grading"'):
            connection.execute(f"LISTEN {channel}")
        yield connection


def received(listener: psycopg.Connection[tuple[object, ...]], count: int) -> list[str]:
    """Return so many messages, or fewer if they do not come."""
    return [one.payload for one in listener.notifies(timeout=PATIENCE_S, stop_after=count)]


def rows(database: Database, table: str) -> int:
    """Count the rows of one of procrastinate's tables."""
    with database.read() as session:
        return session.scalar(text(f"SELECT count(*) FROM procrastinate_{table}")) or 0  # noqa: S608


def test_job_is_undone_with_its_submission(database: Database, queue: ProcrastinateQueue, send: Send) -> None:
    """Submission, job and procrastinate's job are one commit: if it fails, none of them is there."""
    submission = send()
    with database.write() as session:
        lease = queue.claim(session, owner=ELSEWHERE)
        assert lease is not None
        queue.finish(session, lease)
    before = rows(database, "jobs")
    with database.write() as session:
        queue.enqueue(session, submission, kind=JobKind.REGRADE)
        session.rollback()
    assert rows(database, "jobs") == before


def test_wakeups_are_sent_at_the_commit_and_not_for_what_was_undone(
    database: Database,
    queue: ProcrastinateQueue,
    send: Send,
    claimed: Callable[[], Lease],
    listener: psycopg.Connection[tuple[object, ...]],
) -> None:
    """Workers learn of a new job, browsers of each step of their own, and nobody of a transaction that failed."""
    with database.write() as session:
        queue.rescue(session)
        session.execute(text("SELECT pg_notify('kelolo_webs', 'undone')"))
        session.rollback()
    submission = send()
    lease = claimed()
    with database.write() as session:
        queue.release(session, lease)
    lease = claimed()
    with database.write() as session:
        queue.finish(session, lease)
    new, *steps = received(listener, 6)
    assert "job_inserted" in new
    named = [one.removeprefix(submission.id).strip() for one in steps]
    assert named == ["running", "queued", "", "running", "graded"]


def test_heartbeat_keeps_a_job(
    database: Database,
    queue: ProcrastinateQueue,
    send: Send,
    claimed: Callable[[], Lease],
    pass_by: Callable[[float], None],
) -> None:
    """What is renewed is not rescued; what is silent for longer than a lease is, and its late worker is refused."""
    send()
    lease = claimed()
    pass_by(25)
    with database.write() as session:
        queue.renew(session, lease)
    pass_by(25)
    with database.write() as session:
        assert queue.rescue(session) == []
    pass_by(10)
    with database.write() as session:
        assert queue.rescue(session) == [lease.submission_id]
    with pytest.raises(LeaseLost), database.write() as session:
        queue.renew(session, lease)


def test_nothing_is_left_of_a_claim(
    database: Database, queue: ProcrastinateQueue, send: Send, claimed: Callable[[], Lease]
) -> None:
    """A claim registers a worker with procrastinate; however it ends, the registration goes."""
    send()
    lease = claimed()
    assert rows(database, "workers") == 1
    with database.write() as session:
        queue.release(session, lease)
    assert rows(database, "workers") == 0
    lease = claimed()
    with database.write() as session:
        queue.finish(session, lease)
        assert queue.claim(session, owner=ELSEWHERE) is None
    assert rows(database, "workers") == 0


def test_periodic_work_is_done_once_however_many_workers_ask(database: Database, queue: ProcrastinateQueue) -> None:
    """Ten workers look after the queue within the same hour: what is due each hour is asked for once."""
    for _ in range(10):
        with database.write() as session:
            queue.upkeep(session)
    asked = text("SELECT count(*) FROM procrastinate_periodic_defers WHERE task_name = 'delete-old'")
    with database.read() as session:
        # Two, if the tenth came in the next hour.
        assert session.scalar(asked) in {1, 2}


def test_upkeep_rescues_and_deletes_what_is_old(
    database: Database,
    queue: ProcrastinateQueue,
    send: Send,
    claimed: Callable[[], Lease],
    pass_by: Callable[[float], None],
) -> None:
    """A job that was finished the day before yesterday is gone from procrastinate, and a lost one waits again."""
    send("number = 1")
    done = claimed()
    with database.write() as session:
        queue.finish(session, done)
    assert rows(database, "jobs") == 1
    lost = send("number = 2")
    claimed()
    pass_by(48 * 3600)
    deadline_s = time.monotonic() + PATIENCE_S
    while rows(database, "workers") and time.monotonic() < deadline_s:
        with database.write() as session:
            queue.upkeep(session)
    with database.read() as session:
        job = session.scalars(select(Job)).one()
        assert (job.submission_id, job.state) == (lost.id, JobState.QUEUED)
        kept = session.scalars(text("SELECT id FROM procrastinate_jobs WHERE queue_name = 'grading'")).all()
        assert list(kept) == [job.procrastinate_id]


def test_regrade_never_goes_before_a_live_submission(
    database: Database, queue: ProcrastinateQueue, send: Send, claimed: Callable[[], Lease]
) -> None:
    """Procrastinate's order and the place that a student is told are the same."""
    old = send("old = 1")
    lease = claimed()
    with database.write() as session:
        queue.finish(session, lease)
        queue.enqueue(session, old, kind=JobKind.REGRADE)
    live = [send(f"new = {number}").id for number in range(5)]
    with database.read() as session:
        told = queue.positions(session)
    order = [claimed().submission_id for _ in range(6)]
    assert order == [*live, old.id] == sorted(told, key=told.__getitem__)
