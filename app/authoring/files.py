"""
Reading the files of a course: the one way, for YAML, lessons and whatever `{file: name}` names.

A course is written by people who do not administer the machine, and what it holds is shown to everyone. So a file of it
must be one of its own: a link could name a file that only the server may read. Nothing here asks a path what it is and
then opens it, because the answer may be out of date by then. The way from the course's folder to the file is gone one
name at a time, each opened relative to the folder before it and never through a link (`O_NOFOLLOW`), and what counts is
what the opened descriptor says of itself (`fstat`): a regular file, not a pipe or a device. As much is read as may be,
and one byte more to know that it was not more.

The folder itself may be reached by links: whoever names it on a command line knows it. Hard links cannot be told from
files: who may make one to another's file is up to the system (`fs.protected_hardlinks`).
"""

import os
import stat
from contextlib import ExitStack
from pathlib import Path, PurePath

MAX_FILE_BYTES = 512 * 1024
MAX_FILES = 10_000
MAX_BYTES = 64 * 1024 * 1024
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "is a link, and links are not followed: put the file itself there",
    stat.S_IFDIR: "is a folder, not a file",
    stat.S_IFIFO: "is a pipe, not a file",
    stat.S_IFSOCK: "is a socket, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
}


class FileRefused(Exception):
    """A file of a course is not read; `reason` completes a sentence that begins with its name."""

    def __init__(self, reason: str, *, is_missing: bool = False, line: int = 1) -> None:
        """`line`: where in the file the reason is."""
        super().__init__(reason)
        self.reason, self.is_missing, self.line = reason, is_missing, line


class CourseFiles:
    """The files below one folder, with what was read of them so far."""

    def __init__(self, root: Path) -> None:
        """`root`: no file outside of it is read."""
        self.root = root
        self._files = self._bytes = 0

    def read(self, path: Path) -> str:
        """
        Return the text of a file.

        Args:
            path: begins with the root, and goes down only.

        Raises:
            FileRefused: it is not there, not a regular file of this folder, too large, or not UTF-8.
        """
        raw = self._raw(path)
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            line = raw[: fault.start].count(b"\n") + 1
            raise FileRefused("is not UTF-8 text: save it as UTF-8", line=line) from None

    def _raw(self, path: Path) -> bytes:
        names = _names(path, self.root)
        if self._files >= MAX_FILES:
            raise FileRefused(f"is one too many: a course has at most {MAX_FILES} files")
        try:
            raw = _read(self.root, names)
        except OSError as fault:
            is_missing = isinstance(fault, FileNotFoundError)
            raise FileRefused(f"cannot be read: {fault.strerror}", is_missing=is_missing) from None
        if len(raw) > MAX_FILE_BYTES:
            raise FileRefused(f"has more than {MAX_FILE_BYTES} bytes, which is the most that is read of a file")
        self._files += 1
        self._bytes += len(raw)
        if self._bytes > MAX_BYTES:
            raise FileRefused(f"is too much: the files of a course together have at most {MAX_BYTES} bytes")
        return raw


def _names(path: Path, root: Path) -> tuple[str, ...]:
    """Return the names that lead from the root to a file, downwards only. Raises FileRefused."""
    if not path.is_relative_to(root):
        raise FileRefused("lies outside of the folder that is read")
    names = PurePath(path).relative_to(root).parts
    if ".." in names or not names:
        raise FileRefused("lies outside of the folder that is read")
    if any("\0" in name for name in names):
        raise FileRefused("cannot hold a NUL character in its name")
    return names


def _read(root: Path, names: tuple[str, ...]) -> bytes:
    """Go down name by name, and read the file at the end. Raises FileRefused, OSError."""
    with ExitStack() as opened:
        here = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, here)
        for name in names[:-1]:
            here = os.open(name, _LOOK, dir_fd=here)
            opened.callback(os.close, here)
            _require(here, stat.S_IFDIR, where=f"(its folder `{name}`) ")
        # A device may act when it is opened: so it is looked at before, and what is then opened is looked at again.
        looked_at = os.open(names[-1], _LOOK, dir_fd=here)
        opened.callback(os.close, looked_at)
        _require(looked_at, stat.S_IFREG)
        file = os.open(names[-1], _READ, dir_fd=here)
        opened.callback(os.close, file)
        _require(file, stat.S_IFREG)
        return _all(file)


def _require(descriptor: int, kind: int, *, where: str = "") -> None:
    found = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if found != kind:
        raise FileRefused(where + _KINDS.get(found, "is not a folder"))


def _all(file: int) -> bytes:
    """Read a file, and one byte more than may be if it goes on."""
    raw = b""
    while len(raw) <= MAX_FILE_BYTES and (more := os.read(file, MAX_FILE_BYTES + 1 - len(raw))):
        raw += more
    return raw
