"""
Turns are shared among networks and then among accounts, and guests have bounds of their own.

As with the rest of the queue, all of this runs on SQLite with leases, and on PostgreSQL with procrastinate.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.db import Database
from app.errors import GuestsQueueFull, QueueFull, TooManyWaiting
from app.models import Account, Job, JobKind, Role, Submission
from app.services.grading.queue import GradingQueue, Lease

Send = Callable[..., Submission]
ELSEWHERE = "another-machine/0/0:1:1"


def test_accounts_of_a_network_take_turns_and_so_do_networks(
    send: Send, claimed: Callable[..., Lease], new_account: Callable[..., Account]
) -> None:
    """Whoever sends much under many accounts stands behind themselves, and in their network everyone has a turn."""
    crowd = [send(f"number = {number}", account=new_account(), network="crowd").id for number in range(6)]
    hog = [send(f"hog = {number}", network="class").id for number in range(4)]
    students = [send("mine = 1", account=new_account(), network="class").id for _ in range(3)]
    alone = send("alone = 1", account=new_account(), network="home").id
    order = [claimed().submission_id for _ in range(14)]
    assert order[:3] == [crowd[0], hog[0], alone]
    assert [one for one in order if one in {*hog, *students}] == [hog[0], *students, *hog[1:]]
    assert [order.index(one) for one in students] == [4, 6, 8]


def test_whoever_keeps_sending_does_not_come_forward(
    send: Send, claimed: Callable[..., Lease], new_account: Callable[..., Account]
) -> None:
    """A place that was given is not improved by sending more: others who came meanwhile go first."""
    for number in range(4):
        send(f"hog = {number}", network="hog")
    claimed()
    student = send("mine = 1", account=new_account(), network="home").id
    for number in range(4, 8):
        send(f"hog = {number}", network="hog")
    assert claimed().submission_id == student


def test_regrades_of_an_account_do_not_hold_up_its_live_submission(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claimed: Callable[..., Lease],
    new_account: Callable[..., Account],
) -> None:
    """Places are counted among jobs of one kind."""
    mine = [send(f"old = {number}") for number in range(3)]
    for _ in mine:
        lease = claimed()
        with database.write() as session:
            queue.finish(session, lease)
    with database.write() as session:
        for one in mine:
            queue.enqueue(session, one, kind=JobKind.REGRADE)
    live = send("new = 1").id
    send("other = 1", account=new_account())
    assert claimed().submission_id == live


def test_flood_of_guests_does_not_hold_up_a_student(
    database: Database,
    queue: GradingQueue,
    send: Send,
    claimed: Callable[..., Lease],
    new_account: Callable[..., Account],
) -> None:
    """While guests of three networks send without end, whoever is signed in is the next, also from one of them."""
    networks = ("first", "second", "third")
    refused = 0
    for number in range(10):
        for network in networks:
            try:
                send(f"number = {number}", account=new_account(Role.GUEST), network=network)
            except TooManyWaiting:
                refused += 1
        if number % 3 == 2:
            claimed()  # a slot has become free
            for network in ("home", *networks):
                student = send("mine = 1", account=new_account(), network=network).id
                with database.read() as session:
                    assert queue.position(session, student) == 1
                assert claimed().submission_id == student
    assert refused > 0


def test_guests_of_a_network_may_have_five_waiting(
    database: Database, send: Send, claimed: Callable[..., Lease], new_account: Callable[..., Account]
) -> None:
    """The sixth is told so and leaves nothing behind; another network, and whoever is signed in, are taken in."""
    for number in range(5):
        send(f"number = {number}", account=new_account(Role.GUEST), network="crowd")
    with pytest.raises(TooManyWaiting) as refusal:
        send("number = 6", account=new_account(Role.GUEST), network="crowd")
    assert (refusal.value.status, refusal.value.fields["retry_after_s"]) == (429, 5)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 5
    send("number = 7", account=new_account(Role.GUEST), network="elsewhere")
    send("number = 8", account=new_account(), network="crowd")
    for _ in range(3):  # first whoever is signed in, then the other network
        claimed()
    send("number = 9", account=new_account(Role.GUEST), network="crowd")


def test_guests_have_a_quarter_of_the_queue(
    send: Send, make_queue: Callable[..., GradingQueue], new_account: Callable[..., Account]
) -> None:
    """However many networks they come from; the rest stays free for whoever is signed in."""
    small = make_queue(limit=8)
    for number in range(2):
        send("guest = 1", account=new_account(Role.GUEST), network=f"network {number}", queue=small)
    with pytest.raises(GuestsQueueFull) as refusal:
        send("guest = 1", account=new_account(Role.GUEST), network="network 3", queue=small)
    assert refusal.value.status == 503
    assert "sign in" in refusal.value.detail
    for number in range(6):
        send(f"number = {number}", queue=small)
    with pytest.raises(QueueFull):
        send("number = 7", queue=small)


def test_bounds_of_guests_hold_for_many_at_once(
    database: Database, send: Send, new_account: Callable[..., Account]
) -> None:
    """Twenty guests of one network concurrently: five are taken in."""
    guests = [new_account(Role.GUEST) for _ in range(20)]

    def try_one(guest: Account) -> bool:
        try:
            send("number = 1", account=guest, network="crowd")
        except TooManyWaiting:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(try_one, guests)) == 5
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == 5


def test_slot_can_leave_guests_to_others(
    database: Database, queue: GradingQueue, send: Send, new_account: Callable[..., Account]
) -> None:
    """So that of several slots one is never busy with what guests have sent."""
    guests = send("guest = 1", account=new_account(Role.GUEST), network="crowd").id
    with database.write() as session:
        assert queue.claim(session, owner=ELSEWHERE, guests=False) is None
    student = send("mine = 1").id
    with database.write() as session:
        lease = queue.claim(session, owner=ELSEWHERE, guests=False)
        assert lease is not None
        assert lease.submission_id == student
        assert queue.claim(session, owner=ELSEWHERE, guests=False) is None
        lease = queue.claim(session, owner=ELSEWHERE)
        assert lease is not None
        assert lease.submission_id == guests


def test_lost_job_of_a_guest_is_rescued(
    send: Send, claimed: Callable[..., Lease], pass_by: Callable[[float], None], new_account: Callable[..., Account]
) -> None:
    """As any other, although it stands in a queue of its own where procrastinate has it."""
    guests = send("guest = 1", account=new_account(Role.GUEST), network="crowd").id
    claimed()
    pass_by(31)
    assert claimed().submission_id == guests


def test_network_is_known_no_longer_than_the_job_waits(
    database: Database, queue: GradingQueue, send: Send, claimed: Callable[..., Lease]
) -> None:
    """After the verdict nothing in the database tells where a submission came from."""
    send(network="crowd")
    lease = claimed()
    with database.write() as session:
        assert session.scalars(select(Job.network)).all() == ["crowd"]
        queue.finish(session, lease)
        assert session.scalars(select(Job.network)).all() == []
    assert "network" not in {column.name for column in Submission.__table__.columns}
