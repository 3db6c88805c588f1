"""Hints: opening one, which one fits what went wrong, and which ones helped."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import new_id, upsert
from app.errors import NoHints
from app.models import Account, ExerciseVersion, GradingResult, HintOpening, Submission, SubmissionKind
from app.services.exercises.catalogue import current_version
from graders.report import Report, Verdict


@dataclass(frozen=True)
class Hint:
    """A hint that is open."""

    number: int
    """From 1."""
    text: str
    """Markdown."""
    left: int
    """How many hints of the exercise are still closed."""


@dataclass(frozen=True)
class HintState:
    """Which hints of an exercise an account has opened, and which it should be offered."""

    total: int
    opened: tuple[Hint, ...]
    suggested: int | None
    """The number of the closed hint that goes best with the last verdict; None if all are open."""
    fits_diagnosis: bool
    """Whether the author has chosen that hint for what went wrong, rather than its being the next."""


@dataclass(frozen=True)
class HintUse:
    """How one hint of an exercise was used, over all students."""

    number: int
    opened: int
    """How many accounts opened it."""
    offered: int
    """How many of them because the page offered it."""
    passed_next: int
    """How many passed with the next check they sent after opening it."""
    passed_later: int
    """How many passed at any time after it, without opening another hint."""


def open_hint(
    session: Session, *, account: Account, exercise_id: str, number: int | None = None, offered: bool = False
) -> Hint:
    """
    Open a hint: the next closed one, or the one with this number. Opening it again changes nothing.

    When all are open already, the next one is the last one.

    Raises:
        NotFound: there is no such exercise.
        NoHints: it has no hints, or not so many.
    """
    version = current_version(session, exercise_id)
    texts = _texts(version)
    if not texts:
        raise NoHints(reason="This exercise has no hints.")
    opened = _opened(session, account, version.id)
    closed = [number for number in range(1, len(texts) + 1) if number not in opened]
    wanted = number if number is not None else (closed[0] if closed else len(texts))
    if not 1 <= wanted <= len(texts):
        raise NoHints(reason=f"This exercise has {len(texts)} hints, numbered from 1.")
    _record(session, account, version, number=wanted, offered=offered)
    return Hint(wanted, texts[wanted - 1], left=len(set(closed) - {wanted}))


def hints_of(session: Session, *, account: Account, exercise_id: str, report: Report | None) -> HintState:
    """
    Return what is open, and which hint to offer next.

    Args:
        session: to read with.
        account: whose hints.
        exercise_id: of which exercise.
        report: the last report, or None if there is none.

    Raises:
        NotFound: there is no such exercise.
    """
    return hints_of_version(session, account=account, version=current_version(session, exercise_id), report=report)


def hints_of_version(
    session: Session, *, account: Account, version: ExerciseVersion, report: Report | None
) -> HintState:
    """Return the same of a version that was read before."""
    texts = _texts(version)
    total = sorted(_opened(session, account, version.id) & set(range(1, len(texts) + 1)))
    closed = [number for number in range(1, len(texts) + 1) if number not in total]
    opened = tuple(Hint(number, texts[number - 1], left=len(closed)) for number in total)
    chosen = _chosen_hint(version.content, report)
    fits = chosen in closed
    return HintState(len(texts), opened, chosen if fits else (closed[0] if closed else None), fits)


def uses(session: Session, exercise_id: str) -> list[HintUse]:
    """
    Say how each hint of an exercise's current version was used, and whether it helped.

    Raises:
        NotFound: there is no such exercise.
    """
    version = current_version(session, exercise_id)
    openings = session.scalars(
        select(HintOpening).where(HintOpening.exercise_version_id == version.id).order_by(HintOpening.opened_at)
    ).all()
    checks = _graded_checks(session, version.id)
    return [_use(number, openings, checks) for number in range(1, len(_texts(version)) + 1)]


def _use(number: int, openings: Any, checks: dict[str, list[tuple[Any, bool]]]) -> HintUse:  # noqa: ANN401  rows
    mine = [one for one in openings if one.number == number]
    passed_next = passed_later = 0
    for one in mine:
        after = [passed for sent_at, passed in checks.get(one.account_id, []) if sent_at > one.opened_at]
        next_opening = min(
            (o.opened_at for o in openings if o.account_id == one.account_id and o.opened_at > one.opened_at),
            default=None,
        )
        alone = [
            passed
            for sent_at, passed in checks.get(one.account_id, [])
            if sent_at > one.opened_at and (next_opening is None or sent_at < next_opening)
        ]
        passed_next += bool(after and after[0])
        passed_later += any(alone)
    return HintUse(number, len(mine), sum(one.offered for one in mine), passed_next, passed_later)


def _graded_checks(session: Session, version_id: str) -> dict[str, list[tuple[Any, bool]]]:
    """Return by account when it sent its checks of a version, in order, and whether each passed."""
    rows = session.execute(
        select(Submission.account_id, Submission.created_at, GradingResult.verdict)
        .join(GradingResult, (GradingResult.submission_id == Submission.id) & GradingResult.counts)
        .where(Submission.exercise_version_id == version_id, Submission.kind == SubmissionKind.CHECK)
        .order_by(Submission.created_at)
    )
    found: dict[str, list[tuple[Any, bool]]] = {}
    for account_id, sent_at, verdict in rows:
        found.setdefault(account_id, []).append((sent_at, verdict == Verdict.PASSED))
    return found


def _record(session: Session, account: Account, version: ExerciseVersion, *, number: int, offered: bool) -> None:
    """Add the opening, unless it is there: of two concurrent ones, the second does nothing."""
    attempts_before = session.scalar(
        select(func.count())
        .select_from(Submission)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(
            Submission.account_id == account.id,
            ExerciseVersion.exercise_id == version.exercise_id,
            Submission.kind == SubmissionKind.CHECK,
        )
    )
    row = {
        "id": new_id(),
        "account_id": account.id,
        "exercise_version_id": version.id,
        "number": number,
        "attempts_before": attempts_before,
        "offered": offered,
        "opened_at": utc_now(),
    }
    session.execute(upsert(session, HintOpening).values(row).on_conflict_do_nothing())


def _opened(session: Session, account: Account, version_id: str) -> set[int]:
    return set(
        session.scalars(
            select(HintOpening.number).where(
                HintOpening.account_id == account.id, HintOpening.exercise_version_id == version_id
            )
        )
    )


def _texts(version: ExerciseVersion) -> list[str]:
    texts: list[str] = version.content.get("hints", [])
    return texts


def _chosen_hint(content: Mapping[str, Any], report: Report | None) -> int | None:
    """Return the number of the hint that the author has named for the misconception of a report."""
    tag = report.misconception.tag if report and report.misconception else ""
    return next((one.get("hint") for one in content.get("wrong", []) if tag and one.get("tag") == tag), None)
