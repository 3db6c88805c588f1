"""
What wakes processes: the protocol that both adapters keep, and the subscriptions of one web process.

A wakeup carries no truth. It says "look again", and everything that matters stands in the database; so one that is
lost costs only the time until the waiter looks by itself, and a waiter always has a time-out.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import TracebackType
from typing import Protocol, Self


class WorkerWakeup(AbstractContextManager["WorkerWakeup"], Protocol):
    """What one slot of a worker waits on."""

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as it is notified, or was since the last wait; False after `timeout_s`."""


class Wakeups(Protocol):
    """What processes wake each other by."""

    def notify_workers(self) -> None:
        """Tell workers that there is a job. Call it after the commit."""

    def notify_webs(self, submission_id: str, state: str) -> None:
        """Tell every web process that a submission is now `state`. Call it after the commit."""

    def worker_wakeup(self) -> WorkerWakeup:
        """Return what a slot waits on, to be used in `with`."""

    def subscriptions(self) -> "Subscriptions":
        """Return the subscriptions of a web process, to be used in `async with`."""

    def workers_listen(self) -> bool:
        """Say whether some worker waits for jobs, or works on one, as far as one can know."""

    def close(self) -> None:
        """Let go of what all slots of this process share."""


class Subscription:
    """One waiter's interest in one submission."""

    def __init__(self) -> None:
        """Start without news."""
        self._notified = asyncio.Event()
        self._state: str | None = None

    async def wait(self, timeout_s: float) -> str | None:
        """Return the newest state that was notified since the last wait; None after `timeout_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._notified.wait(), timeout_s)
        self._notified.clear()
        state, self._state = self._state, None
        return state

    def notify(self, state: str) -> None:
        """Wake the waiter."""
        self._state = state
        self._notified.set()


class Subscriptions:
    """Those who wait in one web process, each for news of one submission. Used in the event loop only."""

    def __init__(self) -> None:
        """Start with nobody."""
        self._by_submission: dict[str, set[Subscription]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @contextmanager
    def subscribe(self, submission_id: str) -> Iterator[Subscription]:
        """Wait for news of a submission. Subscribe first and read the database then: nothing is missed."""
        subscription = Subscription()
        self._by_submission.setdefault(submission_id, set()).add(subscription)
        try:
            yield subscription
        finally:
            others = self._by_submission[submission_id]
            others.discard(subscription)
            if not others:
                del self._by_submission[submission_id]

    def deliver(self, message: str) -> None:
        """Wake those who wait for a submission. The message: its id, a space, its new state."""
        submission_id, _, state = message.partition(" ")
        for subscription in self._by_submission.get(submission_id, ()):
            subscription.notify(state)

    def notify_all(self, state: str) -> None:
        """Wake everyone: something may have been missed."""
        for subscriptions in self._by_submission.values():
            for subscription in subscriptions:
                subscription.notify(state)
