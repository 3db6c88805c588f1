"""How often an account may try a code: nobody types ten wrong ones, and programs that guess are slowed down."""

from math import ceil
from time import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from app.errors import TooManyCodes

TRIES = 10
MINUTES = 10


class CodeTries:
    """
    Counts tries by account. Safe to share between threads.

    It counts in the memory of one web process: behind several, an account has as many tries in each. That is no
    matter, because 80 random bits are found by nobody, however often one may try.
    """

    def __init__(self, tries: int = TRIES, minutes: int = MINUTES) -> None:
        """Allow so many tries in so many minutes."""
        self._limit = RateLimitItemPerMinute(tries, minutes)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def count(self, account_id: str) -> None:
        """Count a try. Raises TooManyCodes."""
        if not self._limiter.hit(self._limit, account_id):
            stats = self._limiter.get_window_stats(self._limit, account_id)
            raise TooManyCodes(retry_after_s=max(1, ceil(stats.reset_time - time())))
