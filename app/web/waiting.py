"""
Waiting for a verdict, which holds neither a thread nor a database connection.

Each look at the database is a short visit to a thread, of which few are set aside for it: however many
wait, the threads that serve pages stay free, and looks queue behind looks. Between looks there is only an
awaited bell, so five hundred waiting browsers cost five hundred small tasks. The bell may be lost, and
the place in the queue changes without one: hence a look now and then all the same, each second at
first, and less often the longer nothing happens, because five hundred looks a second are work.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from anyio import to_thread

from app.models import Account
from app.services import submissions
from app.web.site import Site

LOOK_AGAIN_S = 1.0
LOOK_AT_LEAST_EVERY_S = 5.0
LONGEST_WAIT_S = 60.0

State = dict[str, Any]


def look(site: Site, account: Account, submission_id: str) -> State:
    """
    Return where a submission stands now.

    Raises:
        NotFound: there is none, or it is another's.
    """
    with site.database.read() as session:
        return submissions.state_of(session, account=account, submission_id=submission_id, queue=site.queue)


async def _look(site: Site, account: Account, submission_id: str) -> State:
    return await to_thread.run_sync(look, site, account, submission_id, limiter=site.looks)


async def follow(site: Site, account: Account, submission_id: str) -> AsyncGenerator[State]:
    """Yield where a submission stands, now and after each change, until it is graded. Raises: NotFound."""
    told: State | None = None
    pause_s = LOOK_AGAIN_S
    with site.bell.subscribe(submission_id) as ticket:  # before the first look, so that no change slips by
        while told is None or told["state"] != "graded":
            state = await _look(site, account, submission_id)
            if state != told:
                yield state
                told, pause_s = state, LOOK_AGAIN_S
            if state["state"] != "graded":
                await ticket.wait(pause_s)
                pause_s = min(pause_s * 1.5, LOOK_AT_LEAST_EVERY_S)


async def wait_until_graded(site: Site, account: Account, submission_id: str, *, wait_s: float) -> State:
    """
    Return the report as soon as there is one, or else how things stand after `wait_s` seconds.

    Raises:
        NotFound: there is none, or it is another's.
    """
    if wait_s <= 0:
        return await _look(site, account, submission_id)
    newest: State | None = None
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(min(wait_s, LONGEST_WAIT_S)),
            aclosing(follow(site, account, submission_id)) as states,
        ):
            async for state in states:
                newest = state
    return newest or await _look(site, account, submission_id)  # the wait was shorter than a look
