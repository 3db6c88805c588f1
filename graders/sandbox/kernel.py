"""The few system calls that Python does not offer, by ctypes, with errors raised as OSError."""

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38


def prctl(option: int, second: int = 0, third: int = 0) -> int:
    """Set a trait of this process. Raises OSError."""
    return _checked(_libc.prctl(option, second, third, 0, 0), "prctl")


def syscall(number: int, *arguments: object) -> int:
    """Call a system call by number; integers go in as longs. Raises OSError."""
    raw = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *raw), f"system call {number}")


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
