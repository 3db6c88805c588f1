"""The link that makes the first administrator: new with each start, printed on the console, and gone with it."""

from hmac import compare_digest
from threading import Lock

from app.services.accounts.access import hashed, new_secret


class BootstrapAdmin:
    """Whether this site waits for its first administrator, and by which secret it knows them."""

    def __init__(self) -> None:
        """Begin without a link: nobody is let in."""
        self._hash: str | None = None
        self.lock = Lock()
        """Held while an administrator is made, so that of two who try concurrently one is."""

    def open(self) -> str:
        """Make a link good, and return its secret: only a hash of it is kept."""
        raw = new_secret()
        self._hash = hashed(raw)
        return raw

    def fits(self, raw: str) -> bool:
        """Say whether this is the secret."""
        return self._hash is not None and compare_digest(self._hash, hashed(raw))

    def close(self) -> None:
        """Let nobody in any more."""
        self._hash = None
