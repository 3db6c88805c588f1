"""
Names for worker processes, from which others on the same machine can tell whether they live.

A name is `host:pid:start`. Process numbers are given again, so the time at which the kernel
started the process belongs to its name; and they mean something only within one boot of one
machine and one container, so the host part says all three.
"""

import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

# Places in /proc/PID/stat, counted behind the program's name, which may hold spaces.
_STATE, _START = 0, 19
_ZOMBIE = "Z"


def this_process() -> str:
    """Return the name of the process that asks."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_start_of(pid)}"


def dead_among(owners: Iterable[str]) -> list[str]:
    """Return those that ran on this machine and run no more. Of other machines nothing is known."""
    return [owner for owner in owners if _is_dead(owner)]


def _is_dead(owner: str) -> bool:
    host, pid, start = owner.rsplit(":", 2)
    return host == _host() and _start_of(int(pid)) != start


@cache
def _host() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    # The inode of the process-number namespace: differs between containers.
    return f"{platform.node()}/{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def _start_of(pid: int) -> str | None:
    """Return when the kernel started this process, in clock ticks since boot; None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not asked after it yet.
    return None if fields[_STATE] == _ZOMBIE else fields[_START]
