"""Who grades at present, and behind which walls."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base


class Worker(Base):
    """A worker process. The row is there while it works; one that is killed leaves it, and falls silent."""

    __tablename__ = "worker"

    owner: Mapped[str] = mapped_column(primary_key=True)
    """`host:pid:start`, as on the leases it holds."""
    slots: Mapped[int]
    """How many submissions it grades at once."""
    walls: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    """What came of trying each wall when it started: wall, deed, state (holds, missing, not needed) and why."""
    started_at: Mapped[datetime] = mapped_column(default=utc_now)
    seen_at: Mapped[datetime] = mapped_column(default=utc_now, index=True)
