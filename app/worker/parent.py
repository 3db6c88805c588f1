"""Ending with the process that started us, however it ends."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def die_with(parent_pid: int) -> None:
    """
    Have the kernel send SIGTERM to this process when its parent is gone.

    Raises:
        SystemExit: it is gone already.
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) was refused")
    # It may have ended just before; then nothing would ever be sent.
    if os.getppid() != parent_pid:
        raise SystemExit(0)
