"""
The folder in which a worker's runs may write, and that nothing is left of it.

It lies on another file system than the data, where this machine has one to spare, so that nothing a run writes can take
room from the database: the folder for temporary files, or the one in memory. Where each run has a file system of its
own (`graders.sandbox.disk`), only empty folders are made there.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from graders.sandbox.folders import remove_tree
from graders.sandbox.identity import open_to_all

FOLDER = "scratch"
_LOCK_ENDING = ".lock"
_LOCK = "lock"  # in the folder, a link to its lock
_ROOM_BYTES = 256 * 1024 * 1024

log = structlog.get_logger()


@contextmanager
def scratch_folder(data: Path) -> Iterator[Path]:
    """
    Give a fresh folder, and remove it at the end.

    A worker that is killed removes nothing, so each new one sweeps first. A folder is in use as long as the lock in
    DATA/scratch that names it is held, which the kernel lets go of whatever happens.
    """
    home = data / FOLDER
    home.mkdir(mode=0o711, parents=True, exist_ok=True)
    _sweep(home)
    name = secrets.token_hex(8)
    apart = apart_from(home)
    if apart is None:
        log.warning(
            "students' files lie on the file system of the database, which they could fill; point TMPDIR at another",
            folder=str(home),
        )
    folder = home / name if apart is None else apart / f"kelolo-{name}"
    lock_path = home / f"{name}{_LOCK_ENDING}"
    lock = os.open(lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, os.fsencode(folder))
        folder.mkdir(mode=0o711)
        (folder / _LOCK).symlink_to(lock_path.resolve())
        yield folder
    finally:
        remove_tree(folder)
        lock_path.unlink(missing_ok=True)
        os.close(lock)


def apart_from(data: Path) -> Path | None:
    """A folder on another file system than `data`, with some room and open to the users that runs become."""
    for folder in (Path(tempfile.gettempdir()).resolve(), Path("/dev/shm")):  # noqa: S108  a fresh folder is made in it
        with suppress(OSError):
            roomy = shutil.disk_usage(folder).free >= _ROOM_BYTES
            if (
                folder.stat().st_dev != data.stat().st_dev
                and roomy
                and os.access(folder, os.W_OK)
                and open_to_all([folder])
            ):
                return folder
    return None


def touch(folder: Path) -> None:
    """Show that the worker whose folder this is goes on: a container's health check looks at the time of its lock."""
    (folder / _LOCK).touch()


def _sweep(home: Path) -> None:
    for lock_path in home.glob(f"*{_LOCK_ENDING}"):
        with suppress(OSError):  # held, or swept by another just now
            lock = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                named = Path(os.fsdecode(os.read(lock, os.pathconf(home, "PC_PATH_MAX"))) or lock_path.with_suffix(""))
                remove_tree(named)
                lock_path.unlink()
            finally:
                os.close(lock)
