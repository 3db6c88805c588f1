"""
What people typed into a form, read field by field.

A field that will not do gets a sentence beside it, and everything typed stays where it is; so fields are text until
they have been read here. A form that changes something carries a fingerprint of what it was opened with: if that is
no longer how things stand, somebody else was quicker, and is not overwritten.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from app.clock import utc_now
from app.errors import EditedMeanwhile

Value = TypeVar("Value")
FIELD_LIMIT = 2000  # characters
_MOST_FIELDS = 40
_NINES = 10  # digits, beyond which no number of ours goes


class FormRefused(Exception):
    """Something in a form will not do."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        """Keep a sentence for each field that will not do."""
        super().__init__(*errors.values())
        self.errors = errors


@dataclass
class Form:
    """One form as it was sent, and what is wrong with it."""

    typed: Mapping[str, str]
    errors: dict[str, str] = field(default_factory=dict)
    """By field, a sentence."""

    def text(self, name: str, *, most: int = FIELD_LIMIT) -> str:
        """Return a line of text, without spaces round it."""
        value = " ".join(self.typed.get(name, "").split())
        if len(value) > most:
            return self._wrong(name, f"At most {most} characters.", "")
        if not value.isprintable():
            return self._wrong(name, "Only characters that can be printed.", "")
        return value

    def chosen(self, name: str, options: list[str]) -> str:
        """Return one of some options."""
        value = self.typed.get(name, "")
        return value if value in options else self._wrong(name, "Choose one of these.", options[0])

    def ticked(self, name: str) -> bool:
        """Say whether a box is ticked."""
        return name in self.typed

    def confirmed(self, name: str = "sure") -> None:
        """Insist on a box being ticked."""
        if not self.ticked(name):
            self._wrong(name, "Tick this box if you mean it.", "")

    def whole(self, name: str, *, least: int, most: int) -> int:
        """Return a whole number."""
        value = self.typed.get(name, "").strip().replace(" ", "")
        if value.isascii() and value.isdecimal() and len(value) <= _NINES and least <= int(value) <= most:
            return int(value)
        return self._wrong(name, f"Write a whole number from {least} to {most}.", least)

    def whole_or_none(self, name: str, *, least: int, most: int) -> int | None:
        """Return a whole number, or None if the field was left empty."""
        return self.whole(name, least=least, most=most) if self.typed.get(name, "").strip() else None

    def end_of_day(self, name: str) -> datetime | None:
        """Return the last second of a day, in UTC; None if the field was left empty."""
        value = self.typed.get(name, "").strip()
        if not value:
            return None
        day = as_day(value)
        if day is None:
            return self._wrong(name, "Write a day as year-month-day, such as 2027-01-31.", None)
        end = datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC)
        return self._wrong(name, "Choose today or a later day.", None) if end <= utc_now() else end

    def unchanged_since(self, values: object, *, what: str) -> None:
        """Refuse a form that was opened when things stood otherwise. Raises EditedMeanwhile."""
        if self.typed.get("before") != fingerprint(values):
            raise EditedMeanwhile(what=what)

    def finish(self) -> None:
        """Go on only if every field that was read will do. Raises FormRefused."""
        if self.errors:
            raise FormRefused(self.errors)

    def _wrong(self, name: str, sentence: str, instead: Value) -> Value:
        self.errors[name] = sentence
        return instead


def as_day(text: str) -> date | None:
    """Return the day that a text such as 2027-01-31 names; None if it names none of this and the next century."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 2000 <= day.year < 2200 else None  # noqa: PLR2004


def fingerprint(values: object) -> str:
    """Return a short text that is another one for other values."""
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:24]


async def _form(request: Request) -> Form:
    # async, because a body can only be read so; it is small, and nothing else is done here
    sent = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    return Form({name: value for name, value in sent.items() if isinstance(value, str)})


SentForm = Annotated[Form, Depends(_form)]
