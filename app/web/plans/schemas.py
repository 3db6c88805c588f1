"""What the HTTP API says of plans and quotas."""

from typing import Literal

from pydantic import BaseModel, Field


class QuotaOut(BaseModel):
    """How an account stands with something that its plan limits."""

    limit: int | None = Field(description="None is unlimited.")
    used: int = Field(description="In the period, what is just being answered included.")
    left: int | None = Field(description="How many more may be used now; None if unlimited.")
    extra: int = Field(description="What is left of that which was given on top of the plan.")
    period: Literal["minute", "day", "month", "lifetime"]
    resets_at: str | None = Field(description="When a new period begins, UTC; None if never.")
