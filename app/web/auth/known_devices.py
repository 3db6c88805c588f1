"""
Browsers that are known to an account because they have signed in to it before.

Wrong passwords are counted by address and network, so that a stranger elsewhere locks nobody out. Somebody in the same
network, or in many, still could. So whoever has signed in keeps a cookie that only this site can have made, and
tries from that browser are counted for it alone. It opens nothing: it only says whose tries these are.
"""

from secrets import token_hex

from fastapi import Request, Response

from app.models import Account
from app.web.http.site import Site

_NAME, _PURPOSE = "kelolo_device_", "device"
_PATH = "/sign-in"
"""Sent where one signs in, and nowhere else. Each account that a browser has been signed in to has one of its own."""
_AGE_S = 365 * 24 * 60 * 60


def remember_device(site: Site, account: Account, response: Response) -> None:
    """Have a browser, which has just signed in, be known to the account."""
    nonce = token_hex(16)
    response.set_cookie(
        _name(site, account),
        f"{nonce}.{site.keyed_hash.of(_PURPOSE, f'{account.id} {nonce}')}",
        max_age=_AGE_S,
        path=_PATH,
        secure=site.settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def known_device(site: Site, account: Account | None, request: Request) -> str | None:
    """Return what a browser is called that the account knows; None if it does not."""
    if account is None:
        return None
    nonce, _, proof = request.cookies.get(_name(site, account), "").partition(".")
    return nonce if site.keyed_hash.fits(_PURPOSE, f"{account.id} {nonce}", proof) else None


def _name(site: Site, account: Account) -> str:
    return _NAME + site.keyed_hash.of("name of device", account.id)[:12]
