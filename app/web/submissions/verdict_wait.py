"""
Waiting for a verdict, which holds neither a thread nor a database connection.

Each look at the database is a short visit to a thread, of which few are set aside for it: however many
wait, the threads that serve pages stay free, and looks queue behind looks. Between looks there is only an
awaited notification, so five hundred waiting browsers cost five hundred small tasks.

The position in the queue changes without a notification, each time anyone's job is taken. It is read once a second for
all who wait in this process, and only while somebody does. Whoever is not among those who wait any more looks for
himself: so a notification that was lost costs a second too. Where nothing changes, even these looks become rarer.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace

import structlog
from anyio import to_thread
from sqlalchemy.exc import OperationalError

from app.models import Account
from app.services.submissions import submissions
from app.services.submissions.submissions import SubmissionPhase, SubmissionState
from app.web.http.site import Site
from app.web.submissions.queue_positions import QueuePositions

LOOK_AGAIN_S = 1.0
LOOK_AT_LEAST_EVERY_S = 5.0
LONGEST_WAIT_S = 60.0

log = structlog.get_logger()


def look(site: Site, account: Account, submission_id: str) -> SubmissionState:
    """
    Return where a submission stands now.

    Raises:
        NotFound: there is none, or it is another's.
    """
    with site.database.read() as session:
        return submissions.state_of(session, account=account, submission_id=submission_id, queue=site.queue)


async def _look(site: Site, account: Account, submission_id: str) -> SubmissionState:
    return await to_thread.run_sync(look, site, account, submission_id, limiter=site.looks)


async def _newer(site: Site, account: Account, state: SubmissionState, *, notified: bool) -> SubmissionState:
    """Return how things stand after a wait. While the database is away, that is as they stood."""
    try:
        if not notified and state.state is SubmissionPhase.QUEUED:
            position = await site.parts.get(QueuePositions).of(state.id)
            if position:
                return replace(state, queue_position=position)
        return await _look(site, account, state.id)
    except OperationalError as error:
        log.warning("database is away", waiting_for=state.id, error=type(error).__name__)
        return state


async def follow(site: Site, account: Account, submission_id: str) -> AsyncGenerator[SubmissionState]:
    """
    Yield where a submission stands, now and after each change, until it is graded or the server is to end.

    Raises:
        NotFound: there is none, or it is another's.
    """
    pause_s = LOOK_AGAIN_S
    # Subscribed before the first look, so that no change slips by.
    with site.subscriptions.subscribe(submission_id) as subscription:
        last = await _look(site, account, submission_id)
        yield last
        while last.state is not SubmissionPhase.GRADED:
            notice = await subscription.wait(pause_s)
            if site.is_leaving:
                return  # with no last look: hundreds of them at once would take too long
            state = await _newer(site, account, last, notified=notice is not None)
            if state != last:
                yield state
                last, pause_s = state, LOOK_AGAIN_S
            else:
                pause_s = min(pause_s * 1.5, LOOK_AT_LEAST_EVERY_S)


async def wait_until_graded(site: Site, account: Account, submission_id: str, *, wait_s: float) -> SubmissionState:
    """
    Return the report as soon as there is one, or else how things stand after `wait_s` seconds.

    Raises:
        NotFound: there is none, or it is another's.
    """
    if wait_s <= 0:
        return await _look(site, account, submission_id)
    newest: SubmissionState | None = None
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(min(wait_s, LONGEST_WAIT_S)),
            aclosing(follow(site, account, submission_id)) as states,
        ):
            async for state in states:
                newest = state
    return newest or await _look(site, account, submission_id)  # the wait was shorter than a look
