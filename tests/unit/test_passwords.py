"""Passwords: any that is long enough, but for those that are tried first; and never many at once."""

import threading
import time

import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.errors import PasswordRefused, SignInBusy
from app.services import passwords
from app.services.passwords import AT_ONCE, checked, make_hash, verify

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


def test_few_are_hashed_at_the_same_instant(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_burst_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all places are taken for long, a request says so rather than hold its thread."""
    monkeypatch.setattr(passwords, "PATIENCE_S", 0.01)
    monkeypatch.setattr(passwords, "_slots", threading.BoundedSemaphore(1))
    with passwords._turn(), pytest.raises(SignInBusy):  # noqa: SLF001  as if somebody were being looked at
        passwords.verify("correct horse", None)
