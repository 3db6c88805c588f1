"""A file that is there whole or not at all, and the sum that tells later whether it still is."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.clients.backups.errors import BackupRefused

SUM_ENDING = ".sha256"
SPARE_BYTES = 16 * 1024 * 1024
"""What must stay free on a disk beside the largest that a copy can be."""
_MIB = 1024 * 1024
_ABSENT = "0" * 64


@contextmanager
def whole_file(target: Path, *, force: bool) -> Iterator[Path]:
    """
    Give an empty file beside `target` to be filled; at the end of `with` it becomes `target`, with its sum beside it.

    Raises:
        BackupRefused: there is something at `target` (with `force`: something that is no file), or no folder for it.
    """
    _require_place(target, force=force)
    with temporary(target) as draft:
        yield draft
        flush(draft)
        digest = sum_of(draft)
        sum_file(target).unlink(missing_ok=True)  # before the new file comes, or it would be measured by an old sum
        _give_name(draft, target, force=force)
    sum_file(target).write_text(f"{digest}  {target.name}\n", encoding="utf-8")
    sum_file(target).chmod(0o600)
    flush(sum_file(target))
    flush(target.parent)


@contextmanager
def temporary(beside: Path) -> Iterator[Path]:
    """Give an empty file in the same folder, closed to others; whatever is there at the end is removed."""
    draft = beside.with_name(f".{beside.name}.{secrets.token_hex(4)}.partial")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        yield draft
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):  # SQLite's own files beside it
            draft.with_name(draft.name + ending).unlink(missing_ok=True)


def require_room(folder: Path, size_bytes: int) -> None:
    """Raise BackupRefused unless so much fits on the disk of a folder, and something more."""
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < size_bytes + SPARE_BYTES:
        raise BackupRefused(
            reason=f"There is not enough room in {folder}: up to {_mib(size_bytes + SPARE_BYTES)} MiB are needed, and "
            f"{_mib(free_bytes)} MiB are free. Nothing was changed."
        )


def require_sum(source: Path) -> bool:
    """Compare a file with the sum beside it; False if there is none. Raises BackupRefused if it is another file."""
    with suppress(FileNotFoundError):
        noted = sum_file(source).read_text(encoding="utf-8", errors="replace")[: len(_ABSENT)]
        if noted == sum_of(source):
            return True
        raise BackupRefused(
            reason=f"{source} is not what was written: its SHA-256 is not the one in {sum_file(source).name}. "
            "Nothing was changed."
        )
    return False


def sum_file(path: Path) -> Path:
    """Return where the sum of a file stands; `sha256sum --check` reads it."""
    return path.with_name(path.name + SUM_ENDING)


def sum_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Have the disk hold what a file or a folder holds."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_place(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise BackupRefused(reason=f"There is no folder {target.parent}. Make it first.")
    if target.exists() and not target.is_file():
        raise BackupRefused(reason=f"{target} is not a file. Name a file in a folder that exists.")
    if os.path.lexists(target) and not force:
        raise _taken(target)


def _give_name(draft: Path, target: Path, *, force: bool) -> None:
    if force:
        draft.replace(target)
        return
    try:
        target.hardlink_to(draft)  # unlike a renaming, this takes no other's place
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise _taken(target) from None
        draft.rename(target)


def _taken(target: Path) -> BackupRefused:
    return BackupRefused(reason=f"{target} exists already. Name another file, or say --force to replace it.")


def _mib(size_bytes: int) -> int:
    return -(-size_bytes // _MIB)
