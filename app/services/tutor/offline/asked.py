"""A question with all that a reply is made of, and the reply."""

import re
from dataclasses import dataclass
from functools import cached_property

from app.clients.tutor.port import AttemptOutcome, Passage, TutorContext
from app.services.tutor.offline.diagnosis import Diagnosis, checks, mentioned, quotes_error
from app.services.tutor.offline.evidence import Evidence, Topic
from graders.report import CheckStatus

_ABOUT_MINE = 0.3  # of a question that the diagnosis must cover to be what the question is about
_MINE = re.compile(r"\b(my|mine|i (wrote|never|did|made))\b", re.IGNORECASE)
_A_LINE = re.compile(r"\bline \d", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """An answer, in paragraphs of Markdown."""

    paragraphs: tuple[str, ...]
    sources: tuple[Passage, ...] = ()
    outcome: AttemptOutcome = AttemptOutcome.ANSWERED


@dataclass(frozen=True)
class QuestionContext:
    """A question with all that a reply is made of."""

    context: TutorContext
    question: str
    evidence: Evidence
    diagnosis: Diagnosis | None

    @property
    def topic(self) -> Topic | None:
        """What answers it best, if anything does."""
        topics = self.evidence.topics
        return topics[0] if topics else None

    @property
    def is_about_mine(self) -> bool:
        """Is it about what is wrong with the last attempt?"""
        return self.closeness >= _ABOUT_MINE

    @cached_property
    def closeness(self) -> float:
        """How much of it the diagnosis covers, 0 to about 1."""
        return self.evidence.relevance(self.diagnosis.text) if self.diagnosis else 0.0

    @property
    def speaks_of_mine(self) -> bool:
        """Does it say "my" of something, while something is wrong?"""
        return self.diagnosis is not None and _MINE.search(self.question) is not None

    @property
    def points_at_fault(self) -> bool:
        """Does it repeat the message of the error, or name what fails?"""
        if self.diagnosis is None:
            return False
        if quotes_error(self.context, self.question) or _A_LINE.search(self.question):
            return True
        named = [f"`{name}`" for name in mentioned(self.context, self.question)]
        failing = [one.title + one.message for one in checks(self.context, CheckStatus.FAILED)]
        return any(name in text for name in named for text in failing)
