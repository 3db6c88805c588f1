"""
Landlock: which files a run may touch. Everything not named here is refused by the kernel.

Source: the kernel's Documentation/userspace-api/landlock.rst; the numbers are its UAPI.
"""

import ctypes
import os
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


def apply(*, readable: list[Path], writable: Path) -> None:
    """
    Restrict this process for ever.

    Args:
        readable: files and folders it may read; those that do not exist are passed over.
        writable: the one folder it may also write in.

    Raises:
        OSError: the kernel has no Landlock, or a rule was refused.
    """
    known = version()
    files = (1 << _FILE_RIGHTS.get(known, _FILE_RIGHTS_NEWEST)) - 1
    wanted = _Ruleset(files, 3 if known >= _TCP_SINCE else 0, 3 if known >= _SCOPES_SINCE else 0)
    size = 24 if known >= _SCOPES_SINCE else 16 if known >= _TCP_SINCE else 8
    ruleset = kernel.syscall(_CREATE_RULESET, ctypes.byref(wanted), size, 0)
    for path in readable:
        _allow(ruleset, path, READ & files)
    _allow(ruleset, Path(os.devnull), _READ_FILE | _WRITE_FILE)
    truncate = _TRUNCATE if files & _TRUNCATE else 0
    _allow(ruleset, writable, (READ_WRITE | truncate) & files)
    kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not path.is_dir():
            rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
        rule = _PathBeneath(rights, parent)
        kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)
