"""
The site's metrics, whichever process counted them.

Two kinds. What the database knows anyway (what waits, verdicts, workers) is counted there when it is asked for, so it
is exact. What it does not know (times of phases, requests, refusals) each process counts for itself and adds to one row
a sample every few seconds. So any web server answers for the whole site, a process that ends takes nothing with it but
its last seconds, and no folder is shared; processes are not asked one by one, which would need to know them all.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import upsert
from app.metrics import sample_key, sample_of
from app.models import GradingResult, MetricSample
from app.services.grading import workers
from app.services.grading.queue import GradingQueue

_REMOVED = "kelolo_verdicts_removed"


@dataclass(frozen=True)
class Snapshot:
    """How the site stands at a moment."""

    waiting: int
    """Live submissions that nobody has claimed."""
    oldest_s: float
    """How long the longest of all waiting jobs has waited; 0 if none does."""
    workers: int
    slots: int
    walls: list[dict[str, str]]
    verdicts: dict[str, int]
    """Recorded runs by verdict, since the beginning, those among them that were removed since."""
    totals: dict[str, float]
    """What processes have counted, by sample."""


def snapshot(session: Session, queue: GradingQueue, *, now: datetime | None = None) -> Snapshot:
    """Count what the database knows."""
    there, counted = workers.present(session), totals(session)
    return Snapshot(
        waiting=queue.depth(session),
        oldest_s=waited_s(session, queue, now=now),
        workers=len(there),
        slots=sum(one.slots for one in there),
        walls=workers.weakest_layers(there),
        verdicts=_verdicts(session, counted),
        totals=counted,
    )


def waited_s(session: Session, queue: GradingQueue, *, now: datetime | None = None) -> float:
    """Return how long the longest of all waiting jobs has waited; 0 if none does."""
    oldest = queue.oldest(session)
    return 0.0 if oldest is None else round(max(0.0, ((now or utc_now()) - oldest).total_seconds()), 3)


def _verdicts(session: Session, known: Mapping[str, float]) -> dict[str, int]:
    counted = Counter(_counted(session, true()))
    for sample, value in known.items():
        name, labels = sample_of(sample)
        if name == _REMOVED:
            counted[labels["verdict"]] += int(value)
    return dict(counted)


def preserve_verdict_counts(session: Session, removed: ColumnElement[bool]) -> None:
    """Keep the verdicts of runs that are about to be removed: what is counted never falls."""
    add(session, {sample_key(_REMOVED, {"verdict": one}): n for one, n in _counted(session, removed).items()})


def _counted(session: Session, which: ColumnElement[bool]) -> dict[str, int]:
    rows = session.execute(select(GradingResult.verdict, func.count()).where(which).group_by(GradingResult.verdict))
    return {verdict: number for verdict, number in rows}  # noqa: C416  rows are not pairs to everyone


def add(session: Session, changes: Mapping[str, float]) -> None:
    """Add to the totals. In one order, or two processes could each wait for the other."""
    if not changes:
        return
    rows = [{"sample": key, "value": changes[key]} for key in sorted(changes)]
    insertion = upsert(session, MetricSample).values(rows)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=[MetricSample.sample], set_={"value": MetricSample.value + insertion.excluded.value}
        )
    )


def totals(session: Session) -> dict[str, float]:
    """Return the totals by sample."""
    return {one.sample: one.value for one in session.scalars(select(MetricSample))}
