"""The tutor's engines that are somewhere else, and the port that every engine stands behind."""

from app.clients.tutor.port import (
    Allowance,
    EngineFailed,
    Exchange,
    Passage,
    Piece,
    QuestionOutcome,
    TutorContext,
    TutorEngine,
    Usage,
)

__all__ = [
    "Allowance",
    "EngineFailed",
    "Exchange",
    "Passage",
    "Piece",
    "QuestionOutcome",
    "TutorContext",
    "TutorEngine",
    "Usage",
]
