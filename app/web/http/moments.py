"""Moments, as pages write them."""

from datetime import datetime


def utc(moment: datetime | str) -> str:
    """Write a moment, or one in ISO 8601, for people; a script turns it into the reader's own time where it can."""
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return read.strftime("%d %b %Y, %H:%M UTC")
