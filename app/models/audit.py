"""Who changed what, when and why."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import JSON
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id


class AuditEntry(Base):
    """One change by an administrator, or of an account by itself. Appended, and never changed."""

    __tablename__ = "audit_entry"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    at: Mapped[datetime] = mapped_column(default=utc_now, index=True)
    actor_id: Mapped[str] = mapped_column(index=True)
    """No foreign key here and below: entries outlive accounts."""
    actor: Mapped[str]
    """E-mail address at that time, or `command line`."""
    action: Mapped[str] = mapped_column(index=True)
    """A verb with its noun, such as `plan.limit` or `user.role`."""
    subject_kind: Mapped[str]
    subject_id: Mapped[str] = mapped_column(index=True)
    subject: Mapped[str]
    """What it is called: an e-mail address, a plan's name."""
    before: Mapped[Mapping[str, object] | None] = mapped_column(JSON)
    after: Mapped[Mapping[str, object] | None] = mapped_column(JSON)
    reason: Mapped[str] = mapped_column(default="")
