"""
Landlock: which files a run may touch. Everything not named here is refused by the kernel.

Source: the kernel's Documentation/userspace-api/landlock.rst; the numbers are its UAPI.
"""

import ctypes
import os
import stat
from pathlib import Path

from graders.sandbox import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_QUESTION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG = 1 << 7, 1 << 8
_TRUNCATE = 1 << 14
READ = _READ_FILE | _READ_DIR
# no links, sockets, fifos or devices: nothing in the scratch folder can lead elsewhere
READ_WRITE = READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG

# highest file right known to each version of the kernel's interface
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_NEWEST = 16  # 5 and later know ioctl on devices
_TCP_SINCE, _SCOPES_SINCE = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The kernel's Landlock interface, 0 where there is none."""
    try:
        return kernel.syscall(_CREATE_RULESET, 0, 0, _VERSION_QUESTION)
    except OSError:
        return 0


class Files:
    """
    Which files all runs of a warm process may read. Opened once, so that a run only has to name its own folder.

    Two rulesets are put in force together. One is long and the same for all runs, and so made once: it names each file
    and folder that may be read, and the scratch folder as a whole. The other is short and each run's own: it names the
    folders that those lie in, roughly, and of the scratch folder the run's part alone. What may be done is what both
    allow.
    """

    def __init__(self, readable: list[Path], *, listable: list[Path], scratch: Path) -> None:
        """
        Open what may be read.

        Args:
            readable: files and folders; those that do not exist are passed over.
            listable: folders whose names alone may be read, with those of all below.
            scratch: the folder in which runs get their own.

        Raises:
            OSError: the kernel has no Landlock.
        """
        known = version()
        if known == 0:
            raise OSError("this kernel has no Landlock")
        self._handled = (1 << _FILE_RIGHTS.get(known, _FILE_RIGHTS_NEWEST)) - 1
        self._wanted = _Ruleset(self._handled, 3 if known >= _TCP_SINCE else 0, 3 if known >= _SCOPES_SINCE else 0)
        self._size = 24 if known >= _SCOPES_SINCE else 16 if known >= _TCP_SINCE else 8
        readable = [path for path in readable if path.exists()]
        null = (Path(os.devnull), _READ_FILE | _WRITE_FILE)
        rough = dict.fromkeys(path if scratch.is_relative_to(path.parent) else path.parent for path in readable)
        self._rules = [_rule(path, READ & self._handled) for path in (*rough, *listable)]
        self._rules.append(_rule(*null))
        self._writing = (READ_WRITE | _TRUNCATE) & self._handled
        fence = [(path, READ) for path in readable] + [(path, _READ_DIR) for path in listable]
        self.common = self._common([*fence, null, (scratch, self._writing)])

    def ruleset(self, writable: str) -> int:
        """
        A ruleset for one run, as a descriptor.

        Args:
            writable: the one folder that the run may also write in.
        """
        ruleset = self._empty()
        own = _rule(Path(writable), self._writing)
        try:
            for rule in (*self._rules, own):
                kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(own.parent)
        return ruleset

    def _empty(self) -> int:
        return kernel.syscall(_CREATE_RULESET, ctypes.byref(self._wanted), self._size, 0)

    def _common(self, allowed: list[tuple[Path, int]]) -> int:
        """The long ruleset, as a descriptor that is kept open."""
        ruleset = self._empty()
        for path, rights in allowed:
            rule = _rule(path, rights & self._handled)
            try:
                kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
            finally:
                os.close(rule.parent)
        return ruleset


def _rule(path: Path, rights: int) -> _PathBeneath:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not stat.S_ISDIR(os.fstat(opened).st_mode):
        rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
    return _PathBeneath(rights, opened)


def restrict(ruleset: int) -> None:
    """Put a ruleset in force in this process, for ever, and close it. Raises OSError."""
    kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
