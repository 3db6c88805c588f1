"""What students sent."""

from datetime import datetime
from enum import StrEnum
from typing import NoReturn

from sqlalchemy import Connection, ForeignKey, Index, UniqueConstraint, event, text
from sqlalchemy.orm import Mapped, Mapper, mapped_column, relationship

from app.clock import utc_now
from app.db import Base, new_id
from app.logs import current_request
from app.models.exercises import ExerciseVersion


class SubmissionKind(StrEnum):
    """A check is judged and counts; a run only shows what the code prints."""

    CHECK = "check"
    RUN = "run"


class Submission(Base):
    """Source as it was sent. Immutable: what grading finds out about it stands in `GradingResult`."""

    __tablename__ = "submission"
    __table_args__ = (
        UniqueConstraint("account_id", "idempotency_key"),
        Index(None, "account_id", "exercise_version_id", "created_at"),
        # Runs are removed after a time: what is to be removed is found without looking at all checks.
        Index(
            "ix_submission_runs", "created_at", sqlite_where=text("kind = 'run'"), postgresql_where=text("kind = 'run'")
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"))
    exercise_version_id: Mapped[str] = mapped_column(ForeignKey("exercise_version.id"), index=True)
    kind: Mapped[SubmissionKind]
    source: Mapped[str]
    idempotency_key: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    request_id: Mapped[str | None] = mapped_column(default=current_request)
    """The request by which it came, as it is named in the logs."""

    exercise_version: Mapped[ExerciseVersion] = relationship(lazy="raise")


@event.listens_for(Submission, "before_update")
def _refuse_change(_mapper: Mapper[Submission], _connection: Connection, row: Submission) -> NoReturn:
    # A trigger in the database says the same to whoever comes another way.
    error = f"submission {row.id} cannot change: submissions are immutable"
    raise TypeError(error)
