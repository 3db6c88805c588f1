"""The registry of workers: each registers when it starts, renews that while it works, and leaves when it ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypedDict

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.clock import Clock, utc_now
from app.models import Worker

SILENT_AFTER = timedelta(minutes=1)
"""A worker says that it is there every ten seconds or so; one that has not for this long is not counted."""
FORGOTTEN_AFTER = timedelta(days=1)


class LayerState(TypedDict):
    """A sandbox layer as it is where it is weakest."""

    wall: str
    deed: str
    """The first action that was tried."""
    state: str
    """One of holds, not needed and missing."""
    why: str
    actions: list[str]
    """All those that came out so."""


def register(
    session: Session, *, owner: str, slots: int, findings: list[dict[str, str]], clock: Clock = utc_now
) -> None:
    """Register a worker that is ready, with the findings of its sandbox check; forget those silent for a day."""
    now = clock()
    session.execute(delete(Worker).where(Worker.seen_at < now - FORGOTTEN_AFTER))
    session.merge(Worker(owner=owner, slots=slots, walls=findings, started_at=now, seen_at=now))


def seen(session: Session, owner: str, *, clock: Clock = utc_now) -> None:
    """Note that a worker is still there."""
    session.execute(update(Worker).where(Worker.owner == owner).values(seen_at=clock()))


def leave(session: Session, owner: str) -> None:
    """Remove a worker that ends."""
    session.execute(delete(Worker).where(Worker.owner == owner))


def forget_all(session: Session) -> None:
    """Remove all: this database was just restored, and the workers in it are of another time."""
    session.execute(delete(Worker))


def present(session: Session, *, now: datetime | None = None) -> Sequence[Worker]:
    """Return those that are there, the oldest first."""
    since = (now or utc_now()) - SILENT_AFTER
    return session.scalars(select(Worker).where(Worker.seen_at >= since).order_by(Worker.started_at)).all()


def weakest_layers(workers: Sequence[Worker]) -> list[dict[str, str]]:
    """Return each finding once, as it is where it is weakest: missing before not needed before holds."""
    worst: dict[tuple[str, str], dict[str, str]] = {}
    for finding in (finding for worker in workers for finding in worker.walls):
        key = finding["wall"], finding["deed"]
        if key not in worst or _WEAKNESS[finding["state"]] > _WEAKNESS[worst[key]["state"]]:
            worst[key] = finding
    return list(worst.values())


def by_layer(findings: Sequence[dict[str, str]]) -> list[LayerState]:
    """Return one entry a sandbox layer: its weakest state, why, and for which actions that is so (`actions`)."""
    found: dict[str, LayerState] = {}
    for one in findings:
        unseen = LayerState(wall=one["wall"], deed=one["deed"], state=one["state"], why=one.get("why", ""), actions=[])
        entry = found.setdefault(one["wall"], unseen)
        if _WEAKNESS[one["state"]] > _WEAKNESS[entry["state"]]:
            entry |= {"state": one["state"], "why": one.get("why", ""), "actions": []}
        if one["state"] == entry["state"]:
            entry["actions"].append(one["deed"])
    return list(found.values())


_WEAKNESS = {"holds": 0, "not needed": 1, "missing": 2}
