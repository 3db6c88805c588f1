"""
Passwords: which may be had, and whether one is right.

Hashing is meant to be slow and to take much memory, so only a few are hashed concurrently, in processes that
come after all others where the processor is short: a flood of tries cannot take the machine away from those who open
pages or have their code graded. A few more may wait, each of which holds one of the threads that serve pages, and there
are far more of those; whoever comes then is told at once to come back. It is never done within a transaction, which
would make everyone else wait for it.
"""

import os
import secrets
import threading
import unicodedata
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from pwdlib import PasswordHash
from pwdlib.exceptions import PwdlibError

from app.errors import PasswordRefused, SignInBusy
from app.services.accounts.password_hashing import SubprocessHasher

T = TypeVar("T")

SHORTEST, LONGEST = 10, 1024  # characters
AT_ONCE = 1 if len(os.sched_getaffinity(0)) <= 2 else 2  # noqa: PLR2004
"""One uses up to four cores by itself; on two, a second at the same time makes both take twice as long."""
WAITING = 8

# RFC 9106's second choice: 64 MiB, three passes, four lanes.
_MEMORY_KIB, _PASSES, _LANES = 64 * 1024, 3, 4
SCHEME = PasswordHash((SubprocessHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=_LANES),))
PATIENCE_S = 5.0
"""How long a request may wait for its turn."""

# Those of ten characters and more that lead every list of stolen ones.
_COMMONEST = frozenset(
    """
    0123456789 0987654321 1111111111 1122334455 1234567890 1234567891 12345678900 12345678910 123456789a 1234554321
    1q2w3e4r5t 1qaz2wsx3edc 1q2w3e4r5t6y 987654321a 9876543210 a123456789 aa12345678 abc123456789 abcdefghij
    abcd123456 asdfghjkl1 asdfghjkl; administrator basketball changeme123 football123 iloveyou123 iloveyou12
    letmein123 letmein1234 liverpool1 manchester michael123 mypassword p@ssw0rd123 passw0rd123 password01 password10
    password11 password12 password123 password1234 password12345 password123456 password1! password123!
    passwordpassword princess12 q1w2e3r4t5 q1w2e3r4t5y6 qazwsxedcr qazwsxedc1 qwerasdfzxcv qwerty1234 qwerty12345
    qwerty123456 qwertyuiop qwertyuiop1 qwertyuiop[] sunshine123 superman123 welcome123 welcome1234 zaq12wsxcde3
    zxcvbnm123 kelolokelolo
    """.split()  # noqa: SIM905  easier to read
)


@dataclass(frozen=True)
class Verified:
    """Whether a password was right."""

    right: bool
    new_hash: str | None = None
    """What to store instead, if the old one was made more cheaply than is done now."""


def checked(password: str, *, email: str | None) -> str:
    """
    Return a password that somebody wants to have, if it will do.

    Raises:
        PasswordRefused: it is too short or too long, the e-mail address itself, or among the commonest of all.
    """
    plain = _normal(password).strip().lower()
    if len(password) < SHORTEST:
        raise PasswordRefused(reason=f"A password has at least {SHORTEST} characters. Several words do well.")
    if len(password) > LONGEST:
        raise PasswordRefused(reason=f"A password has at most {LONGEST} characters.")
    if email and plain == email.strip().lower():
        raise PasswordRefused(reason="The password must not be the e-mail address itself.")
    if plain in _COMMONEST or len(set(plain)) == 1:
        raise PasswordRefused(reason="That is one of the passwords that are tried first. Please choose another.")
    return password


def make_hash(password: str) -> str:
    """Return what is stored of a password. Takes part of a second, so not in a transaction. Raises SignInBusy."""
    return _within_limits(lambda: SCHEME.hash(_bytes(password)))


def verify(password: str, stored: str | None) -> Verified:
    """
    Say whether a password is right. Without one stored the answer is no, and takes as long.

    Not in a transaction, as it takes a good part of a second.

    Raises:
        SignInBusy: too many others are being looked at.
    """
    if len(password) > LONGEST:
        return Verified(right=False)
    try:
        right, new_hash = _within_limits(lambda: SCHEME.verify_and_update(_bytes(password), stored or nobodys_hash()))
    except PwdlibError:  # a hash that another program has put there
        return Verified(right=False)
    return Verified(right=right, new_hash=new_hash) if stored else Verified(right=False)


def _within_limits(work: Callable[[], T]) -> T:
    """Do something costly among the few that may be done or wait at once. Raises SignInBusy."""
    if not _waiting_slots.acquire(blocking=False):
        raise SignInBusy(retry_after_s=5)
    try:
        begun = _executor.submit(work)
        try:
            return begun.result(timeout=PATIENCE_S)
        except TimeoutError:
            if begun.cancel():
                raise SignInBusy(retry_after_s=5) from None
            return begun.result()  # it is being done, which takes part of a second
    finally:
        _waiting_slots.release()


@cache
def nobodys_hash() -> str:
    """
    Return a hash that takes as long to compare with as a real one.

    It is drawn and not computed: else the first try after a start would take twice as long if there is no account.
    """
    salt, digest = (b64encode(secrets.token_bytes(size)).decode().rstrip("=") for size in (16, 32))
    return f"$argon2id$v=19$m={_MEMORY_KIB},t={_PASSES},p={_LANES}${salt}${digest}"


def _normal(password: str) -> str:
    # the same letter may be typed as one character or as two, depending on the keyboard
    return unicodedata.normalize("NFKC", password)


def _bytes(password: str) -> bytes:
    return _normal(password).encode("utf-8", "surrogatepass")


_executor = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="passwords")
_waiting_slots = threading.BoundedSemaphore(AT_ONCE + WAITING)
