"""What waits to be graded."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class JobKind(StrEnum):
    """A live submission has a student waiting; a regrade has not."""

    LIVE = "live"
    REGRADE = "regrade"


class JobState(StrEnum):
    """Waiting, or claimed by a worker."""

    QUEUED = "queued"
    RUNNING = "running"


class Job(Base):
    """
    A submission that is not graded yet.

    The row is deleted when the result is recorded: the table stays as short as the queue, so
    that looking for the next job stays quick however many were graded before.
    """

    __tablename__ = "job"
    __table_args__ = (Index(None, "state", "kind", "priority", "enqueued_at"),)

    submission_id: Mapped[str] = mapped_column(ForeignKey("submission.id"), primary_key=True)
    kind: Mapped[JobKind]
    priority: Mapped[int]
    """How many jobs stand before it in the order of its own network: lower goes first. One more for a guest's."""
    network: Mapped[str] = mapped_column(default="")
    """
    A keyed hash of the network that it came from, so that those who share one share its turns.

    The account's id where that is not known. It goes with the row, so nothing is kept of it after the verdict.
    """
    is_guest: Mapped[bool] = mapped_column(default=False)
    """Whether a visitor without an account sent it."""
    state: Mapped[JobState]
    tries: Mapped[int] = mapped_column("attempts")
    """How often it was claimed."""
    lease_owner: Mapped[str | None]
    """`host:pid:start` of the worker that has claimed it."""
    lease_token: Mapped[str | None]
    """New with each claim; a result is taken only from the newest claim."""
    lease_until: Mapped[datetime | None]
    enqueued_at: Mapped[datetime]
    procrastinate_id: Mapped[int | None] = mapped_column(BigInteger)
    """Under which procrastinate has this job; None where the queue is this table alone."""
