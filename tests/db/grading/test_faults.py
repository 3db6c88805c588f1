"""A fault of ours costs those who wait as little as it can, whoever brings it about, and however often."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from app.clients.wakeups.port import Wakeups, WorkerWakeup
from app.db import Database
from app.models import Account, GradingResult, Job, Submission
from app.services.grading import recording
from app.services.grading.queue import MAX_TRIES, GradingQueue
from app.worker.sandbox_check import SandboxCheck
from app.worker.slot import FAULTS_BEFORE_NEW_GRADER, Slot, WorkerContext
from graders.faults import GraderFault, MachineFault
from graders.grader import Grader
from graders.report import Report

Send = Callable[..., Submission]
LASTING, MACHINE = GraderFault("the exercise's own solution fails"), MachineFault("cannot fork")


class FaultyGrader:
    """Fails in the ways it was told to, one after the other, and then gives a report."""

    restarts = 0

    def __init__(self, report: Report) -> None:
        """`report`: what it gives when nothing fails."""
        self.faults: list[Exception] = []
        self.seeds: list[str] = []
        self._report = report

    def grade(self, _task: object, _source: str, *, seed: str) -> Report:
        """Fail, or give the report."""
        self.seeds.append(seed)
        if self.faults:
            raise self.faults.pop(0)
        return self._report

    def prepare(self, _limits: object) -> None:
        """Nothing to fork ahead."""


class WorkingSlot(Slot):
    """A slot that stops when no job waits, and whose grader is at hand."""

    def work(self, grader: FaultyGrader) -> bool:
        """Work until nothing waits; whether the slot would go on with this grader."""
        self._context.stop.clear()
        nobody = SimpleNamespace(wait=lambda _: self._context.stop.set())
        with capture_logs():
            self._serve(cast("Grader", grader), cast("WorkerWakeup", nobody))
        return self._faults < FAULTS_BEFORE_NEW_GRADER


@pytest.fixture
def slot(database: Database, queue: GradingQueue) -> WorkingSlot:
    """Return a slot at the database, whose wakeups go nowhere."""
    silent = SimpleNamespace(notify_webs=lambda *_: None, notify_workers=lambda: None)
    context = WorkerContext(
        database=database,
        queue=queue,
        wakeups=cast("Wakeups", silent),
        scratch=Path(),
        owner="another-machine/0/0:1:1",
        stop=Event(),
        sandbox_check=SandboxCheck(unsafe=False),
        ready=lambda: None,
    )
    return WorkingSlot(context, number=0)


@pytest.fixture
def grader(report: Report) -> FaultyGrader:
    """Return a grader that fails as told."""
    return FaultyGrader(report)


@pytest.fixture
def verdicts(database: Database) -> Callable[[], list[str]]:
    """Return a function that lists the verdicts recorded."""

    def found() -> list[str]:
        with database.read() as session:
            assert session.scalars(select(Job)).all() == []
            return list(session.scalars(select(GradingResult.verdict).order_by(GradingResult.finished_at)))

    return found


Verdicts = Callable[[], list[str]]


def test_fault_that_repeats_with_the_same_seed_is_recorded_at_once(
    slot: WorkingSlot, grader: FaultyGrader, send: Send, verdicts: Verdicts
) -> None:
    """It is tried twice and no more, with one seed, and never ends the slot however many there are."""
    many = 3 * FAULTS_BEFORE_NEW_GRADER
    grader.faults = [LASTING] * (2 * many)
    for _ in range(many):
        send()
    assert slot.work(grader)
    assert verdicts() == ["grader_fault"] * many
    assert grader.seeds[0] == grader.seeds[1]
    # the first few of an account are tried twice, the others once
    assert len(grader.seeds) == many + recording.FAULTS_BEFORE_NO_RETRY


def test_fault_that_does_not_repeat_is_never_seen(
    slot: WorkingSlot, grader: FaultyGrader, send: Send, verdicts: Verdicts, report: Report
) -> None:
    """The second try gives the verdict, without another place in the queue."""
    grader.faults = [RuntimeError("what nobody foresaw")]
    send()
    assert slot.work(grader)
    assert verdicts() == [report.verdict.value]


def test_fault_of_the_machine_is_tried_again_and_calls_for_a_new_grader(
    slot: WorkingSlot, grader: FaultyGrader, send: Send, verdicts: Verdicts
) -> None:
    """Three tries from the queue each; after a few in a row the slot is to make itself a new grader."""
    grader.faults = [MACHINE] * FAULTS_BEFORE_NEW_GRADER
    send()
    send()
    assert not slot.work(grader)
    assert len(grader.seeds) == FAULTS_BEFORE_NEW_GRADER > MAX_TRIES


def test_account_with_many_faults_is_not_tried_again(
    slot: WorkingSlot,
    grader: FaultyGrader,
    send: Send,
    verdicts: Verdicts,
    new_account: Callable[..., Account],
) -> None:
    """What fails for it is recorded at the first try and says nothing of the grader; others have all their tries."""
    grader.faults = [LASTING] * (2 * recording.FAULTS_BEFORE_NO_RETRY)
    for _ in range(recording.FAULTS_BEFORE_NO_RETRY):
        send()
    slot.work(grader)
    grader.faults, grader.seeds = [MACHINE] * FAULTS_BEFORE_NEW_GRADER, []
    for _ in range(FAULTS_BEFORE_NEW_GRADER):
        send()
    assert slot.work(grader)
    assert len(grader.seeds) == FAULTS_BEFORE_NEW_GRADER
    grader.faults, grader.seeds = [MACHINE], []
    send(account=new_account())
    assert slot.work(grader)
    assert len(grader.seeds) == 2
    assert verdicts().count("grader_fault") == recording.FAULTS_BEFORE_NO_RETRY + FAULTS_BEFORE_NEW_GRADER
