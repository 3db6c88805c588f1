"""Code that was typed and not sent."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base


class Draft(Base):
    """
    The text of one editor, as it was when its page last saved it.

    An account has a few for each exercise: one for each tab, and those that were set aside.
    `app.services.submissions.drafts` says how they come and go.
    """

    __tablename__ = "draft"

    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    exercise_id: Mapped[str] = mapped_column(ForeignKey("exercise.id"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    """Made up by the page: unique within the account and the exercise."""
    text: Mapped[str]
    version: Mapped[int]
    """Goes up by one with each change: who writes says which version the change was made to."""
    updated_at: Mapped[datetime] = mapped_column(default=utc_now, index=True)
