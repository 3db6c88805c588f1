"""The base of all models, and the column types that they share."""

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, DateTime, Dialect, Enum, MetaData
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

# Named constraints, because migrations can only alter what has a name.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """
    A moment, aware and in UTC on the way in and out.

    SQLite has no such type: there it is text of fixed width, which sorts as time does.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone, which would be a guess. Raises: ValueError."""
        if value is None:
            return None
        if value.tzinfo is None:
            error = f"{value!r} has no time zone"
            raise ValueError(error)
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back the zone that SQLite has dropped; PostgreSQL answers in the session's zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class Base(DeclarativeBase):
    """What every table's class derives from."""

    metadata = MetaData(naming_convention=NAMING)
    # JSON rather than PostgreSQL's JSONB, which refuses \u0000 and reorders keys: a report
    # comes back exactly as it went in.
    # Enumerations are plain text: a new member then needs no change of type.
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        StrEnum: Enum(
            StrEnum,
            native_enum=False,
            create_constraint=False,
            length=20,
            values_callable=lambda members: [member.value for member in members],
        ),
    }


def new_id() -> str:
    """Return 32 random hexadecimal digits, to name a row by."""
    return uuid.uuid4().hex
