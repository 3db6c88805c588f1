"""Passwords: any that is long enough, but for those that are tried first; and never many at once."""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.errors import PasswordRefused, SignInBusy
from app.services.accounts import passwords
from app.services.accounts.password_hashing import SubprocessHasher
from app.services.accounts.passwords import AT_ONCE, WAITING, checked, make_hash, verify

EMAIL = "ada.lovelace@example.org"


@pytest.mark.parametrize("password", ["tenletters", "correct horse battery staple", "ååååååååå1", "x" * 1000 + "y"])
def test_long_enough_will_do(password: str) -> None:
    """Neither capitals nor digits are asked for."""
    assert checked(password, email=EMAIL) == password


@pytest.mark.parametrize(
    "password",
    [
        "",
        "ninechars",
        "x" * 1025,
        EMAIL,
        EMAIL.upper() + " ",
        "password123",
        "Password123",
        "1234567890",
        "zzzzzzzzzzzz",
    ],
)
def test_what_is_tried_first_will_not_do(password: str) -> None:
    """Too short, too long, the address itself, and the commonest."""
    with pytest.raises(PasswordRefused):
        checked(password, email=EMAIL)


def test_right_password_is_right() -> None:
    """However the keyboard composes its letters."""
    stored = make_hash("caf\u00e9 au lait")
    assert verify("cafe\u0301 au lait", stored).right
    assert not verify("cafe au lait", stored).right


@pytest.mark.parametrize("stored", [None, "", "no hash", "$argon2id$broken"])
def test_without_a_hash_nothing_is_right(stored: str | None) -> None:
    """Not even what the hash for comparison was made of."""
    assert not verify("nobody's", stored).right


def test_nobodys_password_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash is computed all the same, so that time does not tell who has an account."""
    computed = []

    def verify_and_update(_password: bytes, stored: str) -> tuple[bool, None]:
        computed.append(stored)
        return False, None

    monkeypatch.setattr(passwords.SCHEME, "verify_and_update", verify_and_update, raising=False)
    verify("a password", None)
    assert computed == [passwords.nobodys_hash()]


def test_nobodys_hash_is_made_like_all_others() -> None:
    """As long, with the same costs, and drawn anew by each process; none has to be computed to have it."""
    drawn, made = passwords.nobodys_hash(), make_hash("a password")
    assert drawn.split("$")[:4] == made.split("$")[:4]
    assert [len(part) for part in drawn.split("$")] == [len(part) for part in made.split("$")]
    passwords.nobodys_hash.cache_clear()
    assert passwords.nobodys_hash() != drawn
    assert verify("a password", drawn) == passwords.Verified(right=False)


def test_half_a_character_is_no_fault() -> None:
    """JSON can hold what UTF-8 cannot."""
    assert verify("\ud800" * 10, make_hash("\ud800" * 10)).right


def test_hash_of_cheaper_times_is_made_anew() -> None:
    """Whoever signs in has it replaced."""
    old = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=16, parallelism=1),)).hash("the password")
    verified = verify("the password", old)
    assert verified.right
    assert verified.new_hash is not None
    assert verify("the password", verified.new_hash) == passwords.Verified(right=True)


def test_few_are_hashed_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of tries does not take the machine from those who have code graded."""
    lock, now, most = threading.Lock(), 0, 0

    def slow(_password: bytes) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return "hash"

    monkeypatch.setattr(passwords.SCHEME, "hash", slow, raising=False)
    threads = [threading.Thread(target=make_hash, args=["a password"]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == AT_ONCE


def test_burst_is_asked_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the few that are hashed or wait, nobody waits: however many come, most threads stay free for pages."""
    may_end, came = threading.Event(), threading.Semaphore(0)

    def slow(_password: bytes) -> str:
        came.release()
        assert may_end.wait(30)
        return "hash"

    monkeypatch.setattr(passwords, "PATIENCE_S", 30.0)
    monkeypatch.setattr(passwords.SCHEME, "hash", slow, raising=False)
    refused, ended = [], []

    def try_it() -> None:
        try:
            ended.append(make_hash("a password"))
        except SignInBusy:
            refused.append(1)

    waiting = [threading.Thread(target=try_it) for _ in range(AT_ONCE)]
    waiting += [threading.Thread(target=try_it) for _ in range(60 - AT_ONCE)]
    for thread in waiting:
        thread.start()
    for _ in range(AT_ONCE):
        assert came.acquire(timeout=30)
    for thread in waiting:
        thread.join(0.1 if len(refused) < 60 - AT_ONCE - WAITING else 0)
    assert len(refused) == 60 - AT_ONCE - WAITING
    assert not ended
    may_end.set()
    for thread in waiting:
        thread.join()
    assert len(ended) == AT_ONCE + WAITING


def test_wait_for_a_turn_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has waited for long is told to come back, and no thread is held by it."""
    may_end = threading.Event()
    monkeypatch.setattr(passwords, "PATIENCE_S", 0.05)
    monkeypatch.setattr(passwords.SCHEME, "hash", lambda _: may_end.wait(30) and "hash", raising=False)
    busy = [threading.Thread(target=make_hash, args=["a password"]) for _ in range(AT_ONCE)]
    for thread in busy:
        thread.start()
    with pytest.raises(SignInBusy):
        deque(iter(lambda: passwords.verify("correct horse", None), None), maxlen=0)
    may_end.set()
    for thread in busy:
        thread.join()


@pytest.fixture
def hasher() -> Iterator[SubprocessHasher]:
    """Return one that is quick, with processes of its own."""
    quick = SubprocessHasher(time_cost=1, memory_cost=16, parallelism=1)
    yield quick
    quick.end()


def children() -> set[int]:
    """Return the processes that this one has started and that hash."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = path.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"password_hashing" in path.joinpath("cmdline").read_bytes():
                found.add(int(path.name))
    return found


def test_hashing_comes_after_serving(hasher: SubprocessHasher) -> None:
    """It is done in another process, which is nice, and no thread of this one is: it might hold the others up."""
    before = children()
    assert hasher.verify("a password", hasher.hash(b"a password"))
    (mine,) = children() - before
    assert os.getpriority(os.PRIO_PROCESS, mine) > os.getpriority(os.PRIO_PROCESS, 0)
    # among sessions the kernel may share the processor evenly; and Ctrl-C on a terminal ends one group
    assert (os.getsid(mine), os.getpgid(mine)) == (os.getsid(0), mine)
    threads = {os.getpriority(os.PRIO_PROCESS, int(one.name)) for one in Path("/proc/self/task").iterdir()}
    assert threads == {os.getpriority(os.PRIO_PROCESS, 0)}
    hasher.end()
    assert children() == before


def test_process_that_was_killed_is_replaced(hasher: SubprocessHasher) -> None:
    """Nobody is refused for it."""
    before = children()
    stored = hasher.hash("a password")
    (mine,) = children() - before
    os.kill(mine, signal.SIGKILL)
    assert hasher.verify("a password", stored)
    assert not hasher.verify("another one", stored)
    assert mine not in children()


def test_hash_is_made_where_no_process_can_be(hasher: SubprocessHasher, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same costs, and slower for others: better than nobody getting in."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    stored = hasher.hash("a password")
    assert "m=16,t=1,p=1" in stored
    assert hasher.verify("a password", stored)
