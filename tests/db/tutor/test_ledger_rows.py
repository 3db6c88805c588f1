"""What the ledger writes down: states, reasons and tokens, as those who read it later need them."""

from collections.abc import Callable

import pytest
from sqlalchemy import delete

from app.clients.tutor import AttemptOutcome
from app.db import Database
from app.errors import AnswersPending, MessageClash, NotFound, NotSignedIn, TutorFailing
from app.models import Account, ExerciseVersion, MessageState, Period, PlanLimit, TutorMessage, TutorPolicy
from app.services.plans import quotas
from app.services.process_identity import this_process
from app.services.tutor import ledger, policy
from app.services.tutor.ledger import CompleteAnswer, MessageRequest, Reservation

Reserve = Callable[..., Reservation]
CEILING = 1000


def row(database: Database, reservation: Reservation) -> TutorMessage:
    """Return a message as it stands in the ledger."""
    with database.read() as session:
        return session.get_one(TutorMessage, reservation.message_id)


def release(database: Database, reservation: Reservation, reason: str) -> None:
    """Release a message in a transaction of its own."""
    with database.write() as session:
        assert ledger.release(session, reservation, reason=reason)


def set_aside(database: Database, reservation: Reservation, most: int) -> bool:
    """Reserve tokens in a transaction of its own, under a ceiling of a thousand a month."""
    with database.write() as session:
        session.get_one(TutorPolicy, 1).month_token_ceiling = CEILING
        return ledger.reserve_tokens(session, reservation, most=most)


def tokens(database: Database) -> tuple[int, int]:
    """Return what is reserved and spent this month."""
    with database.read() as session:
        month = policy.this_month(session)
    return month.tokens_reserved, month.tokens_spent


def test_reserved_message_is_neither_answered_nor_under_way_elsewhere(database: Database, reserve: Reserve) -> None:
    """Whoever reserved it is who answers it, and nothing has been spent."""
    reservation = reserve()
    assert (reservation.settled, reservation.under_way, reservation.tries) == (False, False, 1)
    written = row(database, reservation)
    assert (written.state, written.owner, written.tokens_reserved) == (MessageState.RESERVED, this_process(), 0)


@pytest.mark.parametrize("name", ["x", "x" * 100])
def test_id_of_any_length_within_bounds_is_taken(reserve: Reserve, name: str) -> None:
    """One character is as good as a hundred."""
    assert not reserve(name).under_way


def test_account_that_is_gone_reserves_nothing(
    database: Database, new_account: Callable[..., Account], reserve: Reserve
) -> None:
    """It was deleted, or merged with another, since its request began."""
    gone = new_account()
    with database.write() as session:
        session.execute(delete(Account).where(Account.id == gone.id))
    with pytest.raises(NotSignedIn):
        reserve(who=gone)


def test_refusal_while_the_last_is_answered_says_when_to_come_back(database: Database, reserve: Reserve) -> None:
    """Soon: in two seconds, for most answers take about as long."""
    with database.write() as session:
        for limit in session.query(PlanLimit).where(PlanLimit.plan_name == "free"):
            limit.amount, limit.period = 1, Period.LIFETIME
    reserve()
    with pytest.raises(AnswersPending) as refused:
        reserve()
    assert refused.value.fields["retry_after_s"] == 2


def test_id_that_is_being_answered_is_for_one_exercise(
    database: Database, version: ExerciseVersion, newer: ExerciseVersion, reserve: Reserve
) -> None:
    """The same question under the same id, for another version, is another message while the first may be answered."""
    first = reserve("once", of=version)
    with pytest.raises(MessageClash):
        reserve("once", of=newer)
    with database.write() as session:
        ledger.settle(session, first, CompleteAnswer("So.", [], "retrieval"))
    with pytest.raises(MessageClash):
        reserve("once", of=newer)


def test_failed_message_is_asked_again_for_a_newer_version(
    database: Database, version: ExerciseVersion, newer: ExerciseVersion, reserve: Reserve
) -> None:
    """An exercise may have changed between the failure and the next try."""
    release(database, reserve("once", of=version), "empty")
    assert row(database, reserve("once", of=newer)).exercise_version_id == newer.id


@pytest.fixture
def newer(database: Database, version: ExerciseVersion) -> ExerciseVersion:
    """Store a second version of the exercise."""
    second = ExerciseVersion(
        exercise_id=version.exercise_id,
        number=version.number + 1,
        fingerprint="1" * 64,
        content=version.content,
        task=version.task,
    )
    with database.write() as session:
        session.add(second)
    return second


@pytest.mark.parametrize("reason", ["busy", "unreachable", "stopped", "fault", "lost"])
def test_failure_of_ours_is_not_counted_as_the_students(database: Database, reserve: Reserve, reason: str) -> None:
    """However often our side fails, they may ask again."""
    with database.write() as session:
        session.get_one(TutorPolicy, 1).failures_per_day = 1
    for _ in range(2):
        reservation = reserve()
        release(database, reservation, reason)
        assert row(database, reservation).reason == reason
    release(database, reserve(), "refused")
    with pytest.raises(TutorFailing):
        reserve()


def test_lost_message_says_so(database: Database, reserve: Reserve) -> None:
    """The ledger tells it from what was stopped, and the student is not charged with a failure."""
    lost = reserve(owner=this_process().rsplit(":", 1)[0] + ":1")
    with database.write() as session:
        session.get_one(TutorPolicy, 1).failures_per_day = 1
        ledger.release_lost(session)
    assert row(database, lost).reason == "lost"
    reserve()


def test_answer_costs_no_tokens_unless_it_says_so(database: Database, reserve: Reserve) -> None:
    """What is answered without a hosted model is free, whether it is kept or not."""
    kept, given_up = reserve(), reserve()
    with database.write() as session:
        ledger.settle(session, kept, CompleteAnswer("So.", [], "retrieval"))
    release(database, given_up, "empty")
    assert (row(database, kept).tokens_spent, row(database, given_up).tokens_spent) == (0, 0)


def test_account_that_goes_gives_up_what_is_under_way(
    database: Database, account: Account, new_account: Callable[..., Account], reserve: Reserve
) -> None:
    """Its own messages alone, and of each the month is charged with the most that it may have cost."""
    kept, mine, others = reserve(), reserve(), reserve(who=new_account())
    with database.write() as session:
        ledger.settle(session, kept, CompleteAnswer("So.", [], "retrieval"))
    assert set_aside(database, mine, 300)
    assert set_aside(database, others, 200)
    with database.write() as session:
        ledger.give_up_all(session, account.id)
    states = [row(database, one).state for one in (kept, mine, others)]
    assert states == [MessageState.SETTLED, MessageState.RELEASED, MessageState.RESERVED]
    assert row(database, mine).reason == "stopped"
    assert tokens(database) == (200, 300)


def test_ceiling_may_be_reached_and_not_passed(database: Database, reserve: Reserve) -> None:
    """What is spent counts as what is reserved does, to the last token."""
    spent = reserve()
    assert set_aside(database, spent, 400)
    with database.write() as session:
        ledger.settle(session, spent, CompleteAnswer("So.", [], "hosted", tokens=400))
    assert row(database, spent).tokens_reserved == 0
    assert set_aside(database, reserve(), CEILING - 400 + 1) is False
    assert set_aside(database, reserve(), CEILING - 400) is True
    assert tokens(database) == (600, 400)


def test_refused_tokens_are_not_taken_off_when_the_message_ends(database: Database, reserve: Reserve) -> None:
    """A message under the ceiling keeps its reservation, whatever becomes of one that found no room."""
    assert set_aside(database, reserve(), 600)
    refused = reserve()
    assert not set_aside(database, refused, 600)
    release(database, refused, "busy")
    assert tokens(database) == (600, 0)


def test_message_that_was_given_up_reserves_no_tokens(database: Database, reserve: Reserve) -> None:
    """Its provider is not asked any more."""
    reservation = reserve()
    release(database, reservation, "stopped")
    assert set_aside(database, reservation, 10) is False
    assert tokens(database) == (0, 0)


@pytest.mark.parametrize("rating", [1, -1, None])
def test_rating_is_up_down_or_taken_back(
    database: Database, account: Account, reserve: Reserve, rating: int | None
) -> None:
    """The last one counts."""
    reservation = reserve()
    with database.write() as session:
        ledger.settle(session, reservation, CompleteAnswer("So.", [], "retrieval"))
        ledger.rate(session, account=account, message_id=reservation.message_id, rating=1)
        ledger.rate(session, account=account, message_id=reservation.message_id, rating=rating)
    assert row(database, reservation).rating == rating


@pytest.mark.parametrize("rating", [0, 2, -2])
def test_other_ratings_are_refused(database: Database, account: Account, reserve: Reserve, rating: int) -> None:
    """And nothing is kept of them."""
    reservation = reserve()
    with database.write() as session:
        ledger.settle(session, reservation, CompleteAnswer("So.", [], "retrieval"))
        with pytest.raises(NotFound, match=r"no answer called"):
            ledger.rate(session, account=account, message_id=reservation.message_id, rating=rating)
    assert row(database, reservation).rating is None


def test_message_that_is_not_there_is_said_to_be_missing(database: Database, account: Account) -> None:
    """By what it is called, as another's is."""
    with database.read() as session, pytest.raises(NotFound, match="no message called “nobody's”"):
        ledger.mine(session, account=account, message_id="nobody's")


def test_spent_quota_is_told_with_its_period(database: Database, account: Account) -> None:
    """As a sentence needs it: the rule, how many, of what plan, and for how long."""
    with database.read() as session:
        told = ledger.spent_quota(quotas.quota_of(session, account))
    assert (told["rule"], told["limit"], told["used"], told["plan"]) == ("tutor_messages", 30, 0, "Free")
    assert told["resets_at"] is None


@pytest.mark.parametrize("outcome", [AttemptOutcome.UNKNOWN, AttemptOutcome.ELSEWHERE, AttemptOutcome.STAND_IN])
def test_answer_that_does_not_answer_is_kept_and_costs_no_message(
    database: Database, account: Account, version: ExerciseVersion, outcome: AttemptOutcome
) -> None:
    """The charge is given back, the answer stands in the conversation, and its outcome is kept."""
    request = MessageRequest(version.id, "free-of-charge", "what is a laptop")
    with database.write() as session:
        before = quotas.quota_of(session, account).left
        reservation = ledger.reserve(session, account, request, owner=this_process())
        assert quotas.quota_of(session, account).left == (before or 0) - 1
        answer = CompleteAnswer("I do not know the answer to that.", (), "retrieval", outcome=outcome)
        assert ledger.settle(session, reservation, answer)
    with database.read() as session:
        assert quotas.quota_of(session, account).left == before
        kept = session.get_one(TutorMessage, reservation.message_id)
        assert (kept.state, kept.outcome, kept.charged) == (MessageState.SETTLED, outcome, False)
