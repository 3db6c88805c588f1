"""
Questions that the tutor could not answer, or whose answer did not help, put together by likeness.

Whoever writes cards sees what was asked and how often, beside which exercises, and never by whom: no account leaves
this module.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.clients.tutor import AttemptOutcome
from app.clock import utc_now
from app.models import ExerciseVersion, MessageState, TutorMessage
from app.services.tutor.offline.evidence import general_index

DAYS, _MOST_QUESTIONS = 90, 400
_ALIKE = 0.5  # of the words of two questions
_WORDINGS, _WORDING_CHARS = 5, 160
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


@dataclass
class QuestionGroup:
    """Questions that ask about the same thing."""

    questions: list[str] = field(default_factory=list)
    """Each wording once, the newest first."""
    times: int = 0
    """How often something of it was asked."""
    exercises: set[str] = field(default_factory=set)
    words: frozenset[str] = frozenset()

    @property
    def card(self) -> str:
        """The beginning of a card, in YAML."""
        words = _NOT_IN_A_NAME.sub("-", " ".join(sorted(self.words)[:3]).lower()).strip("-")
        asked = [f"    - {json.dumps(one, ensure_ascii=False)}" for one in self.questions[:_WORDINGS]]
        return "\n".join(
            [
                f"- id: {words or 'new-card'}",
                "  ask:",
                *asked,
                "  say: >-",
                "    The answer, in two to five true sentences; the first one answers.",
                '  then: "What to ask back?"',
                "",
            ]
        )


def unanswered(session: Session) -> list[QuestionGroup]:
    """Return what was not answered, or did not help, in the last days, the most frequent first."""
    rows = session.execute(
        select(TutorMessage.question, ExerciseVersion.exercise_id)
        .join(ExerciseVersion, ExerciseVersion.id == TutorMessage.exercise_version_id)
        .where(
            TutorMessage.state == MessageState.SETTLED,
            or_(TutorMessage.outcome == AttemptOutcome.UNKNOWN, TutorMessage.rating == -1),
            TutorMessage.settled_at > utc_now() - timedelta(days=DAYS),
        )
        .order_by(TutorMessage.settled_at.desc(), TutorMessage.id)
        .limit(_MOST_QUESTIONS)
    ).all()
    return grouped([(question, exercise_id) for question, exercise_id in rows])


def grouped(asked: Sequence[tuple[str, str]]) -> list[QuestionGroup]:
    """
    Put questions together that share most of their words.

    Args:
        asked: questions with the exercises beside which they were asked, the newest first.
    """
    index = general_index()
    groups: list[QuestionGroup] = []
    for question, exercise_id in asked:
        words = frozenset(term for term in index.terms(question) if index.is_telling(term))
        nearest = max(groups, key=lambda one: _likeness(one.words, words), default=None)
        if nearest is None or _likeness(nearest.words, words) < _ALIKE:
            nearest = QuestionGroup(words=words)
            groups.append(nearest)
        shown = " ".join(question.split())[:_WORDING_CHARS]
        if shown not in nearest.questions:
            nearest.questions.append(shown)
        nearest.times += 1
        nearest.exercises.add(exercise_id)
    return sorted(groups, key=lambda one: -one.times)


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0
