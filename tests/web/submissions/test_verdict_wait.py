"""Many who wait hold neither a thread nor a database connection."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest
from anyio import CapacityLimiter
from fastapi import FastAPI

from app.clients.wakeups.local_sockets import LocalWakeups
from app.clients.wakeups.port import Subscription, Subscriptions
from app.main import create_app
from app.settings import Settings
from app.web.submissions.queue_positions import QueuePositions
from tests.web.conftest import PAGE, SUBMISSIONS, Worker, make_report

# Far more than there are threads (40) or connections (50).
WAITING = 300


def test_page_is_quick_while_hundreds_wait(
    settings: Settings, listening: asyncio.Semaphore, finish: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    """While 300 calls wait for one verdict, a page is served at once, and then all get the verdict."""
    app = create_app(settings)

    async def story() -> None:
        async with app.router.lifespan_context(app), browser(app) as client:
            await client.get(PAGE)
            sent = await client.post(SUBMISSIONS, json={"source": "1"})
            address = f"{sent.headers['Location']}?wait=60"
            waiting = [asyncio.create_task(client.get(address)) for _ in range(WAITING)]
            await all_listen(listening, WAITING)
            # With all threads or connections held, it would come only after the calls have ended.
            assert (await client.get(PAGE)).status_code == 200
            assert not any(task.done() for task in waiting)
            await asyncio.to_thread(Worker(app.state.site).grade, make_report())
            await asyncio.to_thread(LocalWakeups(settings.data_dir).notify_webs, sent.json()["id"], "graded")
            answers = await asyncio.gather(*waiting)
            assert {answer.json()["state"] for answer in answers} == {"graded"}

    finish(story())


def test_waits_end_when_the_server_is_to_end(
    settings: Settings, listening: asyncio.Semaphore, finish: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    """Whoever waits is told at once how things stand, and can go on waiting at another server."""
    app = create_app(settings)

    async def story() -> list[str]:
        async with app.router.lifespan_context(app), browser(app) as client:
            await client.get(PAGE)
            sent = await client.post(SUBMISSIONS, json={"source": "1"})
            where = sent.headers["Location"]
            waiting = [asyncio.create_task(client.get(f"{where}?wait=60")) for _ in range(WAITING - 1)]
            stream = asyncio.create_task(client.get(f"{where}/events"))
            await all_listen(listening, WAITING)
            app.state.site.leave()
            answers = await asyncio.wait_for(asyncio.gather(*waiting), 10)
            assert "queued" in (await asyncio.wait_for(stream, 10)).text
            return [answer.json()["state"] for answer in answers]

    assert set(finish(story())) == {"queued"}


def test_places_are_read_once_for_all_who_wait(finish: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    """Five hundred who ask for their place in the same second cost one look at the queue."""
    reads: list[int] = []

    def read() -> dict[str, int]:
        reads.append(1)
        return {str(number): number for number in range(500)}

    async def story() -> list[int | None]:
        places = QueuePositions(read, limiter=CapacityLimiter(4))
        return list(await asyncio.gather(*(places.of(str(number)) for number in (*range(500), "elsewhere"))))

    assert finish(story()) == [*range(500), None]
    assert len(reads) == 1


def browser(app: FastAPI) -> httpx2.AsyncClient:
    """Return a client with a cookie jar, in front of the application."""
    transport = httpx2.ASGITransport(app=app)
    return httpx2.AsyncClient(transport=transport, base_url="http://testserver", timeout=60)


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> asyncio.Semaphore:
    """Give a semaphore that is released each time somebody begins to listen for news of a submission."""
    begun = asyncio.Semaphore(0)
    subscribe = Subscriptions.subscribe

    def subscribe_and_tell(subscriptions: Subscriptions, submission_id: str) -> AbstractContextManager[Subscription]:
        begun.release()
        return subscribe(subscriptions, submission_id)

    monkeypatch.setattr(Subscriptions, "subscribe", subscribe_and_tell)
    return begun


async def all_listen(listening: asyncio.Semaphore, count: int) -> None:
    """Return when so many have begun to listen."""
    for _ in range(count):
        await asyncio.wait_for(listening.acquire(), 60)
