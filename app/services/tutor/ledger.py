"""
The ledger of the tutor's messages: reserve before an answer, settle when it is complete, release when it is not.

Theory of operation: a reservation is one row of `tutor_message`, unique by account and client message id, written in
the transaction that counts it. So whoever sends twice under the same id finds the first row. An answer is charged by
being reserved; settling makes that final, releasing gives it back. Each of the two changes the row only while it is
`reserved` and in the same try, so a late end of an answer that was given up long ago changes nothing.

A reservation whose server has died (the process is gone, or its lease is over) is released by whoever looks next.

What a hosted model costs is counted beside it, by month: as many tokens as an answer may take at most are reserved
first, under the administrator's ceiling. Without a ceiling nothing is ever called: the ledger fails closed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.clients.tutor import AttemptOutcome
from app.clock import utc_now
from app.db import new_id, updated_rows, upsert
from app.errors import AnswersPending, MessageClash, NotFound, NotSignedIn, QuestionRefused, QuotaSpent, TutorFailing
from app.models import Account, MessageState, Period, Rule, TokenMonth, TutorMessage, TutorPolicy
from app.services.plans import quotas
from app.services.plans.plans import PERIOD_WORDS
from app.services.plans.quotas import Charge, Quota
from app.services.process_identity import dead_among

LEASE_S = 180
"""Longer than any answer may take, so that a reservation is never released under one that is alive."""
PENDING_RETRY_S = 2
ID_LIMIT = 100  # characters
FAILURES = "tutor_failures"
OURS = {"busy", "unreachable", "stopped", "fault", "lost"}
"""Reasons that no student can bring about, and that do not count as failures of theirs."""


@dataclass(frozen=True)
class MessageRequest:
    """A question as it comes in."""

    exercise_version_id: str
    client_message_id: str
    question: str


@dataclass(frozen=True)
class Reservation:
    """A message that is to be answered now, by whoever made the reservation, or one that was answered before."""

    message_id: str
    tries: int
    settled: bool = False
    """It was answered before, under the same client message id."""
    under_way: bool = False
    """Somebody else is just answering it."""


@dataclass(frozen=True)
class CompleteAnswer:
    """A complete answer, to be kept."""

    text: str
    sources: Sequence[Mapping[str, object]]
    engine: str
    tokens: int = 0
    outcome: AttemptOutcome = AttemptOutcome.ANSWERED


def reserve(session: Session, account: Account, request: MessageRequest, *, owner: str) -> Reservation:
    """
    Take one message off the account's quota for a question, at most once for each client message id.

    Args:
        session: of a transaction that writes.
        account: who asks.
        request: what is asked.
        owner: name of the process that will answer.

    Raises:
        QuestionRefused: the client message id is empty or too long.
        MessageClash: the id was used before, for another question.
        QuotaSpent: nothing is left.
        AnswersPending: nothing is left but what is just being answered.
        TutorFailing: too many answers have failed today.
    """
    if not 0 < len(request.client_message_id) <= ID_LIMIT or not request.client_message_id.isprintable():
        raise QuestionRefused(reason=f"A client_message_id is 1 to {ID_LIMIT} printable characters, such as a UUID.")
    _lock(session, account)
    release_lost(session, account_id=account.id)
    earlier = session.scalar(
        select(TutorMessage)
        .where(TutorMessage.account_id == account.id, TutorMessage.client_message_id == request.client_message_id)
        .execution_options(populate_existing=True)
    )
    if earlier is not None:
        _refuse_other(earlier, request)
        if earlier.state is not MessageState.RELEASED:
            settled = earlier.state is MessageState.SETTLED
            return Reservation(earlier.id, earlier.tries, settled=settled, under_way=not settled)
    message = earlier or TutorMessage(id=new_id(), account_id=account.id, tries=0)
    _charge(session, account, message)
    message.exercise_version_id, message.question = request.exercise_version_id, request.question
    message.client_message_id = request.client_message_id
    message.state, message.owner = MessageState.RESERVED, owner
    message.reserved_at = utc_now()
    message.lease_until = message.reserved_at + timedelta(seconds=LEASE_S)
    message.tries += 1
    message.released_at, message.reason = None, ""
    session.add(message)
    session.flush()
    return Reservation(message.id, message.tries)


def settle(session: Session, reservation: Reservation, answer: CompleteAnswer) -> bool:
    """
    Keep a complete answer, and make its charge final. False if the reservation was released before.

    An answer that does not answer, because the tutor does not know or because a stand-in had to give it, is kept as
    well, but its charge is given back.
    """
    kept = _change(
        session,
        reservation,
        {
            "state": MessageState.SETTLED,
            "answer": answer.text,
            "sources": list(answer.sources),
            "engine": answer.engine,
            "settled_at": utc_now(),
            "tokens_spent": answer.tokens,
            "outcome": answer.outcome,
        },
    )
    if kept:
        message = session.get_one(TutorMessage, reservation.message_id, populate_existing=True)
        _settle_tokens(session, message)
        if answer.outcome is not AttemptOutcome.ANSWERED:
            _give_back(session, message)
    return kept


def release(session: Session, reservation: Reservation, *, reason: str, tokens: int = 0) -> bool:
    """
    Give a message back: there was no whole answer. False if that was done before, or the answer is kept.

    Args:
        session: of a transaction that writes.
        reservation: which message, in which try.
        reason: one word for the ledger.
        tokens: what it has cost all the same.
    """
    freed = _change(
        session,
        reservation,
        {"state": MessageState.RELEASED, "released_at": utc_now(), "reason": reason, "tokens_spent": tokens},
    )
    if not freed:
        return False
    message = session.get_one(TutorMessage, reservation.message_id, populate_existing=True)
    _settle_tokens(session, message)
    if _give_back(session, message) and reason not in OURS:
        quotas.count(session, message.account_id, FAILURES, quotas.key_of(Period.DAY, utc_now()))
    return True


def _give_back(session: Session, message: TutorMessage) -> bool:
    """Take back what a message was charged. False if it was charged nothing."""
    if not message.charged:
        return False
    charge = Charge({key: int(epoch) for key, epoch in message.epochs.items()}, message.grant_id)
    quotas.give_back(session, message.account_id, Rule.TUTOR_MESSAGES, charge)
    if message.state is MessageState.SETTLED:
        message.charged, message.epochs, message.grant_id = False, {}, None
    return True


def release_lost(session: Session, *, account_id: str | None = None) -> int:
    """Release what nobody is answering any more, of one account or of all; how many that were."""
    # What a hosted model was asked has cost something, and nobody is left to say how much: the most it can have been.
    return sum(
        release(session, Reservation(row.id, row.tries), reason="lost", tokens=row.tokens_reserved)
        for row in lost(session, account_id=account_id)
    )


def give_up_all(session: Session, account_id: str) -> None:
    """Release all that an account has reserved, because the account is going: the month's tokens are settled so."""
    reserved = select(TutorMessage).where(
        TutorMessage.account_id == account_id, TutorMessage.state == MessageState.RESERVED
    )
    for row in session.scalars(reserved.order_by(TutorMessage.id)).all():
        release(session, Reservation(row.id, row.tries), reason="stopped", tokens=row.tokens_reserved)


def lost(session: Session, *, account_id: str | None = None) -> list[TutorMessage]:
    """Return the messages that are reserved and that nobody is answering any more."""
    reserved = select(TutorMessage).where(TutorMessage.state == MessageState.RESERVED)
    if account_id is not None:
        reserved = reserved.where(TutorMessage.account_id == account_id)
    rows = session.scalars(reserved.order_by(TutorMessage.id).execution_options(populate_existing=True)).all()
    dead = set(dead_among({row.owner for row in rows}))
    now = utc_now()
    return [row for row in rows if row.owner in dead or row.lease_until <= now]


def reserve_tokens(session: Session, reservation: Reservation, *, most: int) -> bool:
    """
    Set aside what an answer of a hosted model may cost at most. False if the ceiling of the month forbids it.

    Args:
        session: of a transaction that writes.
        reservation: for which message.
        most: tokens of prompt and answer together.
    """
    # The message first and then the month, as when it ends: locks taken in one order cannot deadlock.
    if not _change(session, reservation, {"tokens_reserved": most}):
        return False
    message = session.get_one(TutorMessage, reservation.message_id, populate_existing=True)
    month = quotas.key_of(Period.MONTH, message.reserved_at)
    ceiling = policy(session).month_token_ceiling
    session.execute(upsert(session, TokenMonth).values(month=month, reserved=0, spent=0).on_conflict_do_nothing())
    charge = updated_rows(
        session,
        update(TokenMonth)
        .where(TokenMonth.month == month, TokenMonth.reserved + TokenMonth.spent + most <= ceiling)
        .values(reserved=TokenMonth.reserved + most),
    )
    if charge != 1:
        message.tokens_reserved = 0
    return charge == 1


def policy(session: Session) -> TutorPolicy:
    """Return what administrators allow the tutor."""
    return session.get_one(TutorPolicy, 1, populate_existing=True)


def rate(session: Session, *, account: Account, message_id: str, rating: int | None) -> None:
    """Keep whether an answer has helped: 1, -1, or None to take it back. Raises NotFound."""
    message = mine(session, account=account, message_id=message_id)
    if message.state is not MessageState.SETTLED or rating not in {1, -1, None}:
        raise NotFound(what="answer", name=message_id)
    message.rating = rating


def mine(session: Session, *, account: Account, message_id: str) -> TutorMessage:
    """Return a message of an account. Raises NotFound, for another's too."""
    message = session.get(TutorMessage, message_id, populate_existing=True)
    if message is None or message.account_id != account.id:
        raise NotFound(what="message", name=message_id)
    return message


def _charge(session: Session, account: Account, message: TutorMessage) -> None:
    """Take one off the quota and write down from where. Raises QuotaSpent, AnswersPending, TutorFailing."""
    message.charged, message.epochs, message.grant_id = account.is_limited, {}, None
    if not account.is_limited:
        return
    _refuse_failing(session, account)
    charge = quotas.take(session, account, Rule.TUTOR_MESSAGES)
    if charge is None:
        if _pending(session, account):
            raise AnswersPending(retry_after_s=PENDING_RETRY_S)
        raise QuotaSpent(**spent_quota(quotas.quota_of(session, account)))
    message.epochs, message.grant_id = dict(charge.epochs), charge.grant_id


def spent_quota(quota: Quota) -> dict[str, object]:
    """Return the fields of an error that says that a quota is used up."""
    return {
        "rule": quota.limit.rule.value,
        "limit": quota.limit.amount,
        "used": quota.used,
        "plan": quota.plan,
        "span": PERIOD_WORDS[quota.limit.period].for_now,
        "resets_at": quota.resets_at,
    }


def _refuse_failing(session: Session, account: Account) -> None:
    now = utc_now()
    failed = quotas.used_in(session, account.id, FAILURES, quotas.key_of(Period.DAY, now))
    most = policy(session).failures_per_day
    if failed >= most:
        ends = quotas.end_of(Period.DAY, now)
        raise TutorFailing(rule=FAILURES, limit=most, used=failed, plan="", span="", resets_at=ends)


def _pending(session: Session, account: Account) -> bool:
    count = select(func.count()).where(
        TutorMessage.account_id == account.id, TutorMessage.state == MessageState.RESERVED
    )
    return bool(session.scalar(count))


def _lock(session: Session, account: Account) -> None:
    """Let one message of an account at a time be reserved. Raises NotSignedIn if there is no such account any more."""
    # FOR NO KEY UPDATE: rows that refer to the account can be added meanwhile, or else two could deadlock.
    if session.scalar(select(Account.id).where(Account.id == account.id).with_for_update(key_share=True)) is None:
        raise NotSignedIn  # deleted, or merged with another, since the request began


def _refuse_other(earlier: TutorMessage, request: MessageRequest) -> None:
    # One that is to be tried again may meet a newer version of its exercise.
    is_same = earlier.state is MessageState.RELEASED or earlier.exercise_version_id == request.exercise_version_id
    if earlier.question != request.question or not is_same:
        raise MessageClash


def _settle_tokens(session: Session, message: TutorMessage) -> None:
    """Turn what was set aside for an answer into what it has cost."""
    if not message.tokens_reserved:
        return
    month = quotas.key_of(Period.MONTH, message.reserved_at)
    spent = message.tokens_spent
    updated_rows(
        session,
        update(TokenMonth)
        .where(TokenMonth.month == month)
        .values(reserved=TokenMonth.reserved - message.tokens_reserved, spent=TokenMonth.spent + spent),
    )
    message.tokens_reserved = 0


def _change(session: Session, reservation: Reservation, values: dict[str, object]) -> bool:
    """Change a message that is still reserved in this try; False if it is not."""
    same = (
        TutorMessage.id == reservation.message_id,
        TutorMessage.state == MessageState.RESERVED,
        TutorMessage.tries == reservation.tries,
    )
    return updated_rows(session, update(TutorMessage).where(*same).values(values)) == 1
