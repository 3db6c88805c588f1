"""A code gives its plan to the first who enters it, once, however it is typed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app.clock import utc_now
from app.db import Database
from app.errors import CodeNotNeeded, CodeRefused, LimitRefused, NotFound, SignUpFirst
from app.models import Account, RedeemCode, Role
from app.services import audit
from app.services.accounts.access import create_guest
from app.services.audit import AuditFilter
from app.services.plans import codes, plans
from app.services.plans.codes import Offer

SPRING = Offer("Spring course", "pro", 30, None)
Make = Callable[..., list[str]]


@pytest.fixture
def make(database: Database) -> Make:
    """Return a function that makes a batch."""

    def make_one(count: int = 1, offer: Offer = SPRING) -> list[str]:
        with database.write() as session:
            return codes.make_batch(session, offer, count, by=None)

    return make_one


def redeem(database: Database, account: Account, typed: str) -> plans.CurrentPlan:
    """Enter a code, as one request would."""
    with database.write() as session:
        return codes.redeem(session, account, typed)


def test_code_gives_its_plan_for_its_days(database: Database, account: Account, make: Make) -> None:
    """And the log says where the plan came from."""
    (code,) = make()
    current_plan = redeem(database, account, code)
    assert current_plan.ends_at is not None
    assert current_plan.name == "pro"
    assert timedelta(days=29, hours=23) < current_plan.ends_at - utc_now() <= timedelta(days=30)
    with database.read() as session:
        (entry,) = audit.search(session, AuditFilter(action="user.plan"), limit=5)
    assert (entry.actor, entry.subject, entry.reason) == (
        account.email,
        account.email,
        "Code of the batch “Spring course”",
    )


def test_code_without_days_gives_its_plan_without_end(database: Database, account: Account, make: Make) -> None:
    """Until an administrator changes it."""
    (code,) = make(offer=Offer("Friends", "pro", None, None))
    assert redeem(database, account, code).ends_at is None


@pytest.mark.parametrize(
    "retyped",
    [
        str.lower,
        lambda code: code.replace("-", ""),
        lambda code: code.replace("-", " "),
        lambda code: f"  {code}\n",
        lambda code: code.replace("-", "–"),
        lambda code: code.removeprefix("KEL-"),
        lambda code: code.replace("0", "O").replace("1", "l"),
        lambda code: code.replace("0", "o").replace("1", "I"),
    ],
)
def test_code_may_be_typed_as_people_type(sqlite_database: Database, retyped: Callable[[str], str]) -> None:
    """Small letters, spaces, other dashes, and the letters that look like digits."""
    account = Account(email="ada@example.org", role=Role.STUDENT)
    with sqlite_database.write() as session:
        session.add(account)
        made = codes.make_batch(session, SPRING, 8, by=None)
    for code in made:
        redeem(sqlite_database, account, retyped(code))


def test_code_works_once(database: Database, account: Account, make: Make) -> None:
    """A second time it is as if it had never been, for its owner too."""
    (code,) = make()
    redeem(database, account, code)
    with pytest.raises(CodeRefused):
        redeem(database, account, code)


def test_code_entered_by_many_at_once_is_given_once(
    database: Database, new_account: Callable[..., Account], make: Make
) -> None:
    """Sixteen people enter the same code concurrently: one has the plan."""
    (code,) = make()
    people = [new_account() for _ in range(16)]

    def try_it(account: Account) -> bool:
        try:
            redeem(database, account, code)
        except CodeRefused:
            return False
        return True

    with ThreadPoolExecutor(max_workers=16) as threads:
        assert sum(threads.map(try_it, people)) == 1
    with database.read() as session:
        assert [plans.plan_of(session, one.id).name for one in people].count("pro") == 1


def test_days_of_several_codes_add_up(database: Database, account: Account, make: Make) -> None:
    """Also when they are entered concurrently."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        list(threads.map(lambda code: redeem(database, account, code), make(4)))
    with database.read() as session:
        ends_at = plans.plan_of(session, account.id).ends_at
    assert ends_at is not None
    assert (ends_at - utc_now()).days in {119, 120}


@pytest.mark.parametrize("typed", ["", "KEL", "KEL-0000-0000-0000-0000", "é" * 16, "\0", "\ud800", "0" * 10_000])
def test_unknown_code_is_refused(database: Database, account: Account, make: Make, typed: str) -> None:
    """Whatever is typed, it is the same sentence."""
    make()
    with pytest.raises(CodeRefused):
        redeem(database, account, typed)


def test_code_that_is_too_old_is_refused(database: Database, account: Account, make: Make) -> None:
    """From its expiry on, to the second."""
    (code,) = make(offer=Offer("Spring course", "pro", 30, utc_now() + timedelta(hours=1)))
    with database.write() as session:
        session.execute(update(RedeemCode).values(expires_at=utc_now()))
    with pytest.raises(CodeRefused):
        redeem(database, account, code)


def test_guest_signs_up_first_and_the_code_stays_good(database: Database, account: Account, make: Make) -> None:
    """A guest's plan would be lost with the cookie."""
    (code,) = make()
    with database.write() as session:
        guest, _ = create_guest(session)
    with pytest.raises(SignUpFirst):
        redeem(database, guest, code)
    assert redeem(database, account, code).name == "pro"


def test_code_is_not_wasted(
    database: Database, account: Account, new_account: Callable[..., Account], make: Make
) -> None:
    """Whoever has the plan without end, or is not limited at all, can give it to somebody else."""
    (code,) = make()
    with database.write() as session:
        plans.give_plan(session, account, "pro", by=None)
    for one in (account, new_account(Role.INSTRUCTOR)):
        with pytest.raises(CodeNotNeeded):
            redeem(database, one, code)
    assert redeem(database, new_account(), code).name == "pro"


def test_codes_cannot_be_read_from_the_database(database: Database, make: Make) -> None:
    """Only their hashes are there, and no two are the same."""
    made = make(50)
    assert len(set(made)) == 50
    with database.read() as session:
        kept = " ".join(str(value) for row in session.execute(select(RedeemCode.__table__)) for value in row)
    assert not any(code[4:] in kept or code[4:].replace("-", "") in kept for code in made)


def test_batch_tells_how_many_are_used_and_expired(database: Database, account: Account, make: Make) -> None:
    """Revoking it lets those expire that nobody has used."""
    code, other, _ = make(3)
    redeem(database, account, code)
    with database.write() as session:
        batch = codes.batch_named(session, "Spring course")
        assert (batch.offer, batch.made, batch.redeemed, batch.expired, batch.unused) == (SPRING, 3, 1, 0, 2)
        assert codes.revoke_batch(session, "Spring course", by=None, reason="sent to the wrong people") == 2
        assert codes.revoke_batch(session, "Spring course", by=None) == 0
    with database.read() as session:
        (batch,) = codes.list_batches(session)
        entries = audit.search(session, AuditFilter(action="codes"), limit=5)
    assert (batch.redeemed, batch.expired, batch.unused) == (1, 2, 0)
    assert [(entry.action, entry.reason) for entry in entries] == [
        ("codes.revoke", "sent to the wrong people"),
        ("codes.make", ""),
    ]
    with pytest.raises(CodeRefused):
        redeem(database, account, other)


@pytest.mark.parametrize(
    ("count", "offer"),
    [
        (0, SPRING),
        (1001, SPRING),
        (1, Offer("", "pro", 30, None)),
        (1, Offer("x" * 61, "pro", 30, None)),
        (1, Offer("nul\0", "pro", 30, None)),
        (1, Offer("Spring", "pro", 0, None)),
        (1, Offer("Spring", "pro", 3661, None)),
        (1, Offer("Spring", "pro", 30, utc_now() - timedelta(seconds=1))),
    ],
)
def test_batch_that_cannot_be_is_refused(sqlite_database: Database, count: int, offer: Offer) -> None:
    """Nothing of it is made."""
    with sqlite_database.write() as session, pytest.raises(LimitRefused):
        codes.make_batch(session, offer, count, by=None)
    with sqlite_database.read() as session:
        assert codes.list_batches(session) == []


def test_label_of_a_batch_is_its_own(database: Database, make: Make) -> None:
    """So that revoking one never touches another; and there is no batch without a plan that exists."""
    make()
    with pytest.raises(LimitRefused, match="already"):
        make()
    with pytest.raises(NotFound):
        make(offer=Offer("Gold", "gold", 30, None))
    with database.write() as session, pytest.raises(NotFound):
        codes.revoke_batch(session, "no such", by=None)
