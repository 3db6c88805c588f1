"""Floods of what is costly are refused before they take a thread, and others get in as before."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from app.errors import SignInBusy
from app.web.auth import admission
from app.web.auth.admission import Admission, Buckets, Refusals, Turns
from app.web.http.problems import Problem, document

Finish = Callable[[Coroutine[Any, Any, Any]], Any]
Sent = list[dict[str, Any]]
STREAM = ("GET", "/api/v1/submissions/one/events", b"")
WAIT = ("GET", "/api/v1/submissions/one", b"wait=60")
SIGN_IN = ("POST", "/sign-in", b"")
PAGE = ("GET", "/exercises/one", b"")
TURNS = 20
"""Of the event loop: more than what is refused at once takes."""
SHORT_S = 0.05


@pytest.fixture(autouse=True)
def told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals do not wait, but for the tests of that."""
    monkeypatch.setattr(admission, "_LATEST_S", 0.0)


class Behind:
    """What stands behind: each request that gets there stays until it is let go."""

    def __init__(self) -> None:
        """Let nothing go yet."""
        self.inside = 0
        self.let_go = asyncio.Event()

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401  as ASGI has it
        """Take part of a second that would be a thread's, then answer."""
        self.inside += 1
        await self.let_go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def guard(behind: Behind) -> Admission:
    """Put the real thing before it, with the usual numbers."""

    def answer(_request: Request, problem: Problem) -> Response:
        return document(problem)

    return Admission(behind, answer=answer, per_account=4, per_network=32)


async def send_one(app: Admission, what: tuple[str, str, bytes], *, who: str, address: str) -> Sent:
    """Send a request, and return what is answered."""
    method, path, query = what
    headers = [(b"authorization", f"Bearer {who}".encode())] if who else []
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers}
    sent: Sent = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401
        sent.append(message)

    await app(scope | {"client": (address, 1), "scheme": "http", "server": ("a", 80)}, receive, send)
    return sent


async def flood(
    app: Admission, what: tuple[str, str, bytes], number: int, *, who: str = "", address: str = "192.0.2.1"
) -> list["asyncio.Task[Sent]"]:
    """Send many at once, and return when those are answered that are so at once. A `{}` in `who` is the number."""
    tasks = [asyncio.create_task(send_one(app, what, who=who.format(one), address=address)) for one in range(number)]
    for _ in range(TURNS):
        await asyncio.sleep(0)
    return tasks


def refused(tasks: list["asyncio.Task[Sent]"]) -> list[dict[str, Any]]:
    """Return the beginnings of the answers that are there."""
    return [task.result()[0] for task in tasks if task.done()]


@pytest.mark.parametrize(("who", "most"), [("ada", 8), ("guest-{}", 16), ("", 16)])
def test_streams_that_are_opened_at_once_are_few(finish: Finish, who: str, most: int) -> None:
    """Of an account and of a network, whatever tokens it makes up; others open theirs all the same."""

    async def story() -> None:
        app = guard(behind := Behind())
        tasks = await flood(app, STREAM, 1100, who=who)
        told = refused(tasks)
        assert behind.inside <= most
        assert {one["status"] for one in told} == {429}
        assert len(told) == 1100 - behind.inside
        assert all(dict(one["headers"])[b"retry-after"].isdigit() for one in told)
        before = behind.inside
        others = await flood(app, STREAM, 4, who="bob", address="198.51.100.1")
        others += await flood(app, PAGE, 4)
        assert behind.inside == before + 8
        behind.let_go.set()
        answers = await asyncio.gather(*others)
        assert [sent[0]["status"] for sent in answers] == [200] * 8
        await asyncio.gather(*tasks)
        assert not app._opening._number  # noqa: SLF001  nothing stays counted

    finish(story())


def test_stream_counts_as_being_opened_until_it_begins(finish: Finish) -> None:
    """One that has begun makes room for the next, however long it stays."""

    async def story() -> None:
        begun = 0

        async def stay(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            nonlocal begun
            begun += 1
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await asyncio.Event().wait()

        app = Admission(stay, answer=lambda _, problem: document(problem), per_account=4, per_network=32)
        tasks = [task for _ in range(3) for task in await flood(app, STREAM, 8, who="ada")]
        assert begun == 24
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    finish(story())


def test_streams_are_not_opened_faster_than_anybody_looks(finish: Finish) -> None:
    """However quickly each is done with: after the first few there is one a second."""

    async def story() -> None:
        app = guard(behind := Behind())
        behind.let_go.set()
        for _ in range(100):
            await send_one(app, STREAM, who="ada", address="192.0.2.1")
        assert 32 <= behind.inside < 60

    finish(story())


def test_waits_of_a_class_are_let_through_and_a_flood_is_not(finish: Finish) -> None:
    """Three hundred who wait cost next to nothing; thousands of one sender are no class."""

    async def story() -> None:
        app = guard(behind := Behind())
        few = await flood(app, WAIT, 300, who="ada")
        assert behind.inside == 300
        many = await flood(app, WAIT, 1100, who="ada")
        assert behind.inside < 800
        assert {one["status"] for one in refused(many)} == {429}
        behind.let_go.set()
        await asyncio.gather(*few, *many)

    finish(story())


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up", "/reset/made-up", "/account/password"])
def test_passwords_are_let_in_one_after_the_other(finish: Finish, path: str) -> None:
    """A few at once; a class stands in line and gets in; of a flood the rest is refused before it takes a thread."""

    async def story() -> None:
        app = guard(behind := Behind())
        tasks = await flood(app, ("POST", path, b""), 400)
        assert behind.inside == admission.HASHED_AT_ONCE
        told = refused(tasks)
        assert len(told) == 400 - admission.HASHED_AT_ONCE - admission.IN_LINE_OF_A_NETWORK
        assert {one["status"] for one in told} == {503}
        assert {dict(one["headers"])[b"retry-after"] for one in told} == {b"5"}
        behind.let_go.set()
        answers = [sent[0]["status"] for sent in await asyncio.gather(*tasks)]
        assert answers.count(200) == admission.HASHED_AT_ONCE + admission.IN_LINE_OF_A_NETWORK
        assert (await send_one(app, SIGN_IN, who="", address="192.0.2.1"))[0]["status"] == 200

    finish(story())


def test_networks_take_turns(finish: Finish) -> None:
    """Who comes from elsewhere is next, however long the line of the flood is."""

    async def story() -> list[str]:
        turns, order = Turns(at_once=1, of_a_network=32), list[str]()

        async def go(network: str) -> None:
            await turns.enter(network)
            order.append(network)
            await asyncio.sleep(0)
            turns.leave()

        tasks = [asyncio.create_task(go("flood")) for _ in range(30)]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(go("elsewhere")))
        await asyncio.gather(*tasks)
        return order

    assert "elsewhere" in finish(story())[:4]


def test_networks_that_fill_the_queue_keep_nobody_out(finish: Finish) -> None:
    """Who comes from elsewhere takes the place of the last in the longest line, and gets in; no turn is lost by it."""

    async def story() -> None:
        app = guard(behind := Behind())
        crowd = [
            task
            for number in range(20)
            for task in await flood(app, SIGN_IN, 2 * admission.IN_LINE_OF_A_NETWORK, address=f"192.0.{number}.1")
        ]
        honest = await flood(app, SIGN_IN, 3, address="198.51.100.1")
        assert not refused(honest)
        behind.let_go.set()
        assert [sent[0]["status"] for sent in await asyncio.gather(*honest)] == [200] * 3
        answers = [sent[0]["status"] for sent in await asyncio.gather(*crowd)]
        assert set(answers) == {200, 503}
        assert behind.inside == answers.count(200) + 3
        behind.let_go.clear()
        again = await flood(app, SIGN_IN, 2 * admission.HASHED_AT_ONCE)
        assert behind.inside == answers.count(200) + 3 + admission.HASHED_AT_ONCE
        behind.let_go.set()
        await asyncio.gather(*again)

    finish(story())


def test_flood_is_refused_slower_and_slower(finish: Finish, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is told at once, the next in turn; another network is told at once; all have an end."""
    monkeypatch.setattr(admission, "_LATEST_S", 5.0)

    async def story() -> None:
        refusals, order = Refusals(per_s=100), list[str]()

        async def tell(network: str, name: str) -> None:
            await refusals.wait(network)
            order.append(name)

        begun_s = time.monotonic()
        tasks = [asyncio.create_task(tell("flood", str(number))) for number in range(20)]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(tell("elsewhere", "honest")))
        await asyncio.gather(*tasks)
        assert order == ["0", "honest", *map(str, range(1, 20))]
        assert time.monotonic() - begun_s >= 0.18

    finish(story())


@pytest.mark.parametrize("what", [SIGN_IN, STREAM])
def test_whoever_is_refused_at_a_stroke_is_told_one_after_the_other(
    finish: Finish, monkeypatch: pytest.MonkeyPatch, what: tuple[str, str, bytes]
) -> None:
    """So that a flood is not back at once; in another network the first is told at once."""
    monkeypatch.setattr(admission, "_LATEST_S", 1000.0)
    monkeypatch.setattr(admission, "_REFUSALS_PER_S", 0.01)  # no flood, however slowly it is sent, meets a second

    async def story() -> None:
        app = guard(Behind())
        tasks = await flood(app, what, 100)
        assert len(refused(tasks)) == 1
        elsewhere = await flood(app, what, 100, address="198.51.100.1")
        assert len(refused(elsewhere)) == 1
        for task in (*tasks, *elsewhere):
            task.cancel()
        await asyncio.gather(*tasks, *elsewhere, return_exceptions=True)

    finish(story())


def test_refusals_that_wait_are_few_and_do_not_wait_for_long(finish: Finish, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood does not hold as many connections as it likes: beyond a bound it is told at once."""
    monkeypatch.setattr(admission, "_LATEST_S", SHORT_S)
    monkeypatch.setattr(admission, "_MOST_KEPT", 10)

    async def story() -> None:
        refusals = Refusals(per_s=0.001)
        tasks = [asyncio.create_task(refusals.wait("flood")) for _ in range(30)]
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert sum(not task.done() for task in tasks) == 10
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        gone = asyncio.create_task(refusals.wait("flood"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        assert refusals._kept == 0  # noqa: SLF001  nothing stays counted

    finish(story())


def test_turn_that_is_given_up_is_the_next_ones(finish: Finish, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever hangs up, or has waited for long, leaves the line; nothing gets stuck."""
    monkeypatch.setattr(admission, "PATIENCE_S", SHORT_S)

    async def story() -> None:
        turns = Turns(at_once=1, of_a_network=32)
        await turns.enter("a")
        with pytest.raises(SignInBusy):
            await turns.enter("a")
        gone = [asyncio.create_task(turns.enter("b")) for _ in range(3)]
        await asyncio.sleep(0)
        gone[0].cancel()
        turns.leave()  # while the first is going: the second has its turn
        await asyncio.gather(*gone, return_exceptions=True)
        turns.leave()
        await asyncio.wait_for(turns.enter("c"), 1)

    finish(story())


def test_few_senders_are_remembered() -> None:
    """A flood of made-up tokens does not fill the memory."""
    buckets = Buckets(most=1, per_s=0.001)
    for one in range(3 * admission._MOST_SENDERS):  # noqa: SLF001
        buckets.take(str(one))
    assert len(buckets._known) <= admission._MOST_SENDERS  # noqa: SLF001
