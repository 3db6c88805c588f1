"""
What is wrong with an author's files: every fault at once, each with its place.

    ExerciseFaults      422  one or more files of an exercise or course cannot be taken as they are
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import AppError


@dataclass(frozen=True)
class FileFault:
    """One thing to put right."""

    file: str
    line: int  # counted from 1
    column: int  # counted from 1
    message: str

    def __str__(self) -> str:
        """As an editor or terminal makes it a link: file:line:column."""
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class ExerciseFaults(AppError):
    """The files of an exercise or course have faults."""

    status = 422
    title = "There is something to put right in these files"
    message = "{listing}"

    def __init__(self, faults: Sequence[FileFault]) -> None:
        """`faults`: at least one."""
        self.faults = tuple(faults)
        super().__init__(listing="\n".join(str(fault) for fault in faults))
