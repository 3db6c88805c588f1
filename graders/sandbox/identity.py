"""
Another user for each slot, where we are root: what belongs to us or to another slot is out of reach.

The interpreter, or the scratch folder, may lie under a home that other users cannot enter. Then the run keeps one
capability, reading past permissions, which opens nothing that Landlock does not allow; every other one is gone.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from graders.sandbox import kernel

FIRST_UID, UIDS = 40_000, 20_000  # below those that systemd hands out by itself
_CAPGET, _CAPSET = 125, 126
_SETFSUID, _SETFSGID = 122, 123
_CAPABILITIES_V3 = 0x20080522
_READ_SEARCH = 1 << 2  # CAP_DAC_READ_SEARCH
_WORLD_SEARCH = 0o001


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


_TwoSets = _Sets * 2  # of 32 capabilities each


def uid_for(number: int) -> int | None:
    """The user that slot `number` of this process runs as; None where we may not change users."""
    if os.geteuid() != 0:
        return None
    return FIRST_UID + (os.getpid() * 16 + number) % UIDS


def assume(uid: int | None, *, all_open: bool) -> None:
    """
    Become this user for ever, or, where there is none to become, give up every capability.

    Args:
        uid: the user and group to become.
        all_open: can everyone reach Python's and torch's files and the scratch folder?

    Raises:
        OSError: the kernel refused it.
    """
    kept = 0
    if uid is not None:
        kept = 0 if all_open else _READ_SEARCH
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1 if kept else 0)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    _keep(kept)


@contextlib.contextmanager
def seeing_as(uid: int | None) -> Iterator[None]:
    """
    Look at processes with this user's eyes, in this thread; None changes nothing.

    Root in a container may not look at what processes of others have open, but each user may look at their own. Only
    what is looked up in files goes by it: the thread stays who it is, and nobody else becomes able to signal it.
    """
    if uid is None:
        yield
        return
    header, sets = _Header(_CAPABILITIES_V3, 0), _TwoSets()
    kernel.syscall(_CAPGET, ctypes.byref(header), ctypes.byref(sets))
    try:
        kernel.syscall(_SETFSGID, uid)
        kernel.syscall(_SETFSUID, uid)
        # who is looked at may have kept one: only whoever has it as well may look
        kernel.syscall(_CAPSET, ctypes.byref(header), ctypes.byref(sets))
        yield
    finally:
        kernel.syscall(_SETFSUID, os.geteuid())
        kernel.syscall(_SETFSGID, os.getegid())


def _keep(capabilities: int) -> None:
    header = _Header(_CAPABILITIES_V3, 0)
    sets = _TwoSets(_Sets(capabilities, capabilities, 0), _Sets(0, 0, 0))
    kernel.syscall(_CAPSET, ctypes.byref(header), ctypes.byref(sets))


def open_to_all(paths: list[Path]) -> bool:
    """Can every user reach these folders?"""
    parents = {parent for path in paths for parent in (path, *path.parents)}
    return all(parent.stat().st_mode & _WORLD_SEARCH for parent in parents if parent.exists())
