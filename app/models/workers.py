"""Who grades at present, and in which sandbox."""

from datetime import datetime

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
    walls: Mapped[list[dict[str, str]]] = mapped_column(JSON)
    """The findings of the sandbox check at its start: layer (`wall`), action (`deed`), `state` and `why`."""
    started_at: Mapped[datetime] = mapped_column(default=utc_now)
    seen_at: Mapped[datetime] = mapped_column(default=utc_now, index=True)
