"""The tutor's messages, which are also the ledger of them, and what a hosted model has cost."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id


class MessageState(StrEnum):
    """Where a message stands. Only a settled one is charged for good."""

    RESERVED = "reserved"
    SETTLED = "settled"
    RELEASED = "released"


class TutorMessage(Base):
    """
    One question and its answer.

    Reserved before the answer is begun, settled when it is complete, released when it is not: then the account
    has its message back, and the same message may be tried again.
    """

    __tablename__ = "tutor_message"
    __table_args__ = (
        UniqueConstraint("account_id", "client_message_id"),
        Index(None, "account_id", "exercise_version_id", "reserved_at"),
        Index(None, "state", "lease_until"),
        Index(None, "outcome", "settled_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"))
    exercise_version_id: Mapped[str] = mapped_column(ForeignKey("exercise_version.id"))
    client_message_id: Mapped[str]
    """Chosen by who sends it: sending twice under the same one is charged once."""
    question: Mapped[str]
    answer: Mapped[str] = mapped_column(default="")
    sources: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    engine: Mapped[str] = mapped_column(default="")
    state: Mapped[MessageState]
    charged: Mapped[bool]
    """False for those whom plans do not bind."""
    grant_id: Mapped[str | None] = mapped_column(ForeignKey("grant.id"))
    """The grant it was taken from, if the plan's own amount was spent."""
    epochs: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """By period key, the epoch of each counter it was added to."""
    tries: Mapped[int] = mapped_column("attempts", default=1)
    """How often it was reserved."""
    owner: Mapped[str]
    """`host:pid:start` of the web process that answers: one that is dead answers no more."""
    reserved_at: Mapped[datetime] = mapped_column(default=utc_now)
    lease_until: Mapped[datetime]
    """When it is released by whoever looks, because nobody can still be answering."""
    settled_at: Mapped[datetime | None]
    released_at: Mapped[datetime | None]
    reason: Mapped[str] = mapped_column(default="")
    """Why it was released."""
    outcome: Mapped[str] = mapped_column(default="answered")
    """What became of the question, in a word of `app.clients.tutor.AttemptOutcome`; only `answered` is charged."""
    rating: Mapped[int | None]
    """1 helped, -1 did not."""
    tokens_reserved: Mapped[int] = mapped_column(default=0)
    tokens_spent: Mapped[int] = mapped_column(default=0)


class TokenMonth(Base):
    """What a hosted model has cost in one month, in tokens."""

    __tablename__ = "token_month"

    month: Mapped[str] = mapped_column(primary_key=True)
    """`2026-11`, UTC."""
    reserved: Mapped[int] = mapped_column(default=0)
    """Of answers that are under way: as many as they may take at most."""
    spent: Mapped[int] = mapped_column(default=0)


class TutorPolicy(Base):
    """What administrators allow the tutor. One row."""

    __tablename__ = "tutor_policy"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1)
    month_token_ceiling: Mapped[int] = mapped_column(default=0)
    """Tokens that a hosted model may cost in a month. At 0 it is never called."""
    failures_per_day: Mapped[int] = mapped_column(default=30)
    """How many of its messages an account gets back in a day: failures that are forced must end somewhere."""
    upgrade_text: Mapped[str] = mapped_column(default="")
    """How one gets more messages here, as the page of one's plan says it; empty for what it says by itself."""
