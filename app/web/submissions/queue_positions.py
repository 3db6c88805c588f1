"""The positions in the queue, as all who wait in this process are told them."""

import asyncio
import time
from collections.abc import Callable
from math import inf

from anyio import CapacityLimiter, to_thread

READ_EVERY_S = 1.0


class QueuePositions:
    """The queue as it was a moment ago, read once for all who wait in this process."""

    def __init__(self, read: Callable[[], dict[str, int]], *, limiter: CapacityLimiter) -> None:
        """Prepare. `read` returns the position of each that waits; it runs in a thread under `limiter`."""
        self._read = read
        self._limiter = limiter
        self._lock = asyncio.Lock()
        self._positions: dict[str, int] = {}
        self._read_at_s = -inf

    async def of(self, submission_id: str) -> int | None:
        """Return the position of a submission; None if it does not wait."""
        async with self._lock:  # whoever comes first reads, and the others wait for that
            if time.monotonic() - self._read_at_s >= READ_EVERY_S:
                self._positions = await to_thread.run_sync(self._read, limiter=self._limiter)
                self._read_at_s = time.monotonic()
        return self._positions.get(submission_id)
