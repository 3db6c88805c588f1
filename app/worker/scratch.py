"""The folder in which a worker's runs may write, and that nothing is left of it."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graders.sandbox.folders import remove_tree

FOLDER = "scratch"
_LOCK_ENDING = ".lock"


@contextmanager
def scratch_folder(data: Path) -> Iterator[Path]:
    """
    Give a fresh folder in DATA/scratch, and remove it at the end.

    A worker that is killed removes nothing, so each new one sweeps first. A folder is in use as
    long as the lock on the file beside it is held, which the kernel lets go of whatever happens.
    """
    home = data / FOLDER
    home.mkdir(mode=0o711, parents=True, exist_ok=True)
    _sweep(home)
    folder = home / secrets.token_hex(8)
    lock_path = folder.with_suffix(_LOCK_ENDING)
    lock = os.open(lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder.mkdir(mode=0o711)
        yield folder
    finally:
        remove_tree(folder)
        lock_path.unlink(missing_ok=True)
        os.close(lock)


def touch(folder: Path) -> None:
    """Show that the worker whose folder this is goes on: a container's health check looks at the time of its lock."""
    folder.with_suffix(_LOCK_ENDING).touch()


def _sweep(home: Path) -> None:
    for lock_path in home.glob(f"*{_LOCK_ENDING}"):
        with suppress(OSError):  # held, or swept by another just now
            lock = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(lock_path.with_suffix(""))
                lock_path.unlink()
            finally:
                os.close(lock)
