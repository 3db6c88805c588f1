"""A slot uses the time that nobody waits in, and no other."""

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import cast

from app.clients.wakeups.local_sockets import LocalWorkerWakeup
from app.services.grading.queue import Lease
from app.worker.slot import Slot, WorkerContext
from graders.grader import Grader


class _SlotWithJobs(Slot):
    """A slot that is given its jobs, and tells what it does."""

    def __init__(self, jobs: list[str]) -> None:
        """`jobs`: those that wait."""
        self.stop = Event()
        self.did: list[str] = []
        self._jobs = jobs
        super().__init__(cast("WorkerContext", SimpleNamespace(stop=self.stop, scratch=Path())), number=0)

    def work(self) -> None:
        """Until nothing is left to do."""
        grader = SimpleNamespace(prepare=lambda _: self.did.append("forked ahead"))
        self._serve(cast("Grader", grader), cast("LocalWorkerWakeup", SimpleNamespace(wait=lambda _: self.stop.set())))

    def _claim(self) -> Lease | None:
        return cast("Lease", self._jobs.pop(0)) if self._jobs else None

    def _grade(self, _: Grader, lease: Lease) -> None:
        self.did.append(str(lease))


def test_runs_are_forked_ahead_only_when_no_job_waits() -> None:
    """A fork that is made ahead rehearses, which the jobs that wait would pay for."""
    slot = _SlotWithJobs(["first", "second"])
    slot.work()
    assert slot.did == ["first", "second", "forked ahead"]
