"""
How much a run may write: 64 MiB in 1,000 files.

Where a warm process may mount, each run's folder is a file system of its own in memory, of just that size. Then
nothing has to be counted: what has no name any more, lies too deep for any path or is closed to everyone takes room in
it as all else does, others' runs have theirs, and with the run it is gone. It lies nowhere near the database.

Elsewhere (an ordinary user without namespaces, a container without the right to mount) a run writes into a plain
folder, and the trusted parent counts: what the folder holds, by descriptors, so that the length of a path does not
matter; and what has lost its name but is still open or mapped, which /proc tells of each process. A map does not tell
the size of its file, so that the largest there can be is assumed. What cannot be looked at counts as over the limit.
"""

import contextlib
import ctypes
import os
from dataclasses import dataclass, field
from pathlib import Path

from graders.sandbox import identity, kernel
from graders.sandbox.limits import FILE_BYTES

MOST_BYTES, MOST_FILES = 64 * 1024 * 1024, 1000
_DEEPEST = 64  # folders in folders; honest code has a handful
_NEARLY_FULL_BYTES = 64 * 1024  # less than that is no room for anything
_UNSHARE, _MOUNT, _UMOUNT = 272, 165, 166
_DETACHED = 2
_NEW_MOUNTS = 0x00020000
_NOSUID, _NODEV, _PRIVATE_BELOW = 2, 4, 0x4000 | 0x40000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DELETED = " (deleted)"


def can_mount(scratch: Path, *, own_world: bool) -> bool:
    """
    May this process give folders a file system of their own? Tried, in mounts that nobody else sees.

    Args:
        scratch: a folder to try it in.
        own_world: has it mounts of its own already?
    """
    trial = scratch / f"mount-{os.getpid()}"
    try:
        if not own_world:
            kernel.syscall(_UNSHARE, _NEW_MOUNTS)
            _mount(b"/", None, flags=_PRIVATE_BELOW)
        trial.mkdir()
        mount(trial, None)
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            kernel.syscall(_UMOUNT, ctypes.c_char_p(os.fsencode(trial)), _DETACHED)
        with contextlib.suppress(OSError):
            trial.rmdir()
    return True


def mount(folder: Path, uid: int | None) -> None:
    """Lay a file system of a run's size over a folder, until the parent removes that. Raises OSError."""
    options = f"size={MOST_BYTES},nr_inodes={MOST_FILES + 1},mode=0700"  # the folder itself is one
    options += "" if uid is None else f",uid={uid},gid={uid}"
    _mount(os.fsencode(folder), b"tmpfs", flags=_NOSUID | _NODEV, options=options.encode())


def _mount(target: bytes, kind: bytes | None, *, flags: int, options: bytes | None = None) -> None:
    source = kind or b"none"
    kernel.syscall(_MOUNT, *map(ctypes.c_char_p, (source, target, kind)), flags, ctypes.c_char_p(options))


@dataclass(frozen=True)
class SizedDisk:
    """A run's own file system, from outside: a descriptor of its root."""

    root: int
    is_hidden = False

    def full(self, *, begun: bool) -> bool:  # noqa: ARG002  it can be seen from the beginning
        """Has the run come to the end of it?"""
        status = os.fstatvfs(self.root)
        return status.f_bfree * status.f_frsize < _NEARLY_FULL_BYTES or status.f_ffree == 0

    def used(self) -> bool:
        """Is there anything in it?"""
        return bool(os.listdir(self.root))  # noqa: PTH208  a descriptor

    def close(self) -> None:
        """Let go of it."""
        os.close(self.root)


@dataclass
class CountedFolder:
    """A plain folder that a run writes in, from outside."""

    folder: Path
    pid: int  # as our own /proc counts
    uid: int | None  # whom the run is, if not us
    is_hidden: bool = field(default=False, init=False)  # was the last look refused?
    _seen: bool = field(default=False, init=False)
    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def full(self, *, begun: bool) -> bool:
        """
        Has the run written more, or more files, than it may?

        Args:
            begun: has it become who it is? Before, it cannot be looked at, and has run nothing of anyone's.
        """
        self._files = self._bytes = 0
        self.is_hidden = False
        try:
            top = os.open(self.folder, _FOLDER)
        except FileNotFoundError:
            return False  # the run is over
        try:
            nameless = self._nameless_seen(certain=begun or self._seen)
            return nameless or self._counted(top, 1)
        except (FileNotFoundError, ProcessLookupError):
            return False  # gone between two looks; the next one sees more
        except OSError:
            return True  # closed to us
        finally:
            os.close(top)

    def used(self) -> bool:
        """Is there anything in it?"""
        return bool(os.listdir(self.folder))  # noqa: PTH208  looked at after every submission

    def close(self) -> None:
        """There is nothing to let go of."""

    def _counted(self, folder: int, depth: int) -> bool:
        """Is the bound passed with what this folder holds? Links are not followed; looking stops at the bound."""
        with os.scandir(folder) as entries:
            for entry in entries:
                if self._add(entry.stat(follow_symlinks=False).st_blocks * 512):
                    return True
                if entry.is_dir(follow_symlinks=False) and self._counted_below(entry.name, folder, depth):
                    return True
        return False

    def _counted_below(self, name: str, folder: int, depth: int) -> bool:
        if depth == _DEEPEST:
            return True
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            return self._counted(inner, depth + 1)
        finally:
            os.close(inner)

    def _nameless_seen(self, *, certain: bool) -> bool:
        try:
            with identity.seeing_as(self.uid):
                nameless = self._nameless()
        except PermissionError:
            self.is_hidden = certain
            return certain
        self._seen = True
        return nameless

    def _nameless(self) -> bool:
        """Is the bound passed with files that only this process still knows?"""
        seen: set[tuple[int, int]] = set()
        process = f"/proc/{self.pid}"
        for number in os.listdir(f"{process}/fd"):  # noqa: PTH208
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                path = f"{process}/fd/{number}"
                if os.readlink(path).endswith(_DELETED):  # noqa: PTH115
                    status = os.stat(path)  # noqa: PTH116
                    if (status.st_dev, status.st_ino) not in seen and self._add(status.st_blocks * 512):
                        return True
                    seen.add((status.st_dev, status.st_ino))
        return any(self._add(FILE_BYTES) for one in self._mapped() if one not in seen)

    def _mapped(self) -> set[tuple[int, int]]:
        """Nameless files that are mapped, by device and number."""
        maps = Path(f"/proc/{self.pid}/maps").read_bytes()
        if _DELETED.encode() not in maps:
            return set()
        own, found = os.fsencode(self.folder), set()
        for line in maps.splitlines():
            _, _, _, device, number, *path = line.split(maxsplit=5)
            if path and path[0].startswith(own) and path[0].endswith(_DELETED.encode()):
                major, minor = (int(one, 16) for one in device.split(b":"))
                found.add((os.makedev(major, minor), int(number)))
        return found

    def _add(self, size: int) -> bool:
        self._files += 1
        self._bytes += size
        return self._files > MOST_FILES or self._bytes > MOST_BYTES


Disk = SizedDisk | CountedFolder
