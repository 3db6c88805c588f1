"""The audit log: looking for entries, and taking them out as a table."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from app.clock import utc_now
from app.models import AuditEntry
from app.services import audit
from app.services.audit import AuditFilter
from app.web.admin.pages import admin_page
from app.web.admin.schemas import EntriesOut, EntryOut
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.csv_cells import safe_row
from app.web.http.form_pages import ShownForm
from app.web.http.forms import as_day
from app.web.http.schemas import Moment, problems
from app.web.http.site import Site, SiteOfRequest

router = APIRouter(tags=["administration"])

PER_PAGE = 50
_CHUNK = 500
_COLUMNS = ("at", "actor", "action", "subject_kind", "subject", "subject_id", "before", "after", "reason", "id")


@router.get("/api/v1/admin/audit", responses=problems(401, 403, 404, 422), summary="The audit log")
def get_audit(
    *,
    site: SiteOfRequest,
    _admin: CurrentAdmin,
    actor: Annotated[str, Query(max_length=254, description="A part of the address of who did it.")] = "",
    action: Annotated[str, Query(max_length=100, description="How the action begins, such as `plan.`")] = "",
    subject: Annotated[str, Query(max_length=254, description="A part of what it was done to, or its id.")] = "",
    since: Annotated[Moment | None, Query()] = None,
    until: Annotated[Moment | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[str, Query(max_length=64, description="The `next` of the page before.")] = "",
) -> EntriesOut:
    """Return who changed what, when and why, with how it was before and after; the newest first."""
    filters = AuditFilter(_plain(actor), _plain(action), _plain(subject), since, until)
    entries, following = _entries(site, filters, after=_plain(after), limit=limit)
    return EntriesOut(entries=[EntryOut.model_validate(one) for one in entries], next=following)


@router.get("/admin/audit", include_in_schema=False)
def get_audit_page(
    *,
    site: SiteOfRequest,
    _admin: CurrentAdmin,
    actor: str = "",
    action: str = "",
    subject: str = "",
    since: str = "",
    until: str = "",
    after: str = "",
) -> Response:
    """Show a page of the log."""
    asked = {"actor": actor, "action": action, "subject": subject, "since": since, "until": until}
    filters, errors = _filter_of(asked)
    entries, following = _entries(site, filters, after=_plain(after), limit=PER_PAGE)
    with site.database.read() as session:
        actions = [(one, one) for one in audit.actions(session)]
    query = urlencode({name: value for name, value in asked.items() if value})
    shown: dict[str, Any] = {
        "entries": entries,
        "actions": actions,
        "query": query,
        "following": following,
    }
    return admin_page(site, "admin/audit.html", first=not after, form=ShownForm("filter", asked, errors), **shown)


@router.get("/admin/audit.csv", include_in_schema=False)
def get_audit_table(
    *,
    site: SiteOfRequest,
    _admin: CurrentAdmin,
    actor: str = "",
    action: str = "",
    subject: str = "",
    since: str = "",
    until: str = "",
) -> Response:
    """Send all entries that fit the filters as a table, the newest first."""
    asked = {"actor": actor, "action": action, "subject": subject, "since": since, "until": until}
    filters, _ = _filter_of(asked)
    name = f"kelolo-audit-{utc_now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(_table(site, filters), media_type="text/csv; charset=utf-8", headers=headers)


def _table(site: Site, filters: AuditFilter) -> Iterator[str]:
    """Write the table piece by piece. No piece holds a connection while a slow reader takes it."""
    yield _csv([_COLUMNS])
    last: AuditEntry | None = None
    while True:
        with site.database.read() as session:
            entries = audit.search(session, filters, limit=_CHUNK, after=last)
        if not entries:
            return
        yield _csv([_row(one) for one in entries])
        last = entries[-1]


def _csv(rows: Iterable[Sequence[str]]) -> str:
    written_to = io.StringIO()
    csv.writer(written_to).writerows(rows)
    return written_to.getvalue()


def _row(entry: AuditEntry) -> list[str]:
    fields = EntryOut.model_validate(entry).model_dump(mode="json")
    for name in ("before", "after"):
        fields[name] = json.dumps(fields[name], ensure_ascii=False, sort_keys=True) if fields[name] else ""
    return safe_row(fields[name] for name in _COLUMNS)


def _entries(site: Site, filters: AuditFilter, *, after: str, limit: int) -> tuple[list[AuditEntry], str | None]:
    """Return a page, and where the next one begins. Raises NotFound."""
    with site.database.read() as session:
        last = audit.entry(session, after) if after else None
        entries = audit.search(session, filters, limit=limit + 1, after=last)
    more = len(entries) > limit
    entries = entries[:limit]
    return entries, entries[-1].id if more else None


def _filter_of(asked: dict[str, str]) -> tuple[AuditFilter, dict[str, str]]:
    """Read the filters of the page; a day that is none gets a sentence, and does not narrow."""
    days = {name: as_day(asked[name]) for name in ("since", "until")}
    errors = {name: "Write a day as year-month-day." for name, day in days.items() if asked[name] and day is None}
    since, until = (
        datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None for day in (days["since"], days["until"])
    )
    filters = AuditFilter(
        _plain(asked["actor"]),
        _plain(asked["action"]),
        _plain(asked["subject"]),
        since,
        until + timedelta(days=1) if until else None,
    )
    return filters, errors


def _plain(text: str) -> str:
    """Leave out what PostgreSQL cannot even be asked for."""
    return "".join(c for c in text.strip() if c.isprintable())
