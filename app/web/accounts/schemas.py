"""What goes over the HTTP API about one's own account and its tokens."""

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.models import Account, Role, Rule
from app.services.accounts.access import Scope
from app.services.plans.plan_usage import PlanUsage
from app.web.http.schemas import MomentOut
from app.web.plans.schemas import QuotaOut


class Me(BaseModel):
    """The account that a call is made with."""

    id: str
    email: str | None = Field(description="None for a guest.")
    role: Role
    plan: str = Field(description="The plan's name, such as `free`.")
    plan_ends_at: MomentOut | None = Field(description="When it ends, UTC; None is without end.")
    quotas: dict[Rule, QuotaOut]

    @classmethod
    def of(cls, account: Account, usage: PlanUsage) -> Self:
        """Return an account with its plan, as the API has it."""
        return cls(
            id=account.id,
            email=account.email,
            role=account.role,
            plan=usage.plan.name,
            plan_ends_at=usage.plan.ends_at,
            quotas={
                Rule.TUTOR_MESSAGES: QuotaOut.model_validate(usage.tutor_messages),
                Rule.CHECKS: QuotaOut.model_validate(usage.checks),
            },
        )


class Reauthentication(BaseModel):
    """What shows that whoever is signed in is really there."""

    password: str | None = Field(default=None, description="The account’s password.")
    email: str | None = Field(default=None, description="Its e-mail address, if it has no password.")


class TokenIn(BaseModel):
    """A token that is to be made."""

    label: str = Field(default="", max_length=200, description="What it is for.")
    scopes: list[Scope] | None = Field(
        default=None, min_length=1, max_length=3, description="Unless given, all that are of use to the account."
    )
    days: int | None = Field(default=None, ge=1, le=3650, description="Until it expires; unless given, never.")


def _split(scopes: object) -> object:
    """Read scopes as they are stored: with spaces between them."""
    return scopes.split() if isinstance(scopes, str) else scopes


class TokenOut(BaseModel):
    """A token, without the token itself."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    label: str
    scopes: Annotated[list[Scope], BeforeValidator(_split)]
    created_at: MomentOut
    expires_at: MomentOut | None


class NewToken(TokenOut):
    """A token that was made just now."""

    token: str = Field(description="The token itself. It is not shown again.")
