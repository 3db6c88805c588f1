"""Which hints were opened."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id


class HintOpening(Base):
    """A hint that an account has opened. Opening it again changes nothing."""

    __tablename__ = "hint_opening"
    __table_args__ = (UniqueConstraint("account_id", "exercise_version_id", "rung"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"))
    exercise_version_id: Mapped[str] = mapped_column(ForeignKey("exercise_version.id"), index=True)
    number: Mapped[int] = mapped_column("rung")
    """1, 2, 3 … in the order of the exercise's hints."""
    attempts_before: Mapped[int] = mapped_column("attempt")
    """How many checks the account had sent before."""
    offered: Mapped[bool]
    """Whether the page offered it after a verdict; otherwise it was asked for."""
    opened_at: Mapped[datetime] = mapped_column(default=utc_now)
