"""
How often something may be tried: by one address, or from one client address.

Counted in memory, over a window that moves. Each web process counts for itself, so with several of them
as many times more may be tried; and a restart forgets. Generous enough for a class behind one router.
"""

import time
from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from app.errors import TooManyTries

_QUARTER = 15  # minutes
_NETWORK_BITS = 64
SHARING_BITS = {4: 24, 6: 56}
"""Of what is one network where turns are shared: what a household, a school or a small provider usually has."""
SIGN_INS = RateLimitItemPerMinute(10, _QUARTER, namespace="sign-in")
"""Of one address from one network, or by one browser that has signed in to its account before."""
SIGN_INS_OF = RateLimitItemPerMinute(300, _QUARTER, namespace="sign-in-of")
"""Of one address by browsers that its account does not know, wherever they are: so many machines guess no faster."""
SIGN_INS_FROM = RateLimitItemPerMinute(100, _QUARTER, namespace="sign-in-from")
SIGN_UPS_FROM = RateLimitItemPerHour(60, namespace="sign-up-from")
RESETS = RateLimitItemPerHour(5, namespace="reset")
RESETS_FROM = RateLimitItemPerHour(60, namespace="reset-from")
REAUTHENTICATIONS = RateLimitItemPerMinute(10, _QUARTER, namespace="proof")
"""Of the password by somebody who is signed in."""
MAILS = RateLimitItemPerHour(10, namespace="mail")
"""That somebody who is signed in has sent."""
GUESTS_MESSAGES = RateLimitItemPerHour(240, namespace="guests-message")
"""Of guests, to the tutor, from one client address: who drops the cookie is a new guest with a quota of their own."""
DRAFTS = RateLimitItemPerMinute(240, namespace="draft")
"""Saved by one account: an editor saves every second and a half at most."""
FIRST_DRAFTS_FROM = RateLimitItemPerHour(600, namespace="first-draft-from")
"""Of visitors who are nobody yet, from one client address: each makes a guest."""
CODES = RateLimitItemPerMinute(10, _QUARTER, namespace="code")
CODES_FROM = RateLimitItemPerHour(100, namespace="code-from")


class Rates:
    """Counts tries. Safe to share between threads."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def take(self, limit: RateLimitItem, who: str) -> None:
        """Count a try. Raises TooManyTries if there were too many before it."""
        if not self._limiter.hit(limit, who):
            raise self._refusal(limit, who)

    def look(self, limit: RateLimitItem, who: str) -> None:
        """Raise TooManyTries if there were too many tries; this one is not counted."""
        if not self._limiter.test(limit, who):
            raise self._refusal(limit, who)

    def forget(self, limit: RateLimitItem, who: str) -> None:
        """Count from nothing again: whoever got in was no stranger."""
        self._limiter.clear(limit, who)

    def _refusal(self, limit: RateLimitItem, who: str) -> TooManyTries:
        wait_s = max(1, round(self._limiter.get_window_stats(limit, who).reset_time - time.time()))
        return TooManyTries(retry_after_s=wait_s, wait=_in_words(wait_s))


def new_guests(per_hour: int) -> RateLimitItem:
    """Return how many visitors of one network may become guests in an hour: each has a row from then on."""
    return RateLimitItemPerHour(per_hour, namespace="new-guest-from")


def client_address(request: Request) -> str:
    """
    Return where a request comes from; behind a proxy that is trusted, uvicorn has put its word for it there.

    Of an IPv6 address the network: everyone who has one has as many addresses in it as they like.
    """
    host = request.client.host if request.client else "unknown"
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or ip_network((address, _NETWORK_BITS), strict=False))
    return host


def network_of(request: Request) -> str:
    """Return the network in which a request's sender takes turns with others."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(ip_network((address, SHARING_BITS[address.version]), strict=False))


def _in_words(wait_s: int) -> str:
    minutes = -(-wait_s // 60)
    return "a minute" if minutes <= 1 else f"{minutes} minutes"
