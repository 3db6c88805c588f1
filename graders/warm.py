"""
The parent's side of a warm process and of one run: pipes, deadline, memory watch, kill.

Everything that comes back from a run is bytes of unknown intent. They are bounded before they are
read, parsed only as far as the frame, and a run that misbehaves is killed by pidfd, which cannot
hit another process that has got its number since.
"""

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from graders.faults import GraderFault
from graders.wire import HEADER, Frame, FrameType, decode_body, read_header

_START_TIME_S = 60.0  # importing torch on a slow machine
_ANSWER_TIME_S = 10.0
_WATCH_S = 0.01  # how often a run's memory is looked at
_MIB = 1024 * 1024
_PIPE_BYTES = 64 * 1024
_DRAINS = 16  # pipes emptied at one go: bounded, so that a flood cannot keep the watch from its rounds
JUDGE_PIPE_BYTES = 1024 * 1024  # what any process may give a pipe on a kernel as it comes
_PAGE = os.sysconf("SC_PAGE_SIZE")

# Huge pages make the fork of a torch process several times cheaper; nothing else is in there.
_ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "PYTHONMALLOC": "malloc",
    "OMP_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "PYTHONUNBUFFERED": "1",
}


class Ended(Exception):
    """A run is over without the frame that was waited for; `how` says why."""

    def __init__(self, how: str, *, status: int | None = None) -> None:
        """`how`: time | memory | output | gone | garbled. `status`: the wait status, where it is known."""
        super().__init__(how)
        self.how = how
        self.status = status


class WarmProcess:
    """One zygote. Not thread-safe: one for each slot."""

    def __init__(self, role: str) -> None:
        """Start it; `role` is "student" or "judge". `wait_until_ready` says when it can be used."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(__file__).with_name("zygote.py")
        command = [sys.executable, "-P", "-S", "-B", "-s", str(script), role]
        command += [str(theirs.fileno()), sysconfig.get_path("purelib")]
        self._process = subprocess.Popen(
            command, env=_ENVIRONMENT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        self._control = ours
        self.role = role
        self.resident = 0

    @property
    def pid(self) -> int:
        """Of the zygote itself."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Block until it can fork. Raises GraderFault if it cannot be started."""
        self.resident = int(self._ask({"do": "hello"}, time_s=_START_TIME_S)[0]["resident"])

    def fork(self, *, scratch: Path, memory_mib: int, wall_time_s: float) -> "Run":
        """Start one run; it waits for its job behind its walls. Raises GraderFault."""
        job_read, job_write = os.pipe2(os.O_CLOEXEC)
        answer_read, answer_write = os.pipe2(os.O_CLOEXEC)
        output_read, output_write = os.pipe2(os.O_CLOEXEC)
        if self.role == "judge":
            with contextlib.suppress(OSError):
                fcntl.fcntl(job_write, fcntl.F_SETPIPE_SZ, JUDGE_PIPE_BYTES)
        order = {"do": "fork", "scratch": str(scratch), "memory_mib": memory_mib, "wall_time_s": wall_time_s}
        try:
            reply, received = self._ask(order, descriptors=[job_read, answer_write, output_write])
        except GraderFault:
            for one in (job_write, answer_read, output_read):
                os.close(one)
            raise
        finally:
            for one in (job_read, answer_write, output_write):
                os.close(one)
        limit = self.resident + memory_mib * _MIB
        return Run(self, reply["pid"], received[0], job=job_write, answer=answer_read, output=output_read, memory=limit)

    def reap(self, pid: int) -> int:
        """The wait status of a run that has been killed or has ended. Raises GraderFault."""
        return int(self._ask({"do": "reap", "pid": pid})[0]["status"])

    def bury(self, pid: int) -> None:
        """Let the zygote reap a killed run when it is gone; the verdict need not wait for that."""
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"do": "bury", "pid": pid}).encode())

    def close(self) -> None:
        """End it and its runs."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def alive(self) -> bool:
        """Is the process there?"""
        return self._process.poll() is None

    def _ask(
        self, order: dict[str, Any], *, descriptors: list[int] | None = None, time_s: float = _ANSWER_TIME_S
    ) -> tuple[dict[str, Any], list[int]]:
        try:
            self._control.settimeout(time_s)
            socket.send_fds(self._control, [json.dumps(order).encode()], descriptors or [])
            message, received, _, _ = socket.recv_fds(self._control, 4096, 1)
        except OSError as fault:
            raise GraderFault(f"the warm {self.role} process does not answer") from fault
        if not message:
            raise GraderFault(f"the warm {self.role} process has ended")
        return json.loads(message), received


@dataclass
class Output:
    """What a run printed, as far as it is kept."""

    keep_bytes: int
    abort_bytes: int
    kept: bytearray = field(default_factory=bytearray)
    seen_bytes: int = 0

    def add(self, part: bytes) -> None:
        """Keep the beginning, count the rest."""
        self.seen_bytes += len(part)
        self.kept += part[: max(0, self.keep_bytes - len(self.kept))]

    @property
    def truncated(self) -> bool:
        """Was there more than is kept?"""
        return self.seen_bytes > len(self.kept)

    def check(self) -> None:
        """Raise Ended if so much was printed that the run is to be ended."""
        if self.seen_bytes > self.abort_bytes:
            raise Ended("output")


class Run:
    """One forked process, from its job to its end."""

    def __init__(
        self, warm: WarmProcess, pid: int, pidfd: int, *, job: int, answer: int, output: int, memory: int
    ) -> None:
        """Of a fork that waits for its job; the descriptors are ours from now on. `memory`: bytes it may hold."""
        self._warm, self._pid, self._pidfd, self._memory = warm, pid, pidfd, memory
        self._job, self._answer, self._output = job, answer, output
        self._statm = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._ended = False
        self._sink: Output | None = None
        for one in (job, answer, output):
            os.set_blocking(one, False)

    def __enter__(self) -> Self:
        """Use it in a with block, so that nothing is left behind."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it, whatever it is doing, and let go of everything."""
        self.end()

    def alive(self) -> bool:
        """Is the process there? A pidfd becomes readable when it has ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pidfd, selectors.EVENT_READ)
            return not selector.select(0)

    def converse(self, order: Frame, *, deadline: float, output: Output | None = None) -> Frame:
        """
        Send a frame and wait for the next one.

        Args:
            order: for the run.
            deadline: on the monotonic clock, in seconds.
            output: where to put what it prints meanwhile; None throws it away.

        Raises:
            Ended: the time is up, a bound was passed, or the process is gone.
        """
        self._sink = output
        self._push(memoryview(order.encode()), deadline)
        return self.listen(deadline=deadline, output=output)

    def send(self, order: Frame, *, deadline: float) -> None:
        """Send a frame without waiting for an answer. Raises Ended."""
        self._push(memoryview(order.encode()), deadline)

    def _push(self, rest: memoryview, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._job, selectors.EVENT_WRITE)
            while rest:
                if not selector.select(max(0.0, min(_WATCH_S, deadline - time.monotonic()))):
                    self._check(deadline)
                    continue
                with contextlib.suppress(BlockingIOError):
                    try:
                        rest = rest[os.write(self._job, rest) :]
                    except BrokenPipeError:
                        raise self._gone() from None

    def listen(self, *, deadline: float, output: Output | None = None) -> Frame:
        """Wait for the next frame. Raises Ended."""
        self._sink = output
        buffer = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answer, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            while True:
                ready = selector.select(max(0.0, min(_WATCH_S, deadline - time.monotonic())))
                frame = self._read_answer(buffer) if any(key.fd == self._answer for key, _ in ready) else None
                if not self._drain(output) and self._output in selector.get_map():
                    selector.unregister(self._output)
                if frame is not None:
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

    def _drain(self, output: Output | None) -> bool:
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

    def _check(self, deadline: float, output: Output | None = None) -> None:
        """The watch that a run cannot reach: time, memory and output, from outside. Raises Ended."""
        if time.monotonic() >= deadline:
            raise Ended("time")
        if output is not None:
            output.check()
        with contextlib.suppress(OSError, IndexError, ValueError):
            resident_pages = int(os.pread(self._statm, 128, 0).split()[1])
            if resident_pages * _PAGE > self._memory:
                raise Ended("memory")

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
        for one in (self._job, self._answer, self._output, self._statm, self._pidfd):
            os.close(one)
        if wait:
            return self._warm.reap(self._pid)
        self._warm.bury(self._pid)
        return None

    def _linger(self) -> None:
        """
        A moment for a process that closed its pipe to end by itself, so that its own signal is what is seen.

        pidfds become readable when the process has ended.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self._pidfd, selectors.EVENT_READ)
            selector.select(0.2)
