"""What the tutor is given for one answer, and nothing else: see `TutorContext` for what is never in it."""

from dataclasses import dataclass, field
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.clients.tutor import Allowance, Exchange, TutorContext
from app.errors import QuestionRefused
from app.models import (
    Account,
    ExerciseKind,
    ExerciseVersion,
    GradingResult,
    MessageState,
    Submission,
    SubmissionKind,
    TutorMessage,
)
from app.services import hints
from app.services.exercises import catalogue
from app.services.exercises.passage_search import search_passages
from app.services.plans import quotas
from app.services.plans.plans import PERIOD_WORDS
from app.services.tutor.leak_guard.guard import ProtectedText, VisibleText
from graders.report import Report

QUESTION_LIMIT = 2000
"""Characters."""
_PASSAGES = 3
_EXCHANGES = 3


@dataclass(frozen=True)
class PreparedAnswer:
    """An answer's beginning: what the engine is given, and what the guard compares its reply with."""

    version_id: str
    context: TutorContext
    protected: ProtectedText
    """Stays on this side: no engine sees it."""
    visible: VisibleText
    """What the student may read anyway, and so may be quoted."""


@dataclass(frozen=True)
class _Content:
    """What a version says, compared by its id alone: it never changes."""

    version_id: str
    says: dict[str, object] = field(compare=False, repr=False)


@lru_cache(maxsize=128)
def _reference(content: _Content) -> ProtectedText:
    """Read the protected text once for a version: that takes longer than an answer."""
    return ProtectedText.of(content.says)


def checked_question(text: str) -> str:
    """Return a question without the space around it. Raises QuestionRefused."""
    question = text.replace("\r\n", "\n").strip()
    if not question:
        raise QuestionRefused(reason="Write a question first.")
    if len(question) > QUESTION_LIMIT:
        raise QuestionRefused(
            reason=f"A question has at most {QUESTION_LIMIT} characters; this one has {len(question)}. "
            "Your code need not be in it: the tutor sees what you sent last."
        )
    try:
        question.encode("utf-8")
    except UnicodeEncodeError:
        raise QuestionRefused(reason="This question holds half a character. Delete it and type it again.") from None
    if "\x00" in question:
        raise QuestionRefused(reason="This question holds a NUL character. Delete it and try again.")
    return question


def prepare(session: Session, account: Account, exercise_id: str, question: str) -> PreparedAnswer:
    """
    Gather what an answer needs.

    Args:
        session: to read with.
        account: who asks.
        exercise_id: beside which exercise.
        question: as `checked_question` returns it.

    Raises:
        NotFound: there is no such exercise.
    """
    version = catalogue.current_version(session, exercise_id)
    content = version.content
    lesson = catalogue.lesson_of(session, exercise_id)
    source, report = last_attempt(session, account, exercise_id)
    hint_state = hints.hints_of(session, account=account, exercise_id=exercise_id, report=report)
    opened = tuple(hint.text for hint in hint_state.opened)
    is_code = content.get("kind") != ExerciseKind.QUESTION
    context = TutorContext(
        question=question,
        exercise_id=exercise_id,
        title=content["title"],
        statement=content["statement"],
        setup=content.get("setup", ""),
        names=tuple(one["name"] for one in content.get("outputs", [])) if is_code else (),
        facts=tuple(content.get("tutor", [])),
        hints=opened,
        hints_left=hint_state.total - len(opened),
        source=source,
        report=report,
        lesson_title=lesson.title if lesson else "",
        passages=tuple(search_passages(session, exercise_id=exercise_id, question=question, limit=_PASSAGES)),
        earlier=_earlier(session, account, exercise_id),
        allowance=allowance_of(session, account),
    )
    return PreparedAnswer(
        version_id=version.id,
        context=context,
        protected=_reference(_Content(version.id, content)),
        visible=VisibleText.of(context, lesson.markdown if lesson else "", content.get("starter", "")),
    )


def allowance_of(session: Session, account: Account) -> Allowance:
    """Return what an account may still ask, in words."""
    quota = quotas.quota_of(session, account)
    limited = quota.limit.amount is not None
    return Allowance(
        plan=quota.plan,
        left=quota.left,
        amount=(quota.limit.amount or 0) + quota.extra if limited else None,
        period=PERIOD_WORDS[quota.limit.period].kept,
        resets_at=f"{quota.resets_at:%-d %B}" if quota.resets_at else "",
    )


def last_attempt(session: Session, account: Account, exercise_id: str) -> tuple[str, Report | None]:
    """Return what the account sent last for an exercise, and its last report; empty and None at first."""
    report = last_report(session, account, exercise_id)
    mine = (
        select(Submission.source)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(Submission.account_id == account.id, ExerciseVersion.exercise_id == exercise_id)
        .order_by(Submission.created_at.desc(), Submission.id)
        .limit(1)
    )
    return session.scalar(mine) or "", report


def last_report(session: Session, account: Account, exercise_id: str) -> Report | None:
    """Return the last report on a check of an exercise; None at first."""
    graded = (
        select(GradingResult.report)
        .join(Submission, Submission.id == GradingResult.submission_id)
        .join(ExerciseVersion, ExerciseVersion.id == Submission.exercise_version_id)
        .where(
            Submission.account_id == account.id,
            ExerciseVersion.exercise_id == exercise_id,
            Submission.kind == SubmissionKind.CHECK,
            GradingResult.counts,
        )
        .order_by(Submission.created_at.desc(), Submission.id)
        .limit(1)
    )
    report = session.scalar(graded)
    return Report.from_json(report) if report else None


def _earlier(session: Session, account: Account, exercise_id: str) -> tuple[Exchange, ...]:
    rows = conversation(session, account, exercise_id, limit=_EXCHANGES)
    return tuple(Exchange(row.question, row.answer) for row in rows if row.state is MessageState.SETTLED)


def conversation(session: Session, account: Account, exercise_id: str, *, limit: int) -> list[TutorMessage]:
    """Return the last messages of an account about an exercise that were answered or are just being, oldest first."""
    rows = session.scalars(
        select(TutorMessage)
        .join(ExerciseVersion, ExerciseVersion.id == TutorMessage.exercise_version_id)
        .where(
            TutorMessage.account_id == account.id,
            ExerciseVersion.exercise_id == exercise_id,
            TutorMessage.state != MessageState.RELEASED,
        )
        .order_by(TutorMessage.reserved_at.desc(), TutorMessage.id)
        .limit(limit)
    ).all()
    return list(reversed(rows))


def exercise_of(session: Session, message: TutorMessage) -> str | None:
    """Return the exercise that a message is about."""
    return session.scalar(select(ExerciseVersion.exercise_id).where(ExerciseVersion.id == message.exercise_version_id))
