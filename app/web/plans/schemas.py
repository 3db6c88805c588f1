"""What the HTTP API says of plans and quotas."""

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from app.models import Period
from app.web.http.schemas import MomentOut


class QuotaOut(BaseModel):
    """How an account stands with something that its plan limits."""

    model_config = ConfigDict(from_attributes=True)

    limit: int | None = Field(validation_alias=AliasPath("limit", "amount"), description="None is unlimited.")
    used: int = Field(description="In the period, what is just being answered included.")
    left: int | None = Field(description="How many more may be used now; None if unlimited.")
    extra: int = Field(description="What is left of that which was given on top of the plan.")
    period: Period = Field(validation_alias=AliasPath("limit", "period"))
    resets_at: MomentOut | None = Field(description="When a new period begins, UTC; None if never.")


class CurrentPlanOut(BaseModel):
    """Which plan an account has now."""

    model_config = ConfigDict(from_attributes=True)

    plan: str = Field(validation_alias="name", description="The plan's name, such as `free`.")
    plan_ends_at: MomentOut | None = Field(validation_alias="ends_at", description="null is without end.")
