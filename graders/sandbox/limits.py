"""What the kernel itself counts for one process: CPU seconds, bytes, descriptors."""

import resource
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
THREADS = 64
FILE_BYTES = 16 * MIB
PAGE = resource.getpagesize()


@dataclass(frozen=True)
class Footprint:
    """What the warm process holds before a run begins, in bytes."""

    address_space: int
    data: int
    resident: int


def footprint() -> Footprint:
    """Of this process, now."""
    pages = [int(field) for field in Path("/proc/self/statm").read_text(encoding="ascii").split()]
    return Footprint(address_space=pages[0] * PAGE, data=pages[5] * PAGE, resident=pages[1] * PAGE)


def apply(*, footprint: Footprint, memory_mib: int, cpu_s: int, own_user: bool) -> None:
    """
    Bound this process.

    Args:
        footprint: the warm process's own size; the budget comes on top of it.
        memory_mib: heap and private maps the run may add.
        cpu_s: CPU seconds, a net under the parent's wall time.
        own_user: will the run be a user of its own? Only then can its threads be counted by the kernel: the
            limit goes by user. Elsewhere the address space bounds them, through their stacks.
    """
    budget = memory_mib * MIB
    bounds = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_DATA: (footprint.data + budget, footprint.data + budget),
        # shared maps are not in DATA; leave room for threads' stacks, which are reserved, not used
        resource.RLIMIT_AS: (footprint.address_space + 2 * budget, footprint.address_space + 2 * budget),
        resource.RLIMIT_FSIZE: (FILE_BYTES, FILE_BYTES),
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
    }
    if own_user:
        bounds[resource.RLIMIT_NPROC] = (THREADS, THREADS)
    for limit, bound in bounds.items():
        resource.setrlimit(limit, bound)
