"""
ProcessPool to run in: forks of the two warm processes, each with its user and its folder.

What a submission needs is forked ahead when there is time. A warm process is replaced when it has died, when
it does not answer, after a run that did not end cleanly and left it silent, and after so many forks.
"""

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from graders.faults import MachineFault
from graders.pool.sandboxed_process import SandboxedProcess
from graders.pool.warm_process import Forker, WarmProcess
from graders.protocol.fork_request import ForkRequest
from graders.sandbox import bubblewrap
from graders.sandbox.folders import remove_tree
from graders.sandbox.identity import uid_for

ROLES = ("student", "judge")
FORKS_BEFORE_NEW = 5_000  # a warm process is replaced after so many, whatever it looks like
_numbers = itertools.count()


@dataclass(frozen=True)
class Budget:
    """What one run may use."""

    memory_mib: int
    wall_time_s: float


@dataclass(frozen=True)
class PooledProcess:
    """A forked run behind its walls, with the folder it may write in."""

    process: SandboxedProcess
    folder: Path
    request: ForkRequest
    forker: Forker | None = None  # of a judge: it opens an exercise, and forks for each submission to it

    @property
    def budget(self) -> Budget:
        """What it may use."""
        return Budget(self.request.memory_mib, self.request.wall_time_s)


class ProcessPool:
    """The places of one slot. Not thread-safe, but for `abandon`."""

    def __init__(self, scratch: Path, *, namespaces: bool | None = None, unsafe: bool = False) -> None:
        """
        Nothing is started yet.

        Args:
            scratch: where each run's own folder is made; created if missing.
            namespaces: put the warm processes into worlds of their own; None where that is possible.
            unsafe: do without walls that this machine lacks.
        """
        self._scratch = scratch.resolve()
        self.namespaces = not bubblewrap.unavailable() if namespaces is None else namespaces
        self._unsafe = unsafe
        self._uid = uid_for(next(_numbers))
        self._warm: dict[str, WarmProcess] = {}
        self._spare: dict[str, PooledProcess] = {}
        self.restarts = 0
        self._left: list[Path] = []  # folders of runs that have ended
        self._starting = Lock()
        self._is_abandoned = False

    def open(self) -> None:
        """Start the warm processes: some seconds. Raises MachineFault."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        try:
            for warm in [self._start(role) for role in ROLES]:
                warm.wait_until_ready()
        except BaseException:  # Ctrl-C as well: what is left would import from a folder that is being removed
            self.close()
            raise

    def close(self) -> None:
        """End everything."""
        for pooled in self._spare.values():
            self.leave(pooled)
        self.tidy()
        for warm in self._warm.values():
            warm.close()
        self._spare.clear()
        self._warm.clear()

    def abandon(self) -> None:
        """
        Kill the warm processes, and start no others. Whoever waits for one, in another thread, has a MachineFault.

        The one thing here that may be called from any thread; `close` is still to be called by the owner.
        """
        with self._starting:
            self._is_abandoned = True
            for warm in list(self._warm.values()):  # its owner may be closing meanwhile
                warm.kill()

    def prepare(self, role: str, budget: Budget) -> None:
        """Fork the next run of a kind ahead. Raises MachineFault."""
        if role not in self._spare:
            self._spare[role] = self._fork(role, budget)

    @contextmanager
    def take(self, role: str, budget: Budget) -> Iterator[SandboxedProcess]:
        """A run that waits for its job. It is gone at the end; what it wrote stays until `tidy`."""
        pooled = self.enter(role, budget)
        try:
            yield pooled.process
        finally:
            self.leave(pooled)

    def enter(self, role: str, budget: Budget) -> PooledProcess:
        """A place whose run waits for its job; to be left by `leave`. Raises MachineFault."""
        pooled = self._spare.pop(role, None)
        if pooled is not None and (pooled.budget != budget or not pooled.process.alive()):
            self.leave(pooled)
            pooled = None
        if pooled is None:
            self.tidy()  # nobody had time to
            pooled = self._fork(role, budget)
        return pooled

    def tidy(self) -> None:
        """Remove what the runs that have ended wrote: milliseconds, for which no verdict should wait."""
        while self._left:
            remove_tree(self._left.pop())

    def leave(self, pooled: PooledProcess) -> None:
        """End a run; what it wrote stays until `tidy`."""
        if pooled.forker is not None:
            pooled.forker.close()
        pooled.process.end()
        self._left.append(pooled.folder)

    def look_after(self, role: str) -> None:
        """After a run that did not end cleanly: replace its warm process unless it answers. Raises MachineFault."""
        if not self._warm[role].answers():
            self._replace(role)

    def _fork(self, role: str, budget: Budget) -> PooledProcess:
        """A new run; a warm process that has died or done its share is replaced. Raises MachineFault."""
        if not self._warm[role].alive() or self._warm[role].forks >= FORKS_BEFORE_NEW:
            self._replace(role)
        folder = self._folder()
        request = ForkRequest(folder, self._uid, budget.memory_mib, budget.wall_time_s)
        try:
            try:
                return self._forked(role, folder, request)
            except MachineFault:
                self._replace(role)
                return self._forked(role, folder, request)
        except MachineFault:
            remove_tree(folder)
            raise

    def _forked(self, role: str, folder: Path, request: ForkRequest) -> PooledProcess:
        if role == "judge":
            process, forker = self._warm[role].nested(request)
            return PooledProcess(process, folder, request, forker)
        return PooledProcess(self._warm[role].fork(request), folder, request)

    def _folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=self._scratch))
        if self._uid is not None:
            os.chown(folder, self._uid, self._uid)
        return folder

    def _replace(self, role: str) -> None:
        self.restarts += 1
        self._start(role).wait_until_ready()

    def _start(self, role: str) -> WarmProcess:
        if role in self._spare:
            self.leave(self._spare.pop(role))
        if role in self._warm:
            self._warm.pop(role).close()
        with self._starting:
            if self._is_abandoned:
                raise MachineFault("no warm process is started any more")
            warm = WarmProcess(role, scratch=self._scratch, namespaces=self.namespaces, unsafe=self._unsafe)
            self._warm[role] = warm
        return warm
