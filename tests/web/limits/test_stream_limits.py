"""Few event streams may be open of an account, and of a network; the newest are."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from app.web.limits.stream_limits import CLOSED, COME_BACK_MS, Streams, until_closed

Finish = Callable[[Coroutine[Any, Any, Any]], Any]


async def endless(ended: list[int]) -> AsyncGenerator[int]:
    """Tell one thing, then wait for ever."""
    try:
        yield 1
        await asyncio.Event().wait()
    finally:
        ended.append(1)


async def follow(streams: Streams, told: list[int | None], ended: list[int], *, who: str, network: str) -> None:
    """Keep one stream open as a route does."""
    with streams.opened(account_id=who, network=network) as stream:
        async with aclosing(until_closed(stream, endless(ended))) as all_told:
            async for one in all_told:
                told.append(one)  # noqa: PERF401  seen by the test meanwhile


def open_many(
    streams: Streams, owners: list[tuple[str, str]]
) -> Coroutine[Any, Any, tuple[list[bool], list[int], bool]]:
    """Open one after the other; return which were closed, what sources have ended, and whether all were told so."""

    async def story() -> tuple[list[bool], list[int], bool]:
        told: list[list[int | None]] = [[] for _ in owners]
        ended: list[int] = []
        tasks = []
        for (who, network), mine in zip(owners, told, strict=True):
            tasks.append(asyncio.create_task(follow(streams, mine, ended, who=who, network=network)))
            while not mine:  # noqa: ASYNC110  a list has no event
                await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        closed = [task.done() for task in tasks]
        fair = all((mine == [1, None]) is task.done() for mine, task in zip(told, tasks, strict=True))
        sources = list(ended)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return closed, sources, fair

    return story()


def test_account_keeps_its_newest_streams(finish: Finish) -> None:
    """The oldest ends at once, in the midst of its wait, and is told so; nothing of it goes on."""
    streams = Streams(per_account=4, per_network=100)
    closed, ended, fair = finish(open_many(streams, [("ada", f"n{one}") for one in range(10)]))
    assert closed == [True] * 6 + [False] * 4
    assert len(ended) == 6
    assert fair
    assert streams.count("account", "ada") == 0


def test_network_keeps_its_newest_streams(finish: Finish) -> None:
    """Whoever they are: a thousand guests of one network are not a thousand streams."""
    streams = Streams(per_account=4, per_network=32)
    others = [("bob", "elsewhere")]
    closed, _, fair = finish(open_many(streams, others + [(f"guest-{one}", "here") for one in range(100)]))
    assert closed == [False] + [True] * 68 + [False] * 32
    assert fair
    assert streams.count("network", "here") == 0


def test_closed_stream_is_told_to_come_back_later() -> None:
    """A browser that came back at once would take the place of the next."""
    assert CLOSED.retry == COME_BACK_MS >= 5_000


def test_stream_that_ends_by_itself_ends(finish: Finish) -> None:
    """With what it told, and no more."""

    async def short() -> AsyncGenerator[int]:
        for one in range(3):
            yield one

    async def story() -> list[int | None]:
        with Streams(per_account=1, per_network=1).opened(account_id="a", network="n") as stream:
            return [one async for one in until_closed(stream, short())]

    assert finish(story()) == [0, 1, 2]
