"""
The queue hands each job to one worker at a time, in a fair order, and loses none.

What holds for one adapter holds for the other: all of this runs on SQLite with leases, and on PostgreSQL with
procrastinate.
"""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.db import Database
from app.errors import LeaseLost, QueueFull
from app.models import Account, Job, JobKind, Submission
from app.services.grading.queue import MAX_TRIES, GradingQueue, Lease
from app.services.process_identity import this_process

Send = Callable[..., Submission]
ELSEWHERE = "another-machine/0/0:1:1"


def test_empty_queue_has_nothing_to_claim(claim: Callable[..., Lease | None]) -> None:
    """A worker that asks an empty queue is told so."""
    assert claim() is None


def test_each_job_is_claimed_once_by_many_threads(database: Database, queue: GradingQueue, send: Send) -> None:
    """Eight workers that race for forty jobs get forty different ones."""
    sent = {send(f"number = {number}").id for number in range(40)}

    def work(number: int) -> list[str]:
        won: list[str] = []
        while True:
            with database.write() as session:
                lease = queue.claim(session, owner=f"another-machine/0/0:{number}:1")
            if lease is None:
                return won
            won.append(lease.submission_id)

    with ThreadPoolExecutor(8) as pool:
        claims = [one for won in pool.map(work, range(8)) for one in won]
    assert sorted(claims) == sorted(sent)


CLAIM_ALL = """
import sys
from app.db import Database
from app.services.process_identity import this_process
from app.services.grading.backend import queue_for
from app.settings import Settings
settings = Settings(database_url=sys.argv[1])
database = Database(settings.database_url)
queue = queue_for(settings, database)
sys.stdin.read()
while True:
    with database.write() as session:
        lease = queue.claim(session, owner=this_process())
    if lease is None:
        break
    print(lease.submission_id)
    with database.write() as session:
        queue.finish(session, lease)
"""


def test_each_job_is_claimed_once_by_many_processes(database: Database, send: Send) -> None:
    """Processes that start at the same signal share the jobs out, each to one of them."""
    sent = {send(f"number = {number}").id for number in range(30)}
    url = database.url.render_as_string(hide_password=False)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM_ALL, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    claims = [line for worker in workers for line in worker.communicate()[0].split()]
    assert sorted(claims) == sorted(sent)


def test_finished_job_is_gone(
    database: Database, queue: GradingQueue, send: Send, claim: Callable[..., Lease | None]
) -> None:
    """What was finished is never handed out again."""
    send()
    lease = claim()
    assert lease is not None
    with database.write() as session:
        queue.finish(session, lease)
    assert claim() is None


def test_claimed_job_is_not_handed_out_while_its_lease_holds(
    send: Send, claim: Callable[..., Lease | None], pass_by: Callable[[float], None]
) -> None:
    """A worker on another machine keeps its job until the lease is over, and no longer."""
    send()
    assert claim() is not None
    pass_by(29)
    assert claim() is None
    pass_by(2)
    assert claim() is not None


def test_late_worker_cannot_finish_a_job_that_passed_on(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease], pass_by: Callable[[float], None]
) -> None:
    """A worker given up for dead comes back, and is refused; its successor is not."""
    send()
    late = claimed()
    pass_by(31)
    successor = claimed()
    with pytest.raises(LeaseLost), database.write() as session:
        queue.finish(session, late)
    with database.write() as session:
        queue.finish(session, successor)


def test_late_worker_cannot_release_or_renew_a_job_that_passed_on(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease], pass_by: Callable[[float], None]
) -> None:
    """Giving back or holding on needs the newest claim as well."""
    send()
    late = claimed()
    pass_by(31)
    successor = claimed()
    with database.write() as session:
        queue.release(session, late)
    with pytest.raises(LeaseLost), database.write() as session:
        queue.renew(session, late)
    with database.write() as session:
        queue.finish(session, successor)


def test_renewed_lease_holds_longer(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claim: Callable[..., Lease | None],
    pass_by: Callable[[float], None],
) -> None:
    """A worker that says it is still busy keeps its job."""
    send()
    lease = claim()
    assert lease is not None
    pass_by(25)
    with database.write() as session:
        renewed = queue.renew(session, lease)
    pass_by(25)
    assert claim() is None
    assert renewed.until > lease.until


def test_job_of_a_dead_process_is_free_at_once(send: Send, claim: Callable[..., Lease | None]) -> None:
    """A killed worker on this machine is noticed without waiting for its lease to end."""
    send()
    worker = subprocess.Popen(
        [sys.executable, "-c", "from app.services.process_identity import *; print(this_process()); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    owner = worker.stdout.readline().strip()
    assert claim(owner) is not None
    assert claim() is None
    worker.kill()
    worker.communicate()
    lease = claim()
    assert lease is not None
    assert lease.tries == 2


def test_reused_process_number_does_not_keep_a_job(send: Send, claim: Callable[..., Lease | None]) -> None:
    """Another process under the dead worker's number does not pass for it."""
    send()
    host, pid, _start = this_process().rsplit(":", 2)
    assert claim(f"{host}:{pid}:1") is not None
    assert claim() is not None


def test_job_of_a_living_process_is_not_taken(send: Send, claim: Callable[..., Lease | None]) -> None:
    """A worker of this machine that lives keeps its job."""
    send()
    assert claim(this_process()) is not None
    assert claim() is None


def test_job_is_exhausted_after_three_tries(
    send: Send, claimed: Callable[..., Lease], pass_by: Callable[[float], None]
) -> None:
    """The fourth claim says that the job is not to be run again."""
    send()
    for tries in range(1, MAX_TRIES + 1):
        lease = claimed()
        assert (lease.tries, lease.exhausted) == (tries, False)
        pass_by(31)
    assert claimed().exhausted


def test_released_job_can_be_claimed_at_once(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease]
) -> None:
    """A job given back after a fault counts as tried; one given back at shutdown does not."""
    send()
    tries = []
    for tried in (True, False, True):
        lease = claimed()
        tries.append(lease.tries)
        with database.write() as session:
            queue.release(session, lease, tried=tried)
    assert tries == [1, 2, 2]


def test_waiting_jobs_of_one_account_do_not_hold_up_another(
    send: Send, claimed: Callable[..., Lease], new_account: Callable[..., Account]
) -> None:
    """Ten jobs of one student let another's only one pass after the first."""
    many = [send(f"number = {number}").id for number in range(10)]
    one = send("mine = 1", account=new_account()).id
    order = [claimed().submission_id for _ in range(11)]
    assert order == [many[0], one, *many[1:]]


def test_regrades_wait_for_live_submissions(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease]
) -> None:
    """A student who waits goes before a regrade that came first."""
    old = send("old = 1")
    lease = claimed()
    with database.write() as session:
        queue.finish(session, lease)
        queue.enqueue(session, old, kind=JobKind.REGRADE)
    live = [send("new = 1").id, send("new = 2").id]
    assert [claimed().submission_id for _ in range(3)] == [*live, old.id]


def test_place_counts_down_as_others_are_claimed(
    database: Database, queue: GradingQueue, send: Send, claim: Callable[..., Lease | None]
) -> None:
    """A waiting student is told 3, then 2, then 1, then that it runs."""
    ids = [send(f"number = {number}").id for number in range(3)]
    positions = []
    for _ in range(4):
        with database.read() as session:
            positions.append(queue.position(session, ids[-1]))
        claim()
    assert positions == [3, 2, 1, None]


def test_full_queue_refuses_before_anything_is_stored(
    database: Database, send: Send, make_queue: Callable[..., GradingQueue]
) -> None:
    """With no room left, a submission leaves neither itself nor a job behind."""
    small = make_queue(limit=2)
    send("number = 1", queue=small)
    send("number = 2", queue=small)
    with pytest.raises(QueueFull) as refusal:
        send("number = 3", queue=small)
    assert refusal.value.status == 503
    assert refusal.value.fields["retry_after_s"] == 5
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 2
        assert session.scalar(select(func.count()).select_from(Job)) == 2


def test_claim_makes_room_in_a_full_queue(
    send: Send, database: Database, make_queue: Callable[..., GradingQueue]
) -> None:
    """What is being graded does not wait, and so does not count."""
    small = make_queue(limit=1)
    send("number = 1", queue=small)
    with database.write() as session:
        assert small.claim(session, owner=ELSEWHERE) is not None
    send("number = 2", queue=small)


def test_regrades_leave_room_for_live_submissions(
    database: Database, send: Send, claimed: Callable[..., Lease], make_queue: Callable[..., GradingQueue]
) -> None:
    """A class that is regraded does not shut the door on those who work now."""
    small = make_queue(limit=1)
    old = send("old = 1", queue=small)
    lease = claimed()
    with database.write() as session:
        small.finish(session, lease)
        small.enqueue(session, old, kind=JobKind.REGRADE)
    new = send("new = 1", queue=small)
    with database.read() as session:
        assert small.positions(session).keys() == {old.id, new.id}
    with pytest.raises(QueueFull):
        send("newer = 1", queue=small)


def test_all_queue_positions_are_read_at_once(
    database: Database, queue: GradingQueue, send: Send, new_account: Callable[..., Account]
) -> None:
    """What three hundred who wait are told is read once, and is what each would be told alone."""
    mine = [send(f"number = {number}").id for number in range(3)]
    others = send("number = 9", account=new_account()).id
    with database.read() as session:
        assert queue.positions(session) == {mine[0]: 1, others: 2, mine[1]: 3, mine[2]: 4}
        assert [queue.position(session, one) for one in (*mine, others)] == [1, 3, 4, 2]


def test_hog_does_not_hold_up_a_class(
    send: Send, claimed: Callable[..., Lease], new_account: Callable[..., Account]
) -> None:
    """Behind a program that sent thirty, each of five students waits for one of them at most."""
    hog = [send(f"number = {number}").id for number in range(30)]
    students = {send("mine = 1", account=new_account()).id for _ in range(5)}
    order = [claimed().submission_id for _ in range(35)]
    assert set(order[:6]) == {hog[0], *students}
