"""Bells wake whoever waits, at once, and never get in the way of whoever rings."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from app.clients.wakeups.local_sockets import FOLDER, WebBell, WorkerBell, ring_webs, ring_workers, workers_listen

LONG_S = 20.0

Finish = Callable[[Coroutine[Any, Any, Any]], Any]


def test_bell_wakes_a_worker_that_waits(tmp_path: Path) -> None:
    """A waiting worker need not look at the database in turn."""
    with WorkerBell(tmp_path) as bell:
        woken: list[bool] = []
        waiter = threading.Thread(target=lambda: woken.append(bell.wait(LONG_S)))
        began = time.monotonic()
        waiter.start()
        ring_workers(tmp_path)
        waiter.join(LONG_S)
    assert woken == [True]
    assert time.monotonic() - began < LONG_S / 2


def test_bell_that_rang_before_the_wait_is_heard(tmp_path: Path) -> None:
    """Between a look at the queue and the wait nothing slips by; and it is heard once."""
    with WorkerBell(tmp_path) as bell:
        ring_workers(tmp_path)
        ring_workers(tmp_path)
        assert bell.wait(LONG_S)
        assert not bell.wait(0)


def test_every_worker_hears_the_bell(tmp_path: Path) -> None:
    """Any of them may be free."""
    with WorkerBell(tmp_path) as one, WorkerBell(tmp_path) as other:
        ring_workers(tmp_path)
        assert one.wait(LONG_S)
        assert other.wait(LONG_S)


def test_busy_worker_does_not_hold_up_the_ringer(tmp_path: Path) -> None:
    """A thousand bells that nobody listens to are lost, not waited for."""
    with WorkerBell(tmp_path) as bell:
        for _ in range(1000):
            ring_workers(tmp_path)
        assert bell.wait(0)


def test_bell_rings_in_a_data_folder_with_a_long_path(tmp_path: Path) -> None:
    """The limit of 107 bytes on a socket's path is no limit on the data folder's."""
    deep = tmp_path.joinpath(*["folder-with-a-long-name"] * 8)
    with WorkerBell(deep) as bell:
        ring_workers(deep)
        assert bell.wait(LONG_S)


def test_closed_bell_leaves_nothing(tmp_path: Path) -> None:
    """The folder does not fill up over the years."""
    with WorkerBell(tmp_path):
        assert len(list((tmp_path / FOLDER).iterdir())) == 1
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_sockets_of_killed_processes_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What refuses connections and is old is removed; what is young may be just being born."""
    (tmp_path / FOLDER).mkdir()
    monkeypatch.chdir(tmp_path / FOLDER)
    for name, age_s in (("worker-old", 120), ("worker-young", 0)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left_behind:
            left_behind.bind(name)
        os.utime(name, (time.time() - age_s,) * 2)
    ring_workers(tmp_path)
    assert [one.name for one in Path().iterdir()] == ["worker-young"]


@pytest.mark.parametrize("what", ["missing", "file"])
def test_ringing_never_fails(tmp_path: Path, what: str) -> None:
    """What was committed stays committed, even if nobody can be told; and who listens later is told again."""
    data = tmp_path / "data"
    if what == "file":
        data.write_text("not a folder", encoding="ascii")
    ring_workers(data)
    ring_webs(data, "1" * 32, "graded")
    if what == "file":
        data.unlink()
    with WorkerBell(data) as bell:
        assert not bell.wait(0)
        ring_workers(data)
        assert bell.wait(LONG_S)


def test_web_waiters_hear_of_their_own_submission_only(tmp_path: Path, finish: Finish) -> None:
    """Two tabs on one submission hear the same; a third on another hears nothing."""

    async def story() -> list[str | None]:
        async with WebBell(tmp_path) as bell:
            with bell.subscribe("a") as one, bell.subscribe("a") as two, bell.subscribe("b") as other:
                await asyncio.to_thread(ring_webs, tmp_path, "a", "running")
                heard = [await one.wait(LONG_S), await two.wait(LONG_S)]
                return [*heard, await other.wait(0.01)]

    assert finish(story()) == ["running", "running", None]


def test_web_waiter_hears_the_newest_state(tmp_path: Path, finish: Finish) -> None:
    """Who was busy meanwhile need not hear all that happened, only how it stands."""

    async def story() -> list[str | None]:
        async with WebBell(tmp_path) as bell:
            with bell.subscribe("a") as ticket:
                ring_webs(tmp_path, "a", "running")
                ring_webs(tmp_path, "a", "graded")
                return [await ticket.wait(LONG_S), await ticket.wait(0.01)]

    assert finish(story()) == ["graded", None]


def test_ended_web_waiter_is_forgotten(tmp_path: Path, finish: Finish) -> None:
    """Bells for someone who has left find nobody, and harm nobody."""

    async def story() -> str | None:
        async with WebBell(tmp_path) as bell:
            with bell.subscribe("a"):
                pass
            with bell.subscribe("a") as ticket:
                ring_webs(tmp_path, "a", "graded")
                return await ticket.wait(LONG_S)

    assert finish(story()) == "graded"


def test_web_and_worker_bells_are_apart(tmp_path: Path) -> None:
    """A worker is not woken for what only browsers wait for."""
    with WorkerBell(tmp_path) as bell:
        ring_webs(tmp_path, "a", "graded")
        assert not bell.wait(0)


def test_whether_a_worker_listens_can_be_seen(tmp_path: Path) -> None:
    """Only one that lives counts: a socket left behind by a killed process is nobody."""
    assert not workers_listen(tmp_path)
    with WorkerBell(tmp_path) as bell:
        assert workers_listen(tmp_path)
        assert not bell.wait(0)  # to look is not to ring
    left_behind = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    left_behind.bind(str(tmp_path / FOLDER / "worker-1-dead"))
    left_behind.close()
    assert not workers_listen(tmp_path)
