"""The ledger of the tutor's messages: what is charged, what is given back, and what happens concurrently."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.clock import utc_now
from app.db import Database
from app.errors import AnswersPending, AppError, MessageClash, NotFound, QuestionRefused, QuotaSpent, TutorFailing
from app.models import (
    Account,
    ExerciseVersion,
    Grant,
    MessageState,
    Period,
    PlanLimit,
    Role,
    Rule,
    TokenMonth,
    TutorMessage,
    TutorPolicy,
    UsageCounter,
)
from app.services.plans import quotas
from app.services.process_identity import this_process
from app.services.tutor import ledger, policy
from app.services.tutor.ledger import CompleteAnswer, MessageRequest, Reservation

DEAD = "elsewhere/0:1:1"
Reserve = Callable[..., Reservation]
ANSWER = CompleteAnswer("Look at the shape of `x`.", [], "retrieval")


def left(database: Database, account: Account) -> int | None:
    """Return how many messages an account has left."""
    with database.read() as session:
        return quotas.quota_of(session, account).left


def settle(database: Database, reservation: Reservation, answer: CompleteAnswer = ANSWER) -> bool:
    """Settle a message in a transaction of its own."""
    with database.write() as session:
        return ledger.settle(session, reservation, answer)


def release(database: Database, reservation: Reservation, reason: str = "empty") -> bool:
    """Release a message in a transaction of its own."""
    with database.write() as session:
        return ledger.release(session, reservation, reason=reason)


def allow(database: Database, amount: int | None, fair_use: int | None = None) -> None:
    """Let the free plan have so many messages for ever, or without end."""
    with database.write() as session:
        session.execute(
            update(PlanLimit)
            .where(PlanLimit.plan_name == "free", PlanLimit.rule == Rule.TUTOR_MESSAGES)
            .values(amount=amount, period=Period.LIFETIME, fair_use_per_day=fair_use)
        )


def test_one_answer_is_one_message(database: Database, account: Account, reserve: Reserve) -> None:
    """A message is off the quota from the moment it is reserved, and stays so when it is settled."""
    reservation = reserve()
    assert left(database, account) == 29
    assert settle(database, reservation)
    assert left(database, account) == 29


def test_failed_answer_is_given_back(database: Database, account: Account, reserve: Reserve) -> None:
    """Whoever got no whole answer has not used a message, in no period."""
    assert release(database, reserve())
    assert left(database, account) == 30
    with database.read() as session:
        assert set(session.scalars(select(UsageCounter.used).where(UsageCounter.rule == Rule.TUTOR_MESSAGES))) == {0}


def test_same_id_is_charged_once(database: Database, account: Account, reserve: Reserve) -> None:
    """Sending twice finds the first message: while it is answered, and afterwards."""
    first = reserve("once")
    again = reserve("once")
    assert (again.message_id, again.under_way, again.settled) == (first.message_id, True, False)
    settle(database, first)
    again = reserve("once")
    assert (again.message_id, again.under_way, again.settled) == (first.message_id, False, True)
    assert left(database, account) == 29


def test_same_id_with_another_question_is_refused(reserve: Reserve) -> None:
    """An id names one question; another one under it is a mistake of the program that sends it."""
    reserve("once", "why?")
    with pytest.raises(MessageClash):
        reserve("once", "how?")


def test_same_id_of_two_accounts_is_two_messages(
    database: Database, new_account: Callable[..., Account], reserve: Reserve
) -> None:
    """Ids are chosen by browsers, so nobody else's may stand in the way."""
    other = new_account()
    assert reserve("once").message_id != reserve("once", who=other).message_id


def test_released_message_may_be_tried_again(database: Database, account: Account, reserve: Reserve) -> None:
    """After a failure the same id asks once more, and is charged once."""
    first = reserve("once")
    release(database, first)
    second = reserve("once")
    assert (second.message_id, second.tries, second.under_way) == (first.message_id, 2, False)
    assert settle(database, second)
    assert left(database, account) == 29


def test_late_end_of_an_earlier_try_changes_nothing(database: Database, account: Account, reserve: Reserve) -> None:
    """An answer that was given up can neither settle nor release the attempt that followed it."""
    first = reserve("once")
    release(database, first)
    second = reserve("once")
    assert not settle(database, first)
    assert not release(database, first)
    assert left(database, account) == 29
    assert settle(database, second)


def test_settled_message_cannot_be_released(database: Database, account: Account, reserve: Reserve) -> None:
    """What was delivered stays charged."""
    reservation = reserve()
    settle(database, reservation)
    assert not release(database, reservation)
    assert left(database, account) == 29


@pytest.mark.parametrize("name", ["", " \n", "x" * 101])
def test_id_that_cannot_be_kept_is_refused(
    database: Database, account: Account, version: ExerciseVersion, name: str
) -> None:
    """An id is 1 to 100 printable characters."""
    with pytest.raises(QuestionRefused), database.write() as session:
        ledger.reserve(session, account, MessageRequest(version.id, name, "why?"), owner=this_process())


def test_nothing_left_is_said_with_the_rule(database: Database, account: Account, reserve: Reserve) -> None:
    """At the limit the refusal says which, how much was used, and by what plan."""
    allow(database, 1)
    settle(database, reserve())
    with pytest.raises(QuotaSpent) as refused:
        reserve()
    fields = refused.value.fields
    assert (fields["rule"], fields["limit"], fields["used"], fields["plan"]) == ("tutor_messages", 1, 1, "Free")
    assert "1 tutor messages of the Free plan" in refused.value.detail


def test_last_message_under_way_is_not_said_to_be_spent(database: Database, account: Account, reserve: Reserve) -> None:
    """While the last answer may still fail, the refusal says to try again in a moment."""
    allow(database, 1)
    first = reserve()
    with pytest.raises(AnswersPending):
        reserve()
    release(database, first)
    settle(database, reserve())
    with pytest.raises(QuotaSpent):
        reserve()


def test_fifty_at_once_get_exactly_what_is_left(database: Database, account: Account, reserve: Reserve) -> None:
    """Thirty messages are thirty under any concurrency: each taken once, none lost."""

    def try_one(number: int) -> bool:
        try:
            reserve(f"at-once-{number}")
        except AnswersPending:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        got = sum(pool.map(try_one, range(50)))
    assert got == 30
    with database.read() as session:
        states = session.scalars(select(TutorMessage.state).where(TutorMessage.account_id == account.id)).all()
    assert states == [MessageState.RESERVED] * 30


def test_same_id_ten_times_at_once_is_charged_once(database: Database, account: Account, reserve: Reserve) -> None:
    """Of ten concurrent sends under one id, one reserves and nine find it."""
    with ThreadPoolExecutor(10) as pool:
        got = list(pool.map(lambda _: reserve("once"), range(10)))
    assert len({one.message_id for one in got}) == 1
    assert sum(not one.under_way for one in got) == 1
    assert left(database, account) == 29


def test_releases_at_once_give_back_once(database: Database, account: Account, reserve: Reserve) -> None:
    """However many see that an answer has failed, the message comes back once."""
    reserve()
    reservation = reserve()
    with ThreadPoolExecutor(8) as pool:
        freed = sum(pool.map(lambda _: release(database, reservation), range(8)))
    assert freed == 1
    assert left(database, account) == 29


def test_message_of_a_dead_server_is_given_back(database: Database, account: Account, reserve: Reserve) -> None:
    """A server that is killed in the middle of an answer leaves a reservation, and the next look releases it."""
    dead = this_process().rsplit(":", 1)[0] + ":1"  # this machine and number, another start
    lost = reserve("killed", owner=dead)
    with database.write() as session:
        assert ledger.release_lost(session) == 1
    assert left(database, account) == 30
    assert not settle(database, lost)


def test_message_whose_lease_is_over_is_given_back(database: Database, account: Account, reserve: Reserve) -> None:
    """Of servers on other machines nothing is known, so the lease decides."""
    reserve("abroad", owner=DEAD)
    with database.write() as session:
        assert ledger.release_lost(session, account_id=account.id) == 0
        session.execute(update(TutorMessage).values(lease_until=utc_now() - timedelta(seconds=1)))
    reserve()
    assert left(database, account) == 29


def test_forced_failures_end_somewhere(database: Database, account: Account, reserve: Reserve) -> None:
    """After as many failures in a day as the policy allows, nothing more is asked until tomorrow; none was charged."""
    with database.write() as session:
        session.get_one(TutorPolicy, 1).failures_per_day = 3
    for _ in range(3):
        release(database, reserve())
    with pytest.raises(TutorFailing) as refused:
        reserve()
    assert refused.value.fields["rule"] == "tutor_failures"
    assert isinstance(resets_at := refused.value.fields["resets_at"], datetime)
    assert resets_at > utc_now()
    assert left(database, account) == 30


def test_teachers_are_not_charged(database: Database, new_account: Callable[..., Account], reserve: Reserve) -> None:
    """Plans bind students and guests; those who teach try the tutor as often as they need."""
    teacher = new_account(Role.INSTRUCTOR)
    allow(database, 0)
    settle(database, reserve(who=teacher))
    assert left(database, teacher) is None


def test_what_was_given_on_top_is_used_last(database: Database, account: Account, reserve: Reserve) -> None:
    """The plan's own amount goes first; a failed answer goes back to where it came from."""
    allow(database, 1)
    with database.write() as session:
        session.add(Grant(account_id=account.id, rule=Rule.TUTOR_MESSAGES, amount=1))
    settle(database, reserve())
    from_extra = reserve()
    assert left(database, account) == 0
    release(database, from_extra)
    assert left(database, account) == 1
    settle(database, reserve())
    with pytest.raises(QuotaSpent):
        reserve()


def test_unlimited_has_a_ceiling_of_fair_use(database: Database, account: Account, reserve: Reserve) -> None:
    """Unlimited is for people: the ceiling of a day stops a program, and says when there is more."""
    allow(database, None, fair_use=2)
    settle(database, reserve())
    settle(database, reserve())
    with pytest.raises(QuotaSpent) as refused:
        reserve()
    assert refused.value.fields["limit"] == 2
    assert refused.value.fields["resets_at"] is not None


def test_reset_is_not_undone_by_what_was_reserved_before(
    database: Database, account: Account, reserve: Reserve
) -> None:
    """After a reset the count begins at zero, and an older answer that fails takes nothing off it."""
    older = reserve()
    with database.write() as session:
        quotas.reset(session, account, Rule.TUTOR_MESSAGES, by=None)
    reserve()
    release(database, older)
    assert left(database, account) == 29


def test_hosted_model_is_never_called_without_a_ceiling(database: Database, reserve: Reserve) -> None:
    """The ledger of tokens fails closed: what no administrator has allowed is not spent."""
    with database.write() as session:
        assert not ledger.reserve_tokens(session, reserve_in(session, reserve), most=1)


def reserve_in(_session: object, reserve: Reserve) -> Reservation:
    """Return a reservation made before the transaction that is open now."""
    return reserve()


@pytest.fixture
def ceiling(database: Database) -> int:
    """Let a hosted model cost a thousand tokens a month."""
    with database.write() as session:
        session.get_one(TutorPolicy, 1).month_token_ceiling = 1000
    return 1000


def tokens(database: Database) -> tuple[int, int]:
    """Return what is reserved and spent this month."""
    with database.read() as session:
        month = policy.this_month(session)
    return month.tokens_reserved, month.tokens_spent


def set_aside(database: Database, reservation: Reservation, most: int) -> bool:
    """Reserve tokens in a transaction of its own."""
    with database.write() as session:
        return ledger.reserve_tokens(session, reservation, most=most)


def test_tokens_are_set_aside_and_then_counted(database: Database, reserve: Reserve, ceiling: int) -> None:
    """An answer may cost at most what was set aside; afterwards it counts as what it did cost."""
    reservation = reserve()
    assert set_aside(database, reservation, 600)
    assert tokens(database) == (600, 0)
    assert not set_aside(database, reserve(), 600)
    settle(database, reservation, CompleteAnswer("So.", [], "hosted", tokens=250))
    assert tokens(database) == (0, 250)
    assert set_aside(database, reserve(), 600)


def test_lost_answer_counts_as_its_most(database: Database, reserve: Reserve, ceiling: int) -> None:
    """Of an answer whose server died nobody knows the cost, so the ledger assumes the worst."""
    dead = this_process().rsplit(":", 1)[0] + ":1"
    set_aside(database, reserve(owner=dead), 600)
    with database.write() as session:
        ledger.release_lost(session)
    assert tokens(database) == (0, 600)


def test_ceiling_holds_under_concurrency(database: Database, reserve: Reserve, ceiling: int) -> None:
    """Ten answers at once that want 300 tokens each get three of them under a ceiling of a thousand."""
    reservations = [reserve() for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        got = sum(pool.map(lambda one: set_aside(database, one, 300), reservations))
    assert got == 3
    with database.read() as session:
        assert session.scalars(select(TokenMonth.reserved)).all() == [900]


def test_answer_is_rated_by_its_owner_alone(
    database: Database, account: Account, new_account: Callable[..., Account], reserve: Reserve
) -> None:
    """Another's message is not there, and one without an answer cannot be rated."""
    reservation, other = reserve(), new_account(Role.ADMIN)
    for who in (account, other):
        with pytest.raises(NotFound), database.write() as session:
            ledger.rate(session, account=who, message_id=reservation.message_id, rating=1)
    settle(database, reservation)
    with pytest.raises(NotFound), database.write() as session:
        ledger.rate(session, account=other, message_id=reservation.message_id, rating=1)
    with database.write() as session:
        ledger.rate(session, account=account, message_id=reservation.message_id, rating=1)
    with database.read() as session:
        assert session.get_one(TutorMessage, reservation.message_id).rating == 1


def test_refusal_leaves_no_message(database: Database, account: Account, reserve: Reserve) -> None:
    """A question that is refused is not on the ledger, so that it can be sent again under the same id."""
    allow(database, 0)
    with pytest.raises(AppError):
        reserve("refused")
    allow(database, 1)
    assert not reserve("refused").under_way
