"""What came of grading a submission."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id
from graders.report import ReportJson


class GradingResult(Base):
    """
    One report on a submission. Results are appended; only `counts` may ever change.

    Grading that did not end (its worker was killed, or the grader failed and will try again)
    leaves no row.
    """

    __tablename__ = "grading_run"
    __table_args__ = (
        UniqueConstraint("submission_id", "attempt"),
        Index(
            "uq_grading_run_counting",
            "submission_id",
            unique=True,
            sqlite_where=text("counts"),
            postgresql_where=text("counts"),
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submission.id"))
    number: Mapped[int] = mapped_column("attempt")
    """1, 2, 3 … over all results of the submission, regrades included."""
    lease_token: Mapped[str] = mapped_column(unique=True)
    """The claim under which it was graded: one claim records one result, however often it tries."""
    seed: Mapped[str]
    """What the fresh trials were drawn from, so that a failure replays exactly."""
    verdict: Mapped[str] = mapped_column(index=True)
    report: Mapped[ReportJson] = mapped_column(JSON)
    counts: Mapped[bool]
    """Whether this is the result that the student is shown and credited with."""
    worker: Mapped[str]
    """Host, process and start of the worker, to find its log by."""
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime] = mapped_column(default=utc_now)
