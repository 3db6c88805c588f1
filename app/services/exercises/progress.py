"""How far an account has come: what it has done, what it has tried, and what comes next."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from app.models import Account, ExerciseVersion, GradingResult, Submission
from app.services.exercises.catalogue import ExerciseView
from graders.report import Verdict


class Progress(StrEnum):
    """How far one exercise has come."""

    NEW = "new"
    TRIED = "tried"  # something was sent, and nothing has passed yet
    DONE = "done"  # passed once, whatever was sent since, in whichever version


def progress_of(session: Session, account: Account) -> dict[str, Progress]:
    """Return the exercises that an account has tried or done, by id; all others are new."""
    passed = case((GradingResult.verdict == Verdict.PASSED, 1), else_=0)
    rows = session.execute(
        select(ExerciseVersion.exercise_id, func.max(passed))
        .select_from(Submission)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .outerjoin(GradingResult, (GradingResult.submission_id == Submission.id) & GradingResult.counts)
        .where(Submission.account_id == account.id)
        .group_by(ExerciseVersion.exercise_id)
    )
    return {exercise_id: Progress.DONE if done else Progress.TRIED for exercise_id, done in rows}


def next_exercise(
    listed: Sequence[ExerciseView], progress: Mapping[str, Progress], *, after: str | None = None
) -> ExerciseView | None:
    """
    Return the first exercise that is not done, or None when all are.

    Args:
        listed: every exercise, in order.
        progress: of those that have been tried.
        after: the one just looked at: those behind it come first, then those that were left out before it.
    """
    ids = [one.id for one in listed]
    start = ids.index(after) + 1 if after in ids else 0
    ahead = [*listed[start:], *listed[:start]]
    return next((one for one in ahead if one.id != after and progress.get(one.id) is not Progress.DONE), None)
