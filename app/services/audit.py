"""The record of who changed what: written in the transaction of the change itself, and only ever added to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.errors import NotFound
from app.models import Account, AuditEntry

COMMAND_LINE = "command line"


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
    before: Mapping[str, object] | None = None
    after: Mapping[str, object] | None = None
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
        reason=_plain(change.reason),
    )
    session.add(entry)
    session.flush()
    return entry


def record_for_user(
    session: Session,
    action: str,
    account: Account,
    change: tuple[Mapping[str, object] | None, Mapping[str, object] | None],
    *,
    by: Account | None,
    reason: str,
) -> AuditEntry:
    """Add an entry on an account; `change` is how something of it was before, and how it is now."""
    subject = account.email or "guest"
    return record(session, Change(action, "user", account.id, subject, *change, reason), by=by)


def search(session: Session, filters: AuditFilter, *, limit: int, after: AuditEntry | None = None) -> list[AuditEntry]:
    """
    Return entries, the newest first.

    Args:
        session: of a transaction that may read.
        filters: which entries.
        limit: how many at most.
        after: the entry behind which to go on. New entries then move nothing to another page.
    """
    found = _matching(filters).order_by(AuditEntry.at.desc(), AuditEntry.id).limit(limit)
    if after is not None:
        same_moment = (AuditEntry.at == after.at) & (AuditEntry.id > after.id)
        found = found.where((AuditEntry.at < after.at) | same_moment)
    return list(session.scalars(found))


def entry(session: Session, entry_id: str) -> AuditEntry:
    """Return one entry. Raises NotFound."""
    found = session.get(AuditEntry, entry_id)
    if found is None:
        raise NotFound(what="entry of the audit log", name=entry_id)
    return found


def actions(session: Session) -> list[str]:
    """Return the name of every action that there is an entry of, in order."""
    return list(session.scalars(select(AuditEntry.action).distinct().order_by(AuditEntry.action)))


def _plain(text: str) -> str:
    """Leave out what PostgreSQL cannot store and nobody can read."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _matching(filters: AuditFilter) -> Select[AuditEntry]:
    found = select(AuditEntry)
    if filters.actor:
        found = found.where(AuditEntry.actor.icontains(filters.actor, autoescape=True))
    if filters.action:
        found = found.where(AuditEntry.action.istartswith(filters.action, autoescape=True))
    if filters.subject:
        named = AuditEntry.subject.icontains(filters.subject, autoescape=True)
        found = found.where(named | (AuditEntry.subject_id == filters.subject))
    if filters.since:
        found = found.where(AuditEntry.at >= filters.since)
    if filters.until:
        found = found.where(AuditEntry.at < filters.until)
    return found
