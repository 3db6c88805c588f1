"""The tables: what each row means, and what may change in it."""

from app.db import Base
from app.models.accounts import (
    ASSIGNABLE_ROLES,
    Account,
    ApiToken,
    BrowserSession,
    Identity,
    LinkPurpose,
    Role,
    SignInLink,
)
from app.models.audit import AuditEntry
from app.models.drafts import Draft
from app.models.exercises import Course, Exercise, ExerciseKind, ExerciseVersion, Lesson
from app.models.grading import GradingResult
from app.models.hints import HintOpening
from app.models.jobs import Job, JobKind, JobState
from app.models.metrics import MetricSample
from app.models.passages import PassageRow
from app.models.plans import (
    AccountPlan,
    Grant,
    LimitOverride,
    Period,
    Plan,
    PlanLimit,
    RedeemCode,
    Rule,
    UsageCounter,
)
from app.models.spent_allowances import SpentQuota
from app.models.submissions import Submission, SubmissionKind
from app.models.tutor import MessageState, TokenMonth, TutorMessage, TutorPolicy
from app.models.workers import Worker

__all__ = [
    "ASSIGNABLE_ROLES",
    "Account",
    "AccountPlan",
    "ApiToken",
    "AuditEntry",
    "Base",
    "BrowserSession",
    "Course",
    "Draft",
    "Exercise",
    "ExerciseKind",
    "ExerciseVersion",
    "GradingResult",
    "Grant",
    "HintOpening",
    "Identity",
    "Job",
    "JobKind",
    "JobState",
    "Lesson",
    "LimitOverride",
    "LinkPurpose",
    "MessageState",
    "MetricSample",
    "PassageRow",
    "Period",
    "Plan",
    "PlanLimit",
    "RedeemCode",
    "Role",
    "Rule",
    "SignInLink",
    "SpentQuota",
    "Submission",
    "SubmissionKind",
    "TokenMonth",
    "TutorMessage",
    "TutorPolicy",
    "UsageCounter",
    "Worker",
]
