"""
How long a step of a run may take, measured from outside, where the run cannot reach.

A step is the student's code on one trial, the author's probe after it, or the walk back through the graph. Three things
can use its time up, and they are told apart, because they are not the same person's doing:

    computing    seconds of processor time of the whole process, by the kernel's clock of that process
    waiting      seconds in which it had nothing to compute: a sleep, a lock, a pipe that nobody writes to
    starved      seconds in which it was ready and no processor was free, by the scheduler's own count

The limit goes by computing. Waiting may take 1.75 times as long, for a program may have to wait for a disk that is not
its own. What it was starved of is nobody's fault: it is not counted, and a run that has come to nothing after ten times
the limit by the clock is tried again instead of judged.

Nothing is read as long as less than the limit has passed by the clock, which is so in nearly every run.
"""

import contextlib
import time

from graders.pool.sandboxed_process import SandboxedProcess
from graders.protocol.ending import Ended

WAITING_TIMES = 1.75
_CLOCK_TIMES = 10
_PROCESS_CLOCK = 2  # of the kernel's clocks of a process, the one of the scheduler


class TimeLimit:
    """The limit of one run, step by step."""

    def __init__(self, process: SandboxedProcess, limit_s: float) -> None:
        """
        The first step begins.

        Args:
            process: whose.
            limit_s: of each step.
        """
        self._process = process
        self._clock = (~process.process_id << 3) | _PROCESS_CLOCK
        self._limit_s = limit_s
        self.begin_step()

    def begin_step(self) -> None:
        """From now on the next step is measured."""
        self._begun_s, self._computed_s, self._starved_s = time.monotonic(), self._computing_s(), self._starving_s()

    def check(self) -> None:
        """Raise Ended once the step has used up what it may."""
        by_clock_s = time.monotonic() - self._begun_s
        if by_clock_s < self._limit_s:
            return
        computed_s = self._computing_s() - self._computed_s
        if computed_s >= self._limit_s:
            raise Ended("time")
        if by_clock_s - (self._starving_s() - self._starved_s) - computed_s >= self._limit_s * WAITING_TIMES:
            raise Ended("waiting")
        if by_clock_s >= self._limit_s * _CLOCK_TIMES:
            raise Ended("starved")

    def _computing_s(self) -> float:
        with contextlib.suppress(OSError):
            return time.clock_gettime(self._clock)
        return 0.0  # it has ended, which is noticed elsewhere

    def _starving_s(self) -> float:
        """0 where it cannot be told."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            return self._process.starved_s()
        return 0.0
