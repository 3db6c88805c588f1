"""
Memory that is kept back while a student's code runs, so that there is some left to say how it ended.

A run may use so much and no more, and code that has used all of it up is still to be told so: which line it was, of
what a loop goes through without end. That takes memory too. So a piece of address space is held beside what the run
may use, never touched, and given back the moment its code has ended. `graders.grader` adds it to the run's limit.

Where a trial before has used everything up, the kernel has none to give: the C library keeps what was freed, and from
there the piece is taken then, in small parts.
"""

import ctypes
import mmap

RESERVE_MIB = 32
_MIB = 1 << 20
_C = ctypes.CDLL(None)
_C.malloc.argtypes, _C.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
_C.free.argtypes, _C.free.restype = [ctypes.c_void_p], None


class MemoryReserve:
    """Address space of RESERVE_MIB, or as much of it as is left, that costs no memory while it is held."""

    def __init__(self) -> None:
        """Nothing is held yet."""
        self._map: mmap.mmap | None = None
        self._parts: list[int] = []

    def hold(self) -> None:
        """Keep it back."""
        if self._map is not None or self._parts:
            return
        try:
            self._map = mmap.mmap(-1, RESERVE_MIB * _MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            parts = (_C.malloc(_MIB) for _ in range(RESERVE_MIB))
            self._parts = [one for one in parts if one is not None]

    def release(self) -> None:
        """Give it back, for what is ours to do."""
        if self._map is not None:
            self._map.close()
            self._map = None
        while self._parts:
            _C.free(self._parts.pop())
