"""Which workers there are: each says so when it starts, again and again while it works, and when it ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.clock import Clock, utc_now
from app.models import Worker

SILENT_AFTER = timedelta(minutes=1)
"""A worker says that it is there every ten seconds or so; one that has not for this long is not counted."""
FORGOTTEN_AFTER = timedelta(days=1)


def register(session: Session, *, owner: str, slots: int, walls: list[dict[str, Any]], clock: Clock = utc_now) -> None:
    """A worker is ready. Those that have been silent for a day are forgotten."""
    now = clock()
    session.execute(delete(Worker).where(Worker.seen_at < now - FORGOTTEN_AFTER))
    session.merge(Worker(owner=owner, slots=slots, walls=walls, started_at=now, seen_at=now))


def seen(session: Session, owner: str, *, clock: Clock = utc_now) -> None:
    """A worker is still there."""
    session.execute(update(Worker).where(Worker.owner == owner).values(seen_at=clock()))


def leave(session: Session, owner: str) -> None:
    """A worker ends."""
    session.execute(delete(Worker).where(Worker.owner == owner))


def forget_all(session: Session) -> None:
    """There are none: this database was just put back, and those it speaks of are of another time."""
    session.execute(delete(Worker))


def present(session: Session, *, now: datetime | None = None) -> Sequence[Worker]:
    """Return those that are there, the oldest first."""
    since = (now or utc_now()) - SILENT_AFTER
    return session.scalars(select(Worker).where(Worker.seen_at >= since).order_by(Worker.started_at)).all()


def weakest_walls(workers: Sequence[Worker]) -> list[dict[str, Any]]:
    """Each wall once, as it is where it is weakest: missing before not needed before holds."""
    worst: dict[tuple[str, str], dict[str, Any]] = {}
    for wall in (wall for worker in workers for wall in worker.walls):
        key = wall["wall"], wall["deed"]
        if key not in worst or _WEAKNESS[wall["state"]] > _WEAKNESS[worst[key]["state"]]:
            worst[key] = wall
    return list(worst.values())


def by_wall(walls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a wall: its weakest state, why, and in how far it is so (`deeds`)."""
    found: dict[str, dict[str, Any]] = {}
    for one in walls:
        entry = found.setdefault(one["wall"], {**one, "deeds": []})
        if _WEAKNESS[one["state"]] > _WEAKNESS[entry["state"]]:
            entry.update(state=one["state"], why=one["why"], deeds=[])
        if one["state"] == entry["state"]:
            entry["deeds"].append(one["deed"])
    return list(found.values())


_WEAKNESS = {"holds": 0, "not needed": 1, "missing": 2}
