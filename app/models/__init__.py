"""The tables: what each row means, and what may change in it."""

from app.db import Base
from app.models.accounts import Account, ApiToken, BrowserSession, Role, SignInLink
from app.models.exercises import Course, Exercise, ExerciseKind, ExerciseVersion, Lesson
from app.models.grading import GradingRun
from app.models.jobs import Job, JobKind, JobState
from app.models.submissions import Submission, SubmissionKind
from app.models.workers import Worker

__all__ = [
    "Account",
    "ApiToken",
    "Base",
    "BrowserSession",
    "Course",
    "Exercise",
    "ExerciseKind",
    "ExerciseVersion",
    "GradingRun",
    "Job",
    "JobKind",
    "JobState",
    "Lesson",
    "Role",
    "SignInLink",
    "Submission",
    "SubmissionKind",
    "Worker",
]
