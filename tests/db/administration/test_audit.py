"""What administrators have done stays on record, and can be found there."""

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.clock import utc_now
from app.db import Database
from app.errors import LimitRefused, NotFound
from app.models import Account, MessageState, TutorMessage
from app.services import audit
from app.services.audit import AuditFilter, Change
from app.services.plans import plans
from app.services.tutor import policy
from app.services.tutor.policy import Policy


def record(database: Database, action: str, subject: str = "ada@example.org", reason: str = "") -> None:
    """Write one entry, in a transaction of its own."""
    with database.write() as session:
        audit.record(session, Change(action, "user", "1", subject, {"n": 1}, {"n": 2}, reason), by=None)


def found(database: Database, **wanted: object) -> list[str]:
    """Return the actions of the entries that are found."""
    with database.read() as session:
        return [one.action for one in audit.search(session, AuditFilter(**wanted), limit=9)]  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["UPDATE audit_entry SET reason = 'another'", "DELETE FROM audit_entry"])
def test_entry_can_be_neither_changed_nor_deleted(database: Database, change: str) -> None:
    """Whoever comes to the database, past all of Kelolo."""
    record(database, "user.role")
    with pytest.raises(DBAPIError, match="only added to"), database.write() as session:
        session.execute(text(change))
    assert found(database) == ["user.role"]


def test_change_that_fails_leaves_no_entry(database: Database, account: Account) -> None:
    """Entry and change are of one transaction."""

    def change_and_fail() -> None:
        with database.write() as session:
            plans.give_plan(session, account, "pro", by=None)
            plans.give_plan(session, account, "gold", by=None)

    with pytest.raises(NotFound):
        change_and_fail()
    assert found(database) == []


def test_entries_are_found_by_who_what_whom_and_when(database: Database, account: Account) -> None:
    """Each filter narrows; the newest stands first."""
    with database.write() as session:
        audit.record(session, Change("plan.limits", "plan", "free", "Free"), by=account)
    middle = utc_now()
    record(database, "user.role")
    record(database, "user.block", subject="100%@example.org")
    assert found(database) == ["user.block", "user.role", "plan.limits"]
    assert found(database, actor="PERSON1") == ["plan.limits"]
    assert found(database, actor="command line", action="user.") == ["user.block", "user.role"]
    assert found(database, subject="%") == ["user.block"]
    assert found(database, subject="free") == ["plan.limits"]
    assert found(database, since=middle) == ["user.block", "user.role"]
    assert found(database, until=middle) == ["plan.limits"]
    assert found(database, since=middle, until=middle + timedelta(days=1), action="user.r") == ["user.role"]


def test_entries_come_in_pages_that_new_ones_do_not_move(database: Database) -> None:
    """The next page goes on behind the last entry of this one."""
    for number in range(5):
        record(database, f"user.{number}")
    with database.read() as session:
        page = audit.search(session, AuditFilter(), limit=2)
    record(database, "user.new")
    with database.read() as session:
        rest = audit.search(session, AuditFilter(), limit=9, after=audit.entry(session, page[-1].id))
        with pytest.raises(NotFound):
            audit.entry(session, "no such")
    assert [one.action for one in [*page, *rest]] == ["user.4", "user.3", "user.2", "user.1", "user.0"]


def test_reason_is_plain_text(database: Database) -> None:
    """What PostgreSQL cannot store is left out."""
    record(database, "user.role", reason=" a\0b\n")
    with database.read() as session:
        assert audit.search(session, AuditFilter(), limit=1)[0].reason == "a b"


def test_ceilings_of_the_tutor_are_changed_and_recorded(database: Database) -> None:
    """A new site calls no hosted model; what cannot be is refused, what changes nothing is not recorded."""
    with database.write() as session:
        assert policy.policy_of(session).month_token_ceiling == 0
        policy.set_policy(session, Policy(50_000, 10, "Write to us."), by=None, reason="trial")
        policy.set_policy(session, Policy(50_000, 10, "Write to us."), by=None)
        for wrong in (Policy(-1, 10), Policy(policy.MOST_TOKENS + 1, 10), Policy(0, -1), Policy(0, 1, "x" * 601)):
            with pytest.raises(LimitRefused):
                policy.set_policy(session, wrong, by=None)
    with database.read() as session:
        assert policy.policy_of(session) == Policy(50_000, 10, "Write to us.")
        (entry,) = audit.search(session, AuditFilter(), limit=5)
    assert (entry.before, entry.after) == (
        {"month_token_ceiling": 0, "failures_per_day": 30, "upgrade_text": ""},
        {"month_token_ceiling": 50_000, "failures_per_day": 10, "upgrade_text": "Write to us."},
    )


def test_month_of_the_tutor_is_told_in_numbers(database: Database, account: Account, version: object) -> None:
    """Messages by how they ended, and what was said of the answers."""
    ended = [(MessageState.SETTLED, 1), (MessageState.SETTLED, -1), (MessageState.RELEASED, None)]
    with database.write() as session:
        for number, (state, rating) in enumerate(ended):
            session.add(
                TutorMessage(
                    account_id=account.id,
                    exercise_version_id=version.id,  # type: ignore[attr-defined]
                    client_message_id=str(number),
                    question="Why?",
                    state=state,
                    charged=True,
                    owner="a:1:1",
                    lease_until=utc_now(),
                    rating=rating,
                )
            )
    with database.read() as session:
        month = policy.this_month(session)
    assert (month.messages, month.settled, month.released, month.helped, month.not_helped) == (3, 2, 1, 1, 1)
    assert (month.tokens_reserved, month.tokens_spent) == (0, 0)
