"""
Who looks at the page that is being made, for what stands on every page: the menu of the account.

Pages are made in many places, some of which know no more than what went wrong. So it is kept beside the
request (a context variable, set by the outermost layer and filled when the visitor is found), and not
passed through all of them.
"""

from contextvars import ContextVar
from dataclasses import dataclass

from app.models import Account, Role

_ELSEWHERE = ("/sign-in", "/sign-up", "/sign-out", "/forgot", "/reset", "/confirm", "/first-admin", "/oidc", "/account")


@dataclass
class Viewing:
    """One request, as far as every page shows it."""

    here: str = "/"
    """Where to come back to after signing in."""
    account: Account | None = None
    known: bool = False
    """Whether anyone has looked who it is. If not, a page offers neither to sign in nor to sign out."""

    @property
    def email(self) -> str | None:
        """The address of whoever is signed in; None for guests and strangers."""
        return self.account.email if self.account else None

    @property
    def is_admin(self) -> bool:
        """Whether the administration is open to whoever looks."""
        return self.account is not None and self.account.role is Role.ADMIN


_viewing: ContextVar[Viewing | None] = ContextVar("viewing", default=None)


def begin(method: str, path: str) -> None:
    """Begin with a request, of whose sender nothing is known yet."""
    comes_back = method in {"GET", "HEAD"} and not path.startswith(_ELSEWHERE)
    _viewing.set(Viewing(here=path if comes_back else "/"))


def seen(account: Account | None) -> None:
    """Keep who the visitor is: an account, a guest, or somebody new."""
    viewing = current()
    viewing.account, viewing.known = account, True


def current() -> Viewing:
    """Return what is known of the request; outside of one, nothing."""
    return _viewing.get() or Viewing()
