"""
Filling the holes that imports have left in a process's memory.

A fork copies each page that it writes to, at 4 µs a page. What it allocates would come to lie in thousands of holes of
some bytes, each in another page; with none left it lies side by side. That is 350 pages less for each run, of 1900.
What fills the holes is a MiB in each allocator, never used and never freed.
"""

import ctypes
import os
import re
import sys

_LIBRARY = ctypes.CDLL(None)
_LARGEST_LOG2 = 24
_SMALL = 1024  # up to here the allocator of C has lists of its own for every 16 bytes
_STEP = 16
_LARGEST_BLOCK = 512
_UNUSED_POOLS = re.compile(r"^(\d+) unused pools \* (\d+) bytes", re.MULTILINE)
_SIZE_CLASS = re.compile(r"^ +\d+ +(\d+) +\d+ +\d+ +(\d+)$", re.MULTILINE)  # number, size, pools, in use, available


def fill() -> None:
    """Fill the holes, both in Python's pools and in the heap below them."""
    allocate = ctypes.pythonapi.PyObject_Malloc
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    for size, available in _python_holes():
        for _ in range(available):
            allocate(size)
    _fill_heap()


def _python_holes() -> list[tuple[int, int]]:
    """Size and number of free blocks in the pools that there are; none where Python has another allocator."""
    memory_file, stderr = os.memfd_create("statistics"), os.dup(2)
    os.dup2(memory_file, 2)
    sys._debugmallocstats()  # noqa: SLF001  there is no other way to ask
    os.dup2(stderr, 2)
    os.close(stderr)
    with open(memory_file, "r+b") as statistics:  # noqa: PTH123  a descriptor
        statistics.seek(0)
        text = statistics.read().decode("ascii")
    holes = [(int(size), int(free)) for size, free in _SIZE_CLASS.findall(text)]
    unused = [
        (_LARGEST_BLOCK, int(pools) * (int(size) // _LARGEST_BLOCK)) for pools, size in _UNUSED_POOLS.findall(text)
    ]
    return holes + unused


class _Heap(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "parts", "_2", "_3", "_4", "_5", "_6", "used", "free", "free_at_the_top")
    )


def _fill_heap() -> None:
    """Take pieces of each size, large ones first, until only the top of the heap has one."""
    if not hasattr(_LIBRARY, "mallinfo2"):
        return  # glibc before 2.33, or another C library: only the gain is lost
    _LIBRARY.mallinfo2.restype = _Heap
    _LIBRARY.sbrk.argtypes, _LIBRARY.sbrk.restype = [ctypes.c_ssize_t], ctypes.c_void_p
    _LIBRARY.malloc.argtypes, _LIBRARY.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    _LIBRARY.free.argtypes = [ctypes.c_void_p]
    top = _LIBRARY.sbrk(0) - _LIBRARY.mallinfo2().free_at_the_top
    for size in (*(1 << log2 for log2 in range(_LARGEST_LOG2, 10, -1)), *range(_SMALL, 0, -_STEP)):
        while (piece := _LIBRARY.malloc(size)) is not None and piece < top:
            pass
        _LIBRARY.free(piece)
