"""The tutor's engines that are somewhere else, and the port that every engine stands behind."""

from app.clients.tutor.port import (
    Allowance,
    AttemptOutcome,
    EngineFailed,
    Exchange,
    Passage,
    Piece,
    TutorContext,
    TutorEngine,
    Usage,
)

__all__ = [
    "Allowance",
    "AttemptOutcome",
    "EngineFailed",
    "Exchange",
    "Passage",
    "Piece",
    "TutorContext",
    "TutorEngine",
    "Usage",
]
