"""The parent's side of a warm process: starting it, asking it for forks, ending it."""

import base64
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graders.faults import MachineFault
from graders.pool.sandboxed_process import Pipes, ResourceBounds, SandboxedProcess, process_id
from graders.protocol.fork_request import ForkRequest
from graders.reporting import plain_text
from graders.sandbox import bubblewrap, libraries, seccomp_list
from graders.sandbox.disk import CountedFolder, Disk, SizedDisk

_START_TIME_S = 60.0  # importing torch on a slow machine
_ANSWER_TIME_S = 10.0
_MIB = 1024 * 1024
_VIEW = "site-packages"  # in the scratch folder, links to what runs may read
JUDGE_PIPE_BYTES = 1024 * 1024  # what any process may give a pipe on a kernel as it comes

# Huge pages make the fork of a torch process several times cheaper; nothing else is in there.
_ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "OMP_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "PYTHONUNBUFFERED": "1",
}


def _command(role: str, socket_: int, scratch: Path, *, namespaces: bool, unsafe: bool) -> list[str]:
    """How a warm process is started."""
    here, view = Path(__file__).resolve().parent.parent, scratch / _VIEW
    interpreter = str(libraries.interpreter())  # not the environment's link to it, which needs its folder
    command = [interpreter, "-P", "-S", "-B", "-s", str(here / "zygote" / "__main__.py"), role, str(socket_)]
    command += [str(view), str(scratch)]
    command += ["unsafe"] if unsafe else []
    if not namespaces:
        return command
    command.append("own-world")
    return bubblewrap.wrapped(command, visible=[*libraries.packages(), here], writable=scratch)


def _programs(*, unsafe: bool) -> dict[str, str]:
    """The lists of system calls, for its first message. Raises OSError."""
    try:
        kinds = {"strict": seccomp_list.compile_filter(), "forking": seccomp_list.compile_filter(forks=True)}
    except OSError:
        if not unsafe:
            raise
        return {}
    return {kind: base64.b64encode(program).decode() for kind, program in kinds.items()}


class Forker:
    """Whoever forks when asked to: a warm process, or a judge's process with its exercise open. Not thread-safe."""

    def __init__(self, control: socket.socket, role: str, *, resident: int = 0, written: Disk | None = None) -> None:
        """
        Nothing is asked yet.

        Args:
            control: our end of its socket; ours from now on.
            role: "student" or "judge".
            resident: bytes that each fork shares with it.
            written: where it is a run itself, what its forks write in; of each other fork it is told.
        """
        self._control, self._written = control, written
        self._broken = False
        self.role = role
        self.resident = resident
        self.forks = 0

    def fork(self, request: ForkRequest, *, nested: socket.socket | None = None) -> SandboxedProcess:
        """
        Start one run; it waits for its job behind its walls.

        Args:
            request: what it is to be.
            nested: the socket by which it will fork in its turn, if it may.

        Raises:
            MachineFault: it cannot be started.
        """
        self.forks += 1
        job_read, job_write = os.pipe2(os.O_CLOEXEC)
        answer_read, answer_write = os.pipe2(os.O_CLOEXEC)
        output_read, output_write = os.pipe2(os.O_CLOEXEC)
        if self.role == "judge":
            with contextlib.suppress(OSError):
                fcntl.fcntl(job_write, fcntl.F_SETPIPE_SZ, JUDGE_PIPE_BYTES)
        given = [job_read, answer_write, output_write]
        try:
            more = [] if nested is None else [nested.fileno()]
            reply, (pidfd, *root) = self._ask(request.to_json(), descriptors=[*given, *more])
        except MachineFault:
            for one in (job_write, answer_read, output_read):
                os.close(one)
            raise
        finally:
            for one in given:
                os.close(one)
        pid = int(reply["pid"])
        if not root and isinstance(self._written, SizedDisk):
            root = [os.dup(self._written.root)]
        written = SizedDisk(root[0]) if root else CountedFolder(request.scratch, process_id(pidfd), request.uid)
        bounds = ResourceBounds(self.resident + request.memory_mib * _MIB, written)
        pipes = Pipes(job_write, answer_read, output_read)
        return SandboxedProcess(pidfd, pipes, bounds, reap=lambda: self.reap(pid), bury=lambda: self.bury(pid))

    def nested(self, request: ForkRequest) -> "tuple[SandboxedProcess, Forker]":
        """Start one run that forks in its turn. Raises MachineFault."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = self.fork(request, nested=theirs)
            except MachineFault:
                ours.close()
                raise
        return process, Forker(ours, self.role, resident=self.resident, written=process.written_in)

    def reap(self, pid: int) -> int:
        """The wait status of a run that has been killed or has ended. Raises MachineFault."""
        return int(self._ask({"do": "reap", "pid": pid})[0]["status"])

    def bury(self, pid: int) -> None:
        """Let a killed run be reaped when it is gone; the verdict need not wait for that."""
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"do": "bury", "pid": pid}).encode())

    def close(self) -> None:
        """Let go of it."""
        self._control.close()

    def _ask(
        self, request: Mapping[str, object], *, descriptors: list[int] | None = None, time_s: float = _ANSWER_TIME_S
    ) -> tuple[dict[str, Any], list[int]]:
        try:
            self._control.settimeout(time_s)
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors or [])
            message, received, _, _ = socket.recv_fds(self._control, 4096, 2)
        except OSError as fault:
            self._broken = True  # a late answer would be taken for that to the next question
            raise MachineFault(f"the warm {self.role} process does not answer") from fault
        if not message:
            raise MachineFault(f"the warm {self.role} process has ended")
        return json.loads(message), received


class WarmProcess(Forker):
    """One zygote. Not thread-safe: one for each slot."""

    def __init__(self, role: str, *, scratch: Path, namespaces: bool, unsafe: bool = False) -> None:
        """
        Start it; `wait_until_ready` says when it can be used.

        Args:
            role: "student" or "judge".
            scratch: the folder in which runs get their own.
            namespaces: put it into a world of its own, by bubblewrap.
            unsafe: let it do without walls that this machine lacks.

        Raises:
            MachineFault: a wall cannot be prepared.
        """
        try:
            libraries.make_view(scratch.resolve() / _VIEW)
            plain_text.hide(scratch)
            programs = _programs(unsafe=unsafe)
        except OSError as fault:
            raise MachineFault(f"a warm process cannot be started: {fault}") from fault
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            _command(role, theirs.fileno(), scratch.resolve(), namespaces=namespaces, unsafe=unsafe),
            env=_ENVIRONMENT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        ours.send(json.dumps(programs).encode())
        super().__init__(ours, role)

    @property
    def pid(self) -> int:
        """Of the zygote itself."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Block until it can fork. Raises MachineFault if it cannot be started."""
        self.resident = int(self._ask({"do": "hello"}, time_s=_START_TIME_S)[0]["resident"])

    def answers(self) -> bool:
        """Is it there and well?"""
        try:
            return self.alive() and "resident" in self._ask({"do": "hello"})[0]
        except MachineFault:
            return False

    def kill(self) -> None:
        """End it and its runs, from whichever thread; whoever waits for its answer then knows."""
        if self._process.poll() is None:
            # Bubblewrap that is killed in its first instants leaves behind what it has just cloned, which has left its
            # group already, and does not know yet whom to die with.
            below = _children(self._process.pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            for one in below:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(one, signal.SIGKILL)
                os.close(one)
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # whoever waits for an answer knows, whoever still holds it open
        self._process.wait()

    def close(self) -> None:
        """End it and its runs."""
        super().close()
        self.kill()

    def alive(self) -> bool:
        """Is the process there?"""
        return self._process.poll() is None and not self._broken


def _children(pid: int) -> list[int]:
    """Descriptors of the processes that a process has started; none where the kernel does not say."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # one may have ended meanwhile
        for one in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            found.append(os.pidfd_open(int(one)))  # noqa: PERF401  those before one that is gone are kept
    return found
