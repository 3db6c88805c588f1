"""
What a tutor's engine is given, and what it gives back.

Everything that an engine may know stands in `TutorContext`. The reference, other right ways, the code of wrong
variants and other students' work have no field here, so no engine can tell them.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from graders.report import Report


@dataclass(frozen=True)
class Passage:
    """A section of the lesson that may help with a question."""

    title: str
    text: str
    """Markdown, as the lesson has it."""
    address: str
    """Where the page shows it, such as `/exercises/x#two-tables`."""


@dataclass(frozen=True)
class Exchange:
    """An earlier question about the same exercise, and what was answered."""

    question: str
    answer: str


@dataclass(frozen=True)
class Allowance:
    """What an account may still ask, in words that can be said to it."""

    plan: str
    """The plan's title."""
    left: int | None
    """None if there is no limit."""
    amount: int | None
    """All that there are; None if there is no limit."""
    period: str
    """For how long: `today`, `this month`, or `for good`."""
    resets_at: str
    """The day on which there are new ones; empty if never."""


class AttemptOutcome(StrEnum):
    """What became of a question. Only an answered one costs a message."""

    ANSWERED = "answered"
    UNKNOWN = "unknown"  # the tutor said that it does not know
    ELSEWHERE = "elsewhere"  # it was about something else
    STAND_IN = "stand_in"  # the hosted model was down, and the offline tutor answered in its place


@dataclass(frozen=True)
class TutorContext:
    """All that an engine is given for one answer. "What the tutor sees" shows the same to the student."""

    question: str
    exercise_id: str
    title: str
    statement: str
    """The task, in Markdown."""
    setup: str
    """The read-only starting code."""
    names: tuple[str, ...]
    """What the student's code has to make, such as `tok`."""
    facts: tuple[str, ...]
    """What the author lets the tutor say, in Markdown."""
    hints: tuple[str, ...]
    """Those that the student has opened, in order, in Markdown."""
    hints_left: int
    source: str
    """The student's code as it was sent last; empty if nothing was."""
    report: Report | None
    """What came of the last check; None if nothing was graded."""
    lesson_title: str
    passages: tuple[Passage, ...]
    """Of the lesson, those that fit the question best, the best first."""
    earlier: tuple[Exchange, ...]
    """The last few, the oldest first."""
    allowance: Allowance | None = None
    """What is left of the account's messages; None if that is not known."""


@dataclass(frozen=True)
class Usage:
    """What an answer has cost at a hosted model."""

    tokens: int
    """Of the prompt and the answer together."""


@dataclass(frozen=True)
class Piece:
    """A part of an answer, in Markdown; the last one may say what was used."""

    text: str
    sources: tuple[Passage, ...] = ()
    """Which passages the answer rests on."""
    usage: Usage | None = None
    outcome: AttemptOutcome = AttemptOutcome.ANSWERED
    """Said with the last piece."""


class EngineFailed(Exception):
    """An engine gave no whole answer: the message is not charged. `reason` is one word for the ledger."""

    def __init__(self, reason: str) -> None:
        """`reason` is `timeout`, `cut-off`, `empty`, `refused`, `unreachable`, `malformed`, `endless` or `busy`."""
        super().__init__(reason)
        self.reason = reason


class TutorEngine(Protocol):
    """Answers questions."""

    name: str
    """Kept with each message."""

    def answer(self, context: TutorContext) -> AsyncGenerator[Piece]:
        """
        Answer piece by piece; the end of the generator is the end of a complete answer.

        Raises:
            EngineFailed: there will be no whole answer.
        """
        ...

    def most_tokens(self, context: TutorContext) -> int:
        """Return how many tokens the answer may cost at most; 0 for an engine that costs nothing."""
        ...
