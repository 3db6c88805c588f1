"""Who uses Kelolo, and how they prove it."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import utc_now
from app.db import Base, new_id


class Role(StrEnum):
    """What an account may do. A guest is a visitor known only by a cookie."""

    GUEST = "guest"
    STUDENT = "student"
    INSTRUCTOR = "instructor"
    ADMIN = "admin"


class Account(Base):
    """A person, or a visitor who may become one."""

    __tablename__ = "account"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    email: Mapped[str | None] = mapped_column(unique=True)
    """Lower case. None for a guest."""
    role: Mapped[Role]
    password_hash: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)

    @property
    def may_read_all(self) -> bool:
        """Whether others' submissions are open to this account."""
        return self.role in {Role.INSTRUCTOR, Role.ADMIN}


class BrowserSession(Base):
    """One browser that is signed in. Only a hash of its cookie is kept."""

    __tablename__ = "browser_session"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class SignInLink(Base):
    """An address that signs in whoever opens it first. Only a hash of its secret is kept."""

    __tablename__ = "sign_in_link"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class ApiToken(Base):
    """A token for programs. Only its hash is kept: it is shown once, when it is made."""

    __tablename__ = "api_token"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    label: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    revoked_at: Mapped[datetime | None]
