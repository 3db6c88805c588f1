"""Keeping a worker running for as long as the web server does."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Thread
from types import TracebackType
from typing import Self

import structlog

from app.settings import Settings
from app.worker.sandbox_check import REFUSED

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
# One that has lived this long did start well: whatever ended it is new trouble.
HEALTHY_AFTER_S = 30.0
# A little more than a worker takes to finish or give back what it has in hand.
PATIENCE_S = 12.0

log = structlog.get_logger()


def _nothing() -> None:
    """Nobody asked to be told."""


class Supervisor:
    """
    Starts a worker as a child process, and another whenever it dies.

    Use it in `with`, outside any event loop. The child is made by exec, not by a bare fork, so
    it shares neither locks nor connections with us; and it ends with us even if we are killed.
    """

    def __init__(self, settings: Settings, *, on_refusal: Callable[[], None] = _nothing) -> None:
        """
        Prepare; nothing is started yet.

        Args:
            settings: the worker's too.
            on_refusal: called if the worker will not grade on this machine. It has said why.
        """
        self._settings = settings
        self._on_refusal = on_refusal
        self.refused = False
        self._stop_bell = os.eventfd(0, os.EFD_CLOEXEC)
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._keep_running, name="supervisor", daemon=True)

    @property
    def worker_pid(self) -> int | None:
        """The process number of the worker that runs now; None between two."""
        child = self._child
        return child.pid if child is not None and child.returncode is None else None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ask the worker to end, and wait until it has."""
        os.eventfd_write(self._stop_bell, 1)
        self._thread.join()
        os.close(self._stop_bell)

    def _keep_running(self) -> None:
        # The kernel ties the child's end to the thread that started it: always this one, which
        # ends only after the child.
        pause_s = FIRST_PAUSE_S
        while True:
            started_s = time.monotonic()
            self._child = child = self._start()
            if self._is_to_stop(child):
                _end(child)
                return
            status = child.wait()
            if status == REFUSED:
                self.refused = True
                self._on_refusal()
                return
            if time.monotonic() - started_s > HEALTHY_AFTER_S:
                pause_s = FIRST_PAUSE_S
            log.warning("worker died", status=status, restart_in_s=pause_s)
            if select.select([self._stop_bell], [], [], pause_s)[0]:
                return
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _is_to_stop(self, child: subprocess.Popen[bytes]) -> bool:
        """Wait until we are asked to stop (True) or the child has ended (False)."""
        pidfd = os.pidfd_open(child.pid)
        try:
            asked, _, _ = select.select([self._stop_bell, pidfd], [], [])
        finally:
            os.close(pidfd)
        return self._stop_bell in asked

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "app.worker", "--parent", str(os.getpid())],
            env=self._settings.worker_environment(os.environ),
            stdin=subprocess.DEVNULL,
            # Ctrl-C on the terminal is for us alone; we then tell the worker in good order.
            start_new_session=True,
        )


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        log.warning("worker did not end in time and is killed")
        child.kill()
        child.wait()
