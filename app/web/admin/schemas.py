"""What administrators send and get over the HTTP API, as the OpenAPI description tells it."""

from typing import Annotated, Any, Literal

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from app.models import Period, Role, Rule
from app.services.plans.codes import LABEL_LIMIT, MOST_CODES, MOST_DAYS
from app.services.plans.plans import LEAST, MOST
from app.services.tutor.policy import MOST_FAILURES, MOST_TOKENS, MOST_UPGRADE_TEXT, Month, Policy
from app.web.http.schemas import Moment, MomentOut, Strict
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

    model_config = ConfigDict(from_attributes=True)

    amount: int | None = Field(description="null is unlimited.")
    period: Period
    fair_use_per_day: int | None
    words: str = Field(validation_alias="description", description="What it means, such as `30 tutor messages, ever`.")


class PlanOut(BaseModel):
    """A plan with its limits."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    title: str
    tutor_messages: LimitOut = Field(validation_alias=AliasPath("limits", "tutor_messages"))
    checks: LimitOut = Field(validation_alias=AliasPath("limits", "checks"))


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

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(validation_alias=AliasPath("account", "id"))
    email: str | None = Field(validation_alias=AliasPath("account", "email"), description="null for a guest.")
    role: Role = Field(validation_alias=AliasPath("account", "role"))
    blocked_at: MomentOut | None = Field(validation_alias=AliasPath("account", "blocked_at"))
    created_at: MomentOut = Field(validation_alias=AliasPath("account", "created_at"))
    plan: str = Field(validation_alias=AliasPath("current_plan", "name"))
    plan_ends_at: MomentOut | None = Field(
        validation_alias=AliasPath("current_plan", "ends_at"), description="null is without end."
    )
    quotas: dict[Rule, QuotaOut]


class UsersOut(BaseModel):
    """A page of accounts."""

    users: list[UserOut]
    total: int = Field(description="On all pages.")


class ExtraOut(BaseModel):
    """Something given on top of the plan."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    rule: Rule
    amount: int
    used: int
    expires_at: MomentOut | None
    created_at: MomentOut


class HistoryOut(BaseModel):
    """A plan that an account has or had."""

    model_config = ConfigDict(from_attributes=True)

    plan: str = Field(validation_alias="plan_name")
    starts_at: MomentOut
    ends_at: MomentOut | None
    origin: str = Field(description="`admin` or `code`.")


class WholeUserOut(UserOut):
    """All about an account."""

    limits: dict[Rule, LimitOut] = Field(description="What binds it now.")
    overrides: dict[Rule, LimitOut] = Field(description="What was set for it alone.")
    extra: list[ExtraOut] = Field(validation_alias="grants")
    history: list[HistoryOut]
    submissions: int
    active_at: MomentOut | None


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

    model_config = ConfigDict(from_attributes=True)

    label: str = Field(validation_alias=AliasPath("offer", "label"))
    plan: str = Field(validation_alias=AliasPath("offer", "plan"))
    plan_days: int | None = Field(validation_alias=AliasPath("offer", "plan_days"))
    expires_at: MomentOut | None = Field(validation_alias=AliasPath("offer", "expires_at"))
    created_at: MomentOut
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

    model_config = ConfigDict(from_attributes=True)

    id: str
    at: MomentOut
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
    upgrade_text: str | None = Field(
        None,
        max_length=MOST_UPGRADE_TEXT,
        description="How one gets more messages here, as the page of one's plan says it; left out, it stays as it is.",
    )
    reason: Reason


class TutorOut(BaseModel):
    """What the tutor may do, and how it was used in the month that runs now."""

    month_token_ceiling: int
    failures_per_day: int
    upgrade_text: str
    tokens_reserved: int
    tokens_spent: int
    messages: dict[str, int] = Field(description="By how they ended: `settled`, `reserved` (under way), `released`.")
    ratings: dict[str, int] = Field(description="`helped` and `not_helped`.")


def tutor_out(policy: Policy, month: Month) -> TutorOut:
    """Return the tutor's ceilings and its month as the API has them."""
    return TutorOut(
        month_token_ceiling=policy.month_token_ceiling,
        failures_per_day=policy.failures_per_day,
        upgrade_text=policy.upgrade_text,
        tokens_reserved=month.tokens_reserved,
        tokens_spent=month.tokens_spent,
        messages={"settled": month.settled, "reserved": month.reserved, "released": month.released},
        ratings={"helped": month.helped, "not_helped": month.not_helped},
    )
