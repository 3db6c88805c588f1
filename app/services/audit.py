"""The record of who changed what: written in the transaction of the change itself, and only ever added to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.models import Account, AuditEntry

COMMAND_LINE = "command line"
EXPORT_LIMIT = 100_000


@dataclass(frozen=True)
class AuditFilter:
    """Which entries to look at. What is empty does not narrow."""

    actor: str = ""
    """A part of the e-mail address of who did it."""
    action: str = ""
    """The beginning of the action's name."""
    subject: str = ""
    """A part of what it was done to, or its id."""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Change:
    """What one entry says."""

    action: str
    kind: str
    subject_id: str
    subject: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    reason: str = ""


def record(session: Session, change: Change, *, by: Account | None) -> AuditEntry:
    """Add an entry. `by` is None for the command line, whose user has the database in hand anyway."""
    entry = AuditEntry(
        actor_id=by.id if by else "",
        actor=(by.email or "guest") if by else COMMAND_LINE,
        action=change.action,
        subject_kind=change.kind,
        subject_id=change.subject_id,
        subject=change.subject,
        before=change.before,
        after=change.after,
        reason=change.reason,
    )
    session.add(entry)
    session.flush()
    return entry


def find(session: Session, wanted: AuditFilter, *, limit: int, offset: int = 0) -> list[AuditEntry]:
    """Return entries, the newest first."""
    return list(session.scalars(_matching(wanted).limit(limit).offset(offset)))


def everything(session: Session, wanted: AuditFilter) -> Iterator[AuditEntry]:
    """Go through entries for an export, the newest first, without holding them all."""
    return iter(session.scalars(_matching(wanted).limit(EXPORT_LIMIT), execution_options={"yield_per": 500}))


def _matching(wanted: AuditFilter) -> Select[AuditEntry]:
    found = select(AuditEntry).order_by(AuditEntry.at.desc(), AuditEntry.id)
    if wanted.actor:
        found = found.where(AuditEntry.actor.icontains(wanted.actor, autoescape=True))
    if wanted.action:
        found = found.where(AuditEntry.action.istartswith(wanted.action, autoescape=True))
    if wanted.subject:
        named = AuditEntry.subject.icontains(wanted.subject, autoescape=True)
        found = found.where(named | (AuditEntry.subject_id == wanted.subject))
    if wanted.since:
        found = found.where(AuditEntry.at >= wanted.since)
    if wanted.until:
        found = found.where(AuditEntry.at < wanted.until)
    return found
