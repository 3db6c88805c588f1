"""What goes over the HTTP API about one's own account and its tokens."""

from typing import Literal

from pydantic import BaseModel, Field

from app.web.plans.schemas import QuotaOut


class Me(BaseModel):
    """The account that a call is made with."""

    id: str
    email: str | None = Field(description="None for a guest.")
    role: Literal["guest", "student", "instructor", "admin"]
    plan: str = Field(description="The plan's name, such as `free`.")
    plan_ends_at: str | None = Field(description="When it ends, UTC; None is without end.")
    quotas: dict[str, QuotaOut]


class Proof(BaseModel):
    """What shows that whoever is signed in is really there."""

    password: str | None = Field(default=None, description="The account’s password.")
    email: str | None = Field(default=None, description="Its e-mail address, if it has no password.")


class TokenIn(BaseModel):
    """A token that is to be made."""

    label: str = Field(default="", max_length=200, description="What it is for.")
    scopes: list[Literal["read", "write", "admin"]] | None = Field(
        default=None, min_length=1, max_length=3, description="Unless given, all that are of use to the account."
    )
    days: int | None = Field(default=None, ge=1, le=3650, description="Until it expires; unless given, never.")


class TokenOut(BaseModel):
    """A token, without the token itself."""

    id: str
    label: str
    scopes: list[Literal["read", "write", "admin"]]
    created_at: str
    expires_at: str | None


class NewToken(TokenOut):
    """A token that was made just now."""

    token: str = Field(description="The token itself. It is not shown again.")
