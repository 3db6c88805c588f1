"""What is lost in the middle of its work, be it a web, a worker or a connection, costs no submission."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.db import Database
from app.models import Account, ExerciseVersion, GradingRun, Job, Submission
from app.services.grading import recording
from app.services.grading.queue import MAX_ATTEMPTS, GradingQueue, Lease

Send = Callable[..., Submission]
ELSEWHERE = "another-machine/0/0:1:1"


def test_lost_connection_in_mid_claim_leaves_the_job_to_others(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease]
) -> None:
    """What a worker was about to claim when its database connection broke is free at once, and not counted as tried."""
    send()

    def claim_and_break() -> None:
        with database.write() as session:
            assert queue.claim(session, owner=ELSEWHERE) is not None
            cut(database, session)
            session.execute(select(Job))

    with pytest.raises(DBAPIError):
        claim_and_break()
    assert claimed().attempt == 1


def cut(database: Database, session: Session) -> None:
    """End a session's connection as a crash of the database or the network would."""
    if database.is_sqlite:
        raw = session.connection().connection.driver_connection
        assert raw is not None
        raw.close()
        return
    backend = session.scalar(text("SELECT pg_backend_pid()"))
    with database.write() as other:
        other.execute(text("SELECT pg_terminate_backend(:backend)"), {"backend": backend})


SUBMIT_AND_DIE = """
import os, signal, sys
from sqlalchemy import select
from app.db import Database
from app.models import Account
from app.services.submissions.submissions import submit
from app.services.grading.backend import queue_for
from app.settings import Settings
settings = Settings(database_url=sys.argv[1])
database = Database(settings.database_url)
with database.write() as session:
    account = session.scalars(select(Account)).one()
    submit(session, account=account, exercise_id="make-a-table", source="1", queue=queue_for(settings, database))
    if sys.argv[2] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "stored"), [("before", 0), ("after", 1)])
def test_lost_web_process_leaves_submission_and_job_or_neither(
    database: Database,
    account: Account,
    version: ExerciseVersion,
    claim: Callable[..., Lease | None],
    when: str,
    stored: int,
) -> None:
    """A web server killed before its commit stored nothing; killed right after it, the job is there for a worker."""
    url = database.url.render_as_string(hide_password=False)
    ended = subprocess.run([sys.executable, "-c", SUBMIT_AND_DIE, url, when], check=False)
    assert ended.returncode == -signal.SIGKILL
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == stored
        assert session.scalar(select(func.count()).select_from(Job)) == stored
    assert (claim() is not None) == bool(stored)


def test_poison_job_is_given_up_after_three_lost_workers(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claimed: Callable[..., Lease],
    pass_by: Callable[[float], None],
) -> None:
    """What takes three workers down with it becomes a fault of ours, counts against nobody, and is not tried again."""
    poison = send()
    for _ in range(MAX_ATTEMPTS):
        assert not claimed().exhausted
        pass_by(31)
    last = claimed()
    assert last.exhausted
    with database.write() as session:
        recording.give_up(session, last, queue=queue, worker=ELSEWHERE)
    with database.read() as session:
        run = session.scalars(select(GradingRun)).one()
        assert (run.submission_id, run.verdict, run.counts) == (poison.id, "grader_fault", False)
        assert session.get(Job, poison.id) is None
