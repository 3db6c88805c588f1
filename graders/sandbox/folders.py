"""
Removing what a run has left, whatever it made of it.

A student may nest folders thousands deep (deeper than any path or recursion reaches) and close them to everyone. So
nothing here recurses or joins paths: a folder's own folders are moved up to the top before it is removed.
"""

import contextlib
import itertools
import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it. Links are removed, not followed. What is gone already is fine."""
    with contextlib.suppress(OSError):
        if _removed(str(folder)):
            return
        top = os.open(folder, _FOLDER)
        try:
            _empty(top)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(top: int) -> None:
    numbers = itertools.count()
    while names := _names(top):
        for name in names:
            if not _is_folder(name, top):
                os.unlink(name, dir_fd=top)
                continue
            if _removed(name, top):
                continue
            os.chmod(name, 0o700, dir_fd=top)
            inner = os.open(name, _FOLDER, dir_fd=top)
            try:
                _lift(inner, top, numbers)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)


def _removed(name: str, parent: int | None = None) -> bool:
    """Remove a folder that is empty, as most are."""
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:
        return False
    return True


def _lift(inner: int, top: int, numbers: "itertools.count[int]") -> None:
    """Remove a folder's files and move its folders to the top."""
    for name in _names(inner):
        if not _is_folder(name, inner):
            os.unlink(name, dir_fd=inner)
            continue
        os.chmod(name, 0o700, dir_fd=inner)
        target = next(lifted for number in numbers if not _exists(lifted := f"lifted-{number}", top))
        os.rename(name, target, src_dir_fd=inner, dst_dir_fd=top)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _exists(name: str, parent: int) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
