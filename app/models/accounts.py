"""Who uses Kelolo, and how they prove it."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id


class Role(StrEnum):
    """What an account may do. A guest is a visitor known only by a cookie."""

    GUEST = "guest"
    STUDENT = "student"
    INSTRUCTOR = "instructor"
    ADMIN = "admin"


ASSIGNABLE_ROLES = (Role.STUDENT, Role.INSTRUCTOR, Role.ADMIN)
"""Those that somebody can be given; a guest is one by having no account of their own."""


class Account(Base):
    """A person, or a visitor who may become one."""

    __tablename__ = "account"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    email: Mapped[str | None] = mapped_column(unique=True)
    """Lower case. None for a guest."""
    role: Mapped[Role]
    password_hash: Mapped[str | None]
    confirmed_at: Mapped[datetime | None]
    """When the owner of the e-mail address has shown that it is theirs."""
    blocked_at: Mapped[datetime | None]
    """Since when the account cannot sign in, and its sessions and tokens do nothing."""
    created_at: Mapped[datetime] = mapped_column(default=utc_now)

    @property
    def may_read_all(self) -> bool:
        """Whether others' submissions are open to this account."""
        return self.role in {Role.INSTRUCTOR, Role.ADMIN}

    @property
    def is_limited(self) -> bool:
        """Whether plans and rate limits bind this account: they do not bind those who teach."""
        return self.role in {Role.GUEST, Role.STUDENT}


class BrowserSession(Base):
    """One browser that is signed in. Only a hash of its cookie is kept."""

    __tablename__ = "browser_session"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    browser: Mapped[str] = mapped_column(default="")
    """What the browser calls itself, for its owner to know it by."""
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class LinkPurpose(StrEnum):
    """What a link that was printed or mailed does."""

    SIGN_IN = "sign-in"
    RESET = "reset"  # of a password
    CONFIRM = "confirm"  # an e-mail address


class SignInLink(Base):
    """An address that does something for whoever opens it first. Only a hash of its secret is kept."""

    __tablename__ = "sign_in_link"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    purpose: Mapped[LinkPurpose] = mapped_column(default=LinkPurpose.SIGN_IN)
    email: Mapped[str | None]
    """The address that is confirmed by it."""
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Identity(Base):
    """A person as another site knows them, by OpenID Connect."""

    __tablename__ = "identity"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class ApiToken(Base):
    """A token for programs. Only its hash is kept: it is shown once, when it is made."""

    __tablename__ = "api_token"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    label: Mapped[str] = mapped_column(default="")
    scopes: Mapped[str] = mapped_column(default="read write admin")
    """Words with spaces between them: `read`, `write`, `admin`. None gives more than the account's role does."""
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    revoked_at: Mapped[datetime | None]
