"""A small course, an account and a queue, for the tests of what is stored."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import text

from app.db import Database
from app.models import Account, Exercise, ExerciseVersion, Role, Submission
from app.services.grading.procrastinate_queue import ProcrastinateQueue
from app.services.grading.queue import GradingQueue, Lease, LeaseQueue
from app.services.submissions.submissions import SubmissionOrigin, submit
from graders.report import Report, Timing, Verdict
from graders.task import Check, Output, Task

EXERCISE = "make-a-table"
ELSEWHERE = "another-machine/0/0:1:1"
"""A worker of which nothing is known here."""
Submit = Callable[..., Submission]


@dataclass
class MovableClock:
    """A clock that only moves when told to."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time; each look is a millisecond later, so that order is never a matter of luck."""
        self.now += timedelta(milliseconds=1)
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def watch() -> MovableClock:
    """Return a clock that the test moves."""
    return MovableClock()


@pytest.fixture
def pass_by(watch: MovableClock, database: Database) -> Callable[[float], None]:
    """Return a function that lets seconds pass, for procrastinate too, which asks the database for the time."""

    def let_pass(seconds: float) -> None:
        watch.pass_by(seconds)
        if not database.is_sqlite:
            with database.write() as session:
                session.execute(text(OLDER_BEATS), {"by": seconds})
                session.execute(text(OLDER_EVENTS), {"by": seconds})

    return let_pass


OLDER_BEATS = "UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - make_interval(secs => :by)"
OLDER_EVENTS = "UPDATE procrastinate_events SET at = at - make_interval(secs => :by)"


@pytest.fixture
def make_queue(watch: MovableClock, database: Database) -> Callable[..., GradingQueue]:
    """Return a function that makes, on the test's clock, the queue that goes with the database."""
    return partial(LeaseQueue if database.is_sqlite else ProcrastinateQueue, clock=watch)


@pytest.fixture
def queue(make_queue: Callable[..., GradingQueue]) -> GradingQueue:
    """Return a queue with leases of 30 seconds and room for 200."""
    return make_queue(lease_s=30, limit=200)


@pytest.fixture
def version(database: Database) -> ExerciseVersion:
    """Store an exercise with one version, and return the version."""
    task = Task(
        exercise=EXERCISE,
        version=1,
        setup="import torch",
        solution="table = torch.zeros(2, 3)",
        outputs=(Output(name="table"),),
        checks=(Check(id="table", title="The table", kind="value", of="table"),),
    )
    version = ExerciseVersion(
        exercise_id=EXERCISE,
        number=1,
        fingerprint="0" * 64,
        content={"title": "A table"},
        task=task.to_json(),
    )
    with database.write() as session:
        exercise = Exercise(id=EXERCISE, position=0)
        session.add(exercise)
        session.flush()
        session.add(version)
        session.flush()
        exercise.current_version_id = version.id
    return version


@pytest.fixture
def new_account(database: Database) -> Callable[..., Account]:
    """Return a function that stores an account."""
    numbers = itertools.count(1)

    def make(role: Role = Role.STUDENT) -> Account:
        email = None if role is Role.GUEST else f"person{next(numbers)}@example.org"
        account = Account(email=email, role=role)
        with database.write() as session:
            session.add(account)
        return account

    return make


@pytest.fixture
def account(new_account: Callable[..., Account]) -> Account:
    """Store a student's account."""
    return new_account()


@pytest.fixture
def send(database: Database, queue: GradingQueue, account: Account, version: ExerciseVersion) -> Submit:
    """Return a function that submits, as one request would."""

    def send_one(source: str = "table = 1", **wishes: object) -> Submission:
        if "network" in wishes:
            wishes["origin"] = SubmissionOrigin(network=str(wishes.pop("network")))
        wishes = {"account": account, "exercise_id": EXERCISE, "queue": queue} | wishes
        with database.write() as session:
            return submit(session, source=source, **wishes).submission  # type: ignore[arg-type]

    return send_one


@pytest.fixture
def report() -> Report:
    """Return a report as a grader gives it."""
    return Report(
        exercise=EXERCISE,
        version=1,
        verdict=Verdict.PASSED,
        checks=(),
        misconception=None,
        error=None,
        report="",
        output="",
        output_truncated=False,
        tensors=(),
        timing_ms=Timing(run=10.0, judge=5.0, total=15.0),
        seed="0",
    )


@pytest.fixture
def claim(database: Database, queue: GradingQueue) -> Callable[..., Lease | None]:
    """Return a function that claims a job in a transaction of its own."""

    def claim_one(owner: str = ELSEWHERE) -> Lease | None:
        with database.write() as session:
            queue.rescue(session)  # as workers do every few seconds
        with database.write() as session:
            return queue.claim(session, owner=owner)

    return claim_one


@pytest.fixture
def claimed(claim: Callable[..., Lease | None]) -> Callable[..., Lease]:
    """Return a function that claims a job which must be there."""

    def claim_one(owner: str = ELSEWHERE) -> Lease:
        lease = claim(owner)
        assert lease is not None
        return lease

    return claim_one
