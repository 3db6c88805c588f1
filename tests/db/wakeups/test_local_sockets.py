"""A wakeup reaches whoever waits, at once, and never gets in the way of whoever sends it."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from app.clients.wakeups.local_sockets import FOLDER, LocalSubscriptions, LocalWakeups, LocalWorkerWakeup

LONG_S = 20.0

Finish = Callable[[Coroutine[Any, Any, Any]], Any]


def test_worker_that_waits_is_woken(tmp_path: Path) -> None:
    """A waiting worker need not look at the database in turn."""
    with LocalWorkerWakeup(tmp_path) as wakeup:
        woken: list[bool] = []
        waiter = threading.Thread(target=lambda: woken.append(wakeup.wait(LONG_S)))
        began = time.monotonic()
        waiter.start()
        LocalWakeups(tmp_path).notify_workers()
        waiter.join(LONG_S)
    assert woken == [True]
    assert time.monotonic() - began < LONG_S / 2


def test_wakeup_that_came_before_the_wait_counts(tmp_path: Path) -> None:
    """Between a look at the queue and the wait nothing is missed; and it counts once."""
    with LocalWorkerWakeup(tmp_path) as wakeup:
        LocalWakeups(tmp_path).notify_workers()
        LocalWakeups(tmp_path).notify_workers()
        assert wakeup.wait(LONG_S)
        assert not wakeup.wait(0)


def test_every_worker_is_woken(tmp_path: Path) -> None:
    """Any of them may be free."""
    with LocalWorkerWakeup(tmp_path) as one, LocalWorkerWakeup(tmp_path) as other:
        LocalWakeups(tmp_path).notify_workers()
        assert one.wait(LONG_S)
        assert other.wait(LONG_S)


def test_busy_worker_does_not_hold_up_the_sender(tmp_path: Path) -> None:
    """A thousand wakeups that nobody listens to are lost, not waited for."""
    with LocalWorkerWakeup(tmp_path) as wakeup:
        for _ in range(1000):
            LocalWakeups(tmp_path).notify_workers()
        assert wakeup.wait(0)


def test_wakeup_works_in_a_data_folder_with_a_long_path(tmp_path: Path) -> None:
    """The limit of 107 bytes on a socket's path is no limit on the data folder's."""
    deep = tmp_path.joinpath(*["folder-with-a-long-name"] * 8)
    with LocalWorkerWakeup(deep) as wakeup:
        LocalWakeups(deep).notify_workers()
        assert wakeup.wait(LONG_S)


def test_closed_socket_leaves_nothing(tmp_path: Path) -> None:
    """The folder does not fill up over the years."""
    with LocalWorkerWakeup(tmp_path):
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
    LocalWakeups(tmp_path).notify_workers()
    assert [one.name for one in Path().iterdir()] == ["worker-young"]


def test_sending_fails_for_nobody_and_works_once_it_can(tmp_path: Path) -> None:
    """What was committed stays committed, even if nobody can be notified just then."""
    data = tmp_path / "data"
    data.write_text("not a folder", encoding="ascii")
    wakeups = LocalWakeups(data)
    wakeups.notify_workers()
    wakeups.notify_webs("1" * 32, "graded")
    assert not wakeups.workers_listen()
    data.unlink()
    with wakeups.worker_wakeup() as wakeup:
        wakeups.notify_workers()
        assert wakeup.wait(LONG_S)


def test_web_waiters_learn_of_their_own_submission_only(tmp_path: Path, finish: Finish) -> None:
    """Two tabs on one submission get the same news; a third on another gets none."""

    async def story() -> list[str | None]:
        async with LocalSubscriptions(tmp_path) as webs:
            with (
                webs.subscribe("a") as one,
                webs.subscribe("a") as two,
                webs.subscribe("b") as other,
            ):
                await asyncio.to_thread(LocalWakeups(tmp_path).notify_webs, "a", "running")
                received = [await one.wait(LONG_S), await two.wait(LONG_S)]
                return [*received, await other.wait(0.01)]

    assert finish(story()) == ["running", "running", None]


def test_web_waiter_learns_the_newest_state(tmp_path: Path, finish: Finish) -> None:
    """Who was busy meanwhile need not learn all that happened, only how it stands."""

    async def story() -> list[str | None]:
        async with LocalSubscriptions(tmp_path) as webs:
            with webs.subscribe("a") as subscription:
                LocalWakeups(tmp_path).notify_webs("a", "running")
                LocalWakeups(tmp_path).notify_webs("a", "graded")
                return [await subscription.wait(LONG_S), await subscription.wait(0.01)]

    assert finish(story()) == ["graded", None]


def test_ended_web_waiter_is_forgotten(tmp_path: Path, finish: Finish) -> None:
    """Wakeups for someone who has left find nobody, and harm nobody."""

    async def story() -> str | None:
        async with LocalSubscriptions(tmp_path) as webs:
            with webs.subscribe("a"):
                pass
            with webs.subscribe("a") as subscription:
                LocalWakeups(tmp_path).notify_webs("a", "graded")
                return await subscription.wait(LONG_S)

    assert finish(story()) == "graded"


def test_wakeups_of_webs_and_workers_are_apart(tmp_path: Path) -> None:
    """A worker is not woken for what only browsers wait for."""
    with LocalWorkerWakeup(tmp_path) as wakeup:
        LocalWakeups(tmp_path).notify_webs("a", "graded")
        assert not wakeup.wait(0)


def test_whether_a_worker_listens_can_be_seen(tmp_path: Path) -> None:
    """Only one that lives counts: a socket left behind by a killed process is nobody."""
    assert not LocalWakeups(tmp_path).workers_listen()
    with LocalWorkerWakeup(tmp_path) as wakeup:
        assert LocalWakeups(tmp_path).workers_listen()
        assert not wakeup.wait(0)  # to look is not to notify
    left_behind = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    left_behind.bind(str(tmp_path / FOLDER / "worker-1-dead"))
    left_behind.close()
    assert not LocalWakeups(tmp_path).workers_listen()
