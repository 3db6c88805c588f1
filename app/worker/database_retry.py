"""
Retrying what must be done although the database is away for a moment.

A verdict that is found should not be lost because PostgreSQL is restarted just then: finding it again takes
longer, and counts as a try. All that is done so is safe to do twice, because a commit may have succeeded
although its answer was never heard.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

PATIENCE_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0

Result = TypeVar("Result")
log = structlog.get_logger()


def is_away(error: Exception) -> bool:
    """Say whether an error means that the database does not answer now, and may do so soon."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(error, OperationalError | InterfaceError | NoConnection)


def retry_while_away(action: Callable[[], Result], *, patience_s: float = PATIENCE_S) -> Result:
    """Do something in the database, again and again while it is away; after `patience_s`, raise its error."""
    deadline_s = time.monotonic() + patience_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return action()
        except Exception as error:
            if not is_away(error) or time.monotonic() + pause_s > deadline_s:
                raise
            log.warning("database is away", again_in_s=pause_s, error=type(error).__name__)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
