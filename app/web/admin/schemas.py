"""What administrators send and get over the HTTP API, as the OpenAPI description tells it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from app.models import Rule
from app.services.plans.codes import LABEL_LIMIT, MOST_CODES, MOST_DAYS
from app.services.plans.plans import LEAST, MOST, Limit, PlanView
from app.services.tutor.policy import MOST_FAILURES, MOST_TOKENS
from app.web.http.schemas import Moment, Strict
from app.web.plans.schemas import QuotaOut

REASON_LIMIT = 500  # characters


Reason = Annotated[str, Field(default="", max_length=REASON_LIMIT, description="Why, for the audit log.")]


class MessagesLimitIn(Strict):
    """How many tutor messages."""

    amount: Annotated[int, Field(strict=True, ge=LEAST[Rule.TUTOR_MESSAGES], le=MOST)] | None = Field(
        description="null is unlimited."
    )
    period: Literal["day", "month", "lifetime"]
    fair_use_per_day: Annotated[int, Field(strict=True, ge=1, le=MOST)] | None = Field(
        default=None, description="Of what is unlimited: the ceiling that stops a program. null is none."
    )


class ChecksLimitIn(Strict):
    """How many checks and runs."""

    amount: Annotated[int, Field(strict=True, ge=LEAST[Rule.CHECKS], le=MOST)] | None = Field(
        description="null is unlimited."
    )
    period: Literal["minute"] = "minute"


class PlanIn(Strict):
    """What changes in a plan: each limit that is named is replaced as a whole."""

    tutor_messages: MessagesLimitIn | None = None
    checks: ChecksLimitIn | None = None
    reason: Reason


class LimitOut(BaseModel):
    """How much may be used in a period."""

    amount: int | None = Field(description="null is unlimited.")
    period: Literal["minute", "day", "month", "lifetime"]
    fair_use_per_day: int | None
    words: str = Field(description="What it means, such as `30 tutor messages, ever`.")


class PlanOut(BaseModel):
    """A plan with its limits."""

    name: str
    title: str
    tutor_messages: LimitOut
    checks: LimitOut


class PlansOut(BaseModel):
    """Every plan, in order."""

    plans: list[PlanOut]


class GivenPlanIn(Strict):
    """The plan that an account gets."""

    plan: Annotated[str, Field(max_length=100)]
    ends_at: Moment | None = Field(default=None, description="null is without end.")
    reason: Reason


class RoleIn(Strict):
    """What an account may do."""

    role: Literal["student", "instructor", "admin"]
    reason: Reason


class BlockedIn(Strict):
    """Whether an account may do anything at all."""

    blocked: Annotated[bool, Field(strict=True)]
    reason: Reason


class OwnLimitIn(Strict):
    """What one account may, whatever its plan says."""

    amount: Annotated[int, Field(strict=True, ge=0, le=MOST)] | None = Field(description="null is unlimited.")
    period: Literal["minute", "day", "month", "lifetime"] = Field(description="Of `checks` it is `minute`.")
    fair_use_per_day: Annotated[int, Field(strict=True, ge=1, le=MOST)] | None = None
    reason: Reason


class ExtraIn(Strict):
    """Tutor messages given once, on top of the plan."""

    amount: Annotated[int, Field(strict=True, ge=1, le=MOST)]
    expires_at: Moment | None = Field(default=None, description="null is never.")
    reason: Reason


class ResetIn(Strict):
    """A new beginning from zero tutor messages."""

    reason: Reason


class UserOut(BaseModel):
    """An account, in a list."""

    id: str
    email: str | None = Field(description="null for a guest.")
    role: Literal["guest", "student", "instructor", "admin"]
    blocked_at: str | None
    created_at: str
    plan: str
    plan_ends_at: str | None = Field(description="null is without end.")
    quotas: dict[str, QuotaOut]


class UsersOut(BaseModel):
    """A page of accounts."""

    users: list[UserOut]
    total: int = Field(description="On all pages.")


class ExtraOut(BaseModel):
    """Something given on top of the plan."""

    id: str
    rule: str
    amount: int
    used: int
    expires_at: str | None
    created_at: str


class HistoryOut(BaseModel):
    """A plan that an account has or had."""

    plan: str
    starts_at: str
    ends_at: str | None
    origin: str = Field(description="`admin` or `code`.")


class WholeUserOut(UserOut):
    """All about an account."""

    limits: dict[str, LimitOut] = Field(description="What binds it now.")
    overrides: dict[str, LimitOut] = Field(description="What was set for it alone.")
    extra: list[ExtraOut]
    history: list[HistoryOut]
    submissions: int
    active_at: str | None


class BatchIn(Strict):
    """Codes to be made."""

    label: Annotated[str, Field(min_length=1, max_length=LABEL_LIMIT)]
    count: Annotated[int, Field(strict=True, ge=1, le=MOST_CODES)]
    plan: Annotated[str, Field(max_length=100)]
    plan_days: Annotated[int, Field(strict=True, ge=1, le=MOST_DAYS)] | None = Field(
        default=None, description="How long the plan lasts from redemption on; null is without end."
    )
    expires_at: Moment | None = Field(default=None, description="Until when codes can be redeemed; null is for ever.")
    reason: Reason


class MadeOut(BaseModel):
    """A new batch. This is the only time that its codes are shown."""

    label: str
    codes: list[str]


class BatchOut(BaseModel):
    """How a batch stands."""

    label: str
    plan: str
    plan_days: int | None
    expires_at: str | None
    created_at: str
    made: int
    redeemed: int
    expired: int
    unused: int


class BatchesOut(BaseModel):
    """Every batch, the newest first."""

    batches: list[BatchOut]


class RevokedOut(BaseModel):
    """How many codes can no longer be redeemed."""

    revoked: int


class EntryOut(BaseModel):
    """An entry of the audit log."""

    id: str
    at: str
    actor: str
    actor_id: str
    action: str
    subject_kind: str
    subject_id: str
    subject: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str


class EntriesOut(BaseModel):
    """A page of the audit log, the newest first."""

    entries: list[EntryOut]
    next: str | None = Field(description="The `after` of the next page; null on the last.")


class PolicyIn(Strict):
    """What the tutor may do."""

    month_token_ceiling: Annotated[int, Field(strict=True, ge=0, le=MOST_TOKENS)] = Field(
        description="Tokens that a hosted model may cost in a month. At 0 it is never called."
    )
    failures_per_day: Annotated[int, Field(strict=True, ge=0, le=MOST_FAILURES)] = Field(
        description="How many failed messages an account gets back in a day."
    )
    reason: Reason


class TutorOut(BaseModel):
    """What the tutor may do, and how it was used in the month that runs now."""

    month_token_ceiling: int
    failures_per_day: int
    tokens_reserved: int
    tokens_spent: int
    messages: dict[str, int] = Field(description="By how they ended: `settled`, `reserved` (under way), `released`.")
    ratings: dict[str, int] = Field(description="`helped` and `not_helped`.")


def limit_facts(limit: Limit) -> dict[str, Any]:
    """Return a limit as the API has it."""
    return limit.facts | {"words": limit.words}


def limits_facts(limits: Mapping[Rule, Limit]) -> dict[str, Any]:
    """Return limits by their rules."""
    return {rule.value: limit_facts(limit) for rule, limit in limits.items()}


def plan_facts(plan: PlanView) -> dict[str, Any]:
    """Return a plan as the API has it."""
    return {"name": plan.name, "title": plan.title, **limits_facts(plan.limits)}
