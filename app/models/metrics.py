"""What all processes together have counted."""

from sqlalchemy import Double
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class MetricSample(Base):
    """One sample, such as the number of requests to a route. Processes add to it; it never falls."""

    __tablename__ = "figure"

    sample: Mapped[str] = mapped_column(primary_key=True)
    """Name and labels, as JSON."""
    value: Mapped[float] = mapped_column(Double)
