"""The time, in the one form that Kelolo uses: aware and in UTC."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return this moment, aware, in UTC."""
    return datetime.now(UTC)
