"""What deleted accounts had used."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class SpentQuota(Base):
    """
    How much of something an account had used that is deleted, so that signing up again does not give it anew.

    Of whom, only a keyed hash of the e-mail address tells: it is known again when somebody comes with that address.
    """

    __tablename__ = "spent_allowance"

    address_hash: Mapped[str] = mapped_column(primary_key=True)
    rule: Mapped[str] = mapped_column(primary_key=True)
    period_key: Mapped[str] = mapped_column(primary_key=True)
    """As in `UsageCounter`."""
    used: Mapped[int]
    kept_until: Mapped[datetime] = mapped_column(index=True)
