"""
What is to be recognised again but not read: networks and addresses, as a hash that takes a key of this site.

A plain hash would not do. There are few networks, and lists of addresses can be bought: whoever has a copy of the
database would try them all. The key is not in the database, so a copy of that alone tells nothing.
"""

import os
import secrets
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from hmac import new as new_hmac
from pathlib import Path

from app.settings import Settings

KEY_FILE = "secret.key"
"""In the data folder, where no key was given."""


class KeyedHash:
    """Hashes with one key. Of two purposes, the hashes of the same text have nothing in common."""

    def __init__(self, key: str) -> None:
        """Hash with this key."""
        self._key = key.encode()

    def of(self, purpose: str, text: str) -> str:
        """Return 32 hexadecimal digits."""
        return new_hmac(self._key, f"{purpose}\0{text}".encode("utf-8", "replace"), sha256).hexdigest()[:32]

    def fits(self, purpose: str, text: str, given: str) -> bool:
        """Say whether `given` is the hash of a text."""
        return compare_digest(self.of(purpose, text).encode(), given.encode("utf-8", "replace"))


def keyed_hash_for(settings: Settings) -> KeyedHash:
    """Return the site's own: with the key of the settings, or else one that is made once and kept with the data."""
    given = settings.secret_key.get_secret_value() if settings.secret_key else ""
    return KeyedHash(given or _kept(settings.data_dir / KEY_FILE))


def _kept(path: Path) -> str:
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii")
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(secrets.token_hex(32))
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):  # another process was first: its key is the one
        os.link(draft, path)
    draft.unlink()
    return path.read_text(encoding="ascii")
