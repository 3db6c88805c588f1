"""
What can go wrong that is nobody's fault but ours.

    AuthorFault          an author's text raised on what an answer has made: reported to the author, no exception

    GraderFault          the grader or the exercise cannot judge this submission, most likely not by the same seed
        MachineFault     a warm process has died, is silent or cannot fork: another try may well succeed
"""

from dataclasses import dataclass

MAX_AUTHOR_FAULTS = 20  # that are reported of one submission


@dataclass(frozen=True)
class AuthorFault:
    """What an author's text raised on one submission's values; what it was to look at is not run."""

    text: str  # which: "`judge`", "`report`" …
    exception: str  # its type and message, with the line and the values drawn


class GraderFault(Exception):
    """
    The grader itself failed: logged, never charged to a student.

    Raised when the starting code or an exercise's own reference cannot be run, and when neither a submission nor the
    exercise's own solution can be judged.
    """


class MachineFault(GraderFault):
    """What a submission has no part in: processes that cannot be had. Worth trying again, perhaps with a new grader."""
