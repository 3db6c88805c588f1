"""
One run from the parent's side: pipes, deadline, watch, kill.

Everything that comes back from a run is bytes of unknown intent. They are bounded before they are
read, parsed only as far as the frame, and a run that misbehaves is killed by pidfd, which cannot
hit another process that has got its number since.
"""

import contextlib
import math
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from graders.faults import MachineFault
from graders.protocol.ending import Ended, PrintedOutput
from graders.protocol.frames import HEADER, Frame, FrameType, decode_body, read_header
from graders.sandbox.disk import Disk

START_TIME_S = 20.0  # until walls are up and the starting code has run
_WATCH_S = 0.01  # how often a run's memory and folder are looked at
_MIB = 1024 * 1024
_PIPE_BYTES = 64 * 1024
_DRAINS = 16  # pipes emptied at one go: bounded, so that a flood cannot keep the watch from its rounds
_LINGER_S = 0.2
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_UTIME = 11  # of /proc/PID/stat, counted from what follows the name; system time comes next


@dataclass(frozen=True)
class Pipes:
    """Our ends."""

    job: int
    answer: int
    output: int


@dataclass(frozen=True)
class ResourceBounds:
    """What is watched from outside."""

    resident_bytes: int
    disk: Disk


class SandboxedProcess:
    """One forked process, from its job to its end."""

    def __init__(
        self, pidfd: int, pipes: Pipes, bounds: ResourceBounds, *, reap: Callable[[], int], bury: Callable[[], None]
    ) -> None:
        """
        Of a fork that waits for its job; the descriptors are ours from now on.

        Args:
            pidfd: of the process.
            pipes: to and from it.
            limit: what it may hold.
            reap: wait for its end and give the wait status. Raises MachineFault.
            bury: let it be reaped later.
        """
        self._pidfd, self._bounds, self._reap, self._bury = pidfd, bounds, reap, bury
        self._job, self._answer, self._output = pipes.job, pipes.answer, pipes.output
        # the fork server may live in a namespace where the process has another number
        self.process_id = process_id(pidfd)
        self._statm, self._stat = (
            os.open(f"/proc/{self.process_id}/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in ("statm", "stat")
        )
        self._schedstat: int | None = None  # not every kernel counts that
        with contextlib.suppress(OSError):
            self._schedstat = os.open(f"/proc/{self.process_id}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        self._cpu_until_s = math.inf
        self.check_time: Callable[[], None] | None = None  # looked at beside the deadline; raises Ended
        self._ended = self._heard = False
        self._sink: PrintedOutput | None = None
        self._ready = select.poll()
        for one in (self._answer, self._output):
            self._ready.register(one, select.POLLIN)
        for one in (self._job, self._answer, self._output):
            os.set_blocking(one, False)

    def __enter__(self) -> Self:
        """Use it in a with block, so that nothing is left behind."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it, whatever it is doing, and let go of everything."""
        self.end()

    def alive(self) -> bool:
        """Is the process there? A pidfd becomes readable when it has ended."""
        return not self._over(0)

    def _over(self, wait_s: float) -> bool:
        """Has the process ended, or does it within this time?"""
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(wait_s * 1000))

    def converse(self, request: Frame, *, deadline: float, output: PrintedOutput | None = None) -> Frame:
        """
        Send a frame and wait for the next one.

        Args:
            request: for the run.
            deadline: on the monotonic clock, in seconds.
            output: where to put what it prints meanwhile; None throws it away.

        Raises:
            Ended: the time is up, a bound was passed, or the process is gone.
        """
        self._sink = output
        self._push(memoryview(request.encode()), deadline)
        return self.listen(deadline=deadline, output=output)

    def give(self, request: Frame) -> None:
        """Send what it is to do, before anything of a student's runs. Raises MachineFault."""
        try:
            self.send(request, deadline=time.monotonic() + START_TIME_S)
        except Ended as ended:
            raise MachineFault(f"a run ended before its job ({ended.how})") from ended

    def send(self, request: Frame, *, deadline: float) -> None:
        """Send a frame without waiting for an answer. Raises Ended."""
        self.send_encoded(request.encode(), deadline=deadline)

    def send_encoded(self, request: bytes, *, deadline: float) -> None:
        """The same with a frame that is encoded already. Raises Ended."""
        self._push(memoryview(request), deadline)

    def _push(self, rest: memoryview, deadline: float) -> None:
        room = select.poll()
        room.register(self._job, select.POLLOUT)
        while rest:
            try:
                rest = rest[os.write(self._job, rest) :]
            except BlockingIOError:
                if not room.poll(_watch_ms(deadline)):
                    self._check(deadline)
            except BrokenPipeError:
                raise self._gone() from None

    def listen(self, *, deadline: float, output: PrintedOutput | None = None) -> Frame:
        """Wait for the next frame. Raises Ended."""
        self._sink = output
        buffer = bytearray()
        while True:
            ready = {descriptor for descriptor, _ in self._ready.poll(_watch_ms(deadline))}
            frame = self._read_answer(buffer) if self._answer in ready else None
            if not self._drain(output):
                with contextlib.suppress(KeyError):  # said before
                    self._ready.unregister(self._output)
            if frame is not None:
                if self._heard:  # the first only says that what is watched begins
                    self._check_disk()  # what was handed over may only say that there was no room
                self._heard = True
                return frame
            try:
                self._check(deadline, output)
            except Ended:
                # what was handed over before the limit counts, however late we come to look
                if (frame := self._read_answer(buffer)) is None:
                    raise
                return frame

    def _read_answer(self, buffer: bytearray) -> Frame | None:
        """The frame, once it is complete; never more bytes than it announced."""
        while True:
            wanted = HEADER.size
            if len(buffer) >= HEADER.size:
                kind, json_bytes, tensor_bytes = self._header(buffer)
                wanted += json_bytes + tensor_bytes
                if len(buffer) == wanted:
                    return self._frame(kind, buffer, json_bytes)
            try:
                part = os.read(self._answer, min(wanted - len(buffer), 1 << 20))
            except BlockingIOError:
                return None
            if not part:
                raise self._gone()
            buffer += part

    @staticmethod
    def _frame(kind: FrameType, buffer: bytearray, json_bytes: int) -> Frame:
        body_end = HEADER.size + json_bytes
        try:
            body = decode_body(bytes(buffer[HEADER.size : body_end]))
        except ValueError as fault:
            raise Ended("garbled") from fault
        return Frame(kind, body, bytes(buffer[body_end:]))

    @staticmethod
    def _header(buffer: bytearray) -> tuple[FrameType, int, int]:
        try:
            return read_header(bytes(buffer[: HEADER.size]))
        except ValueError as fault:
            raise Ended("garbled") from fault

    def _drain(self, output: PrintedOutput | None) -> bool:
        """
        Take what was printed; a full pipe must never hold a run up.

        Returns:
            False once nothing more can come.
        """
        for _ in range(_DRAINS):
            try:
                part = os.read(self._output, _PIPE_BYTES)
            except BlockingIOError:
                return True
            if not part:
                return False
            if output is not None:
                output.add(part)
        return True

    def _check(self, deadline: float, output: PrintedOutput | None = None) -> None:
        """The watch that a run cannot reach: time, memory and output, from outside. Raises Ended."""
        if time.monotonic() >= deadline:
            raise Ended("time")
        if self.check_time is not None:
            self.check_time()
        if output is not None:
            output.check()
        with contextlib.suppress(OSError, ValueError):
            if self.resident_bytes() > self._bounds.resident_bytes:
                raise Ended("memory")
            if self._cpu_until_s < math.inf and self.cpu_s() > self._cpu_until_s:
                raise Ended("cpu")
        self._check_disk()

    def _check_disk(self) -> None:
        if not self._bounds.disk.full(begun=self._heard):
            return
        # one that is just ending cannot be looked at either, and how it ended is what counts
        if not (self._bounds.disk.is_hidden and self._over(_LINGER_S)):
            raise Ended("disk")

    @property
    def written_in(self) -> Disk:
        """Where it writes."""
        return self._bounds.disk

    def written(self) -> bool:
        """Is there anything in its folder?"""
        return self._bounds.disk.used()

    def resident_bytes(self, *, files: bool = True) -> int:
        """
        What the run holds in memory, also what it shares with its warm process.

        Args:
            files: with what is in memory of libraries' files, which comes little by little.

        Raises:
            OSError, ValueError: it has ended.
        """
        _, resident, of_files, *_ = os.pread(self._statm, 128, 0).split()
        return (int(resident) - (0 if files else int(of_files))) * _PAGE

    def cpu_s(self) -> float:
        """
        CPU seconds of all its threads so far, as the kernel counts them.

        Raises:
            OSError, ValueError: it has ended.
        """
        fields = os.pread(self._stat, 1024, 0).rpartition(b")")[2].split()  # after the name, which may hold anything
        return (int(fields[_UTIME]) + int(fields[_UTIME + 1])) / _TICKS_PER_S

    def starved_s(self) -> float:
        """
        Seconds so far in which its main thread was ready and no processor was free.

        Raises:
            OSError, ValueError, IndexError: it has ended, or the kernel does not count them.
        """
        if self._schedstat is None:
            raise OSError("the kernel does not count for how long a process has waited for a processor")
        return int(os.pread(self._schedstat, 128, 0).split()[1]) * 1e-9

    def allow_cpu(self, seconds: float) -> None:
        """From now on it may use so much CPU time, however long that takes. Raises MachineFault: it has ended."""
        try:
            self._cpu_until_s = self.cpu_s() + seconds
        except (OSError, ValueError, IndexError) as fault:
            raise MachineFault("a run ended before its job") from fault

    def _gone(self) -> Ended:
        """It closed its pipe: it has ended or is about to; say how."""
        status = self.end(wait=True)
        return Ended("gone", status=status)

    def end(self, *, wait: bool = False) -> int | None:
        """Kill it and close what is ours. With `wait`, its wait status."""
        if self._ended:
            return None
        self._ended = True
        if wait:
            self._linger()
            self._drain(self._sink)  # its last words
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        for one in (self._job, self._answer, self._output, self._statm, self._stat, self._schedstat, self._pidfd):
            if one is not None:
                os.close(one)
        self._bounds.disk.close()
        if wait:
            return self._reap()
        self._bury()
        return None

    def _linger(self) -> None:
        """
        A moment for a process that closed its pipe to end by itself, so that its own signal is what is seen.

        pidfds become readable when the process has ended.
        """
        self._over(_LINGER_S)


def _watch_ms(deadline: float) -> float:
    """How long to wait before the next look at the run; at its deadline not at all."""
    return max(0.0, min(_WATCH_S, deadline - time.monotonic())) * 1000


def process_id(pidfd: int) -> int:
    """The process id, as our own /proc counts."""
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text(encoding="ascii").splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    raise OSError("the kernel does not say which process a pidfd stands for")
