"""What a request for an exercise's page reads, each thing once and only if the page shows it."""

from functools import cached_property

from sqlalchemy.orm import Session

from app.models import Account, ExerciseKind, ExerciseVersion, Submission
from app.services.exercises import catalogue
from app.services.exercises.catalogue import ExerciseView, LessonView
from app.services.exercises.progress import Progress, progress_of
from app.services.plans.plan_usage import PlanUsage, usage_of
from app.services.submissions import submissions
from app.services.submissions.submissions import PastAttempt
from app.services.tutor.context import last_report
from graders.report import Report

HISTORY_LIMIT = 50


class PageContext:
    """
    One exercise as one account sees it, in one transaction.

    Parts of a page ask for the same things: the exercise, the outline of the course, the plan. What is asked for the
    first time is read then, and kept for the rest of the request.
    """

    def __init__(self, session: Session, account: Account, exercise_id: str) -> None:
        """Read nothing yet; `session` has to be open for as long as something is asked for."""
        self.session = session
        self.account = account
        self.exercise_id = exercise_id

    @cached_property
    def version(self) -> ExerciseVersion:
        """What is to be done now. Raises NotFound: there is no such exercise."""
        return catalogue.current_version(self.session, self.exercise_id)

    @property
    def is_question(self) -> bool:
        """Whether it is answered rather than programmed."""
        return self.version.content.get("kind") == ExerciseKind.QUESTION

    @cached_property
    def outline(self) -> list[ExerciseView]:
        """Every exercise, in order."""
        return catalogue.outline(self.session)

    @cached_property
    def lesson(self) -> LessonView | None:
        """The lesson that the exercise belongs to; None if no course has it any more."""
        return catalogue.lesson_of(self.session, self.exercise_id, listed=self.outline)

    @cached_property
    def progress(self) -> dict[str, Progress]:
        """How far the account has come, by exercise."""
        return progress_of(self.session, self.account)

    @cached_property
    def attempts(self) -> list[PastAttempt]:
        """Earlier checks, the newest first; one more than is shown, if there are as many."""
        return submissions.history(
            self.session, account=self.account, exercise_id=self.exercise_id, limit=HISTORY_LIMIT + 1
        )

    @cached_property
    def latest(self) -> Submission | None:
        """What the account sent last, checked or only run."""
        return submissions.latest(self.session, account=self.account, exercise_id=self.exercise_id)

    @cached_property
    def report(self) -> Report | None:
        """The last report on a check; None if nothing was graded."""
        if not any(one.verdict for one in self.attempts):
            return None
        return last_report(self.session, self.account, self.exercise_id)

    @cached_property
    def usage(self) -> PlanUsage:
        """The account's plan, and how much of it is used."""
        return usage_of(self.session, self.account)
