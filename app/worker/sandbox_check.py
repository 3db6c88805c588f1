"""Checking the sandbox before the first student's code runs, and refusing to go on where a layer fails."""

from threading import Lock

import structlog

from app.errors import AppError
from graders.grader import Grader
from graders.self_test import LayerResult, required_missing, run_self_test

REFUSED = 78
"""A worker's exit code when it refuses to grade: `EX_CONFIG` of sysexits.h. Starting it again would not help."""

log = structlog.get_logger()


class SandboxIncomplete(AppError):
    """A layer of the sandbox that the kernel said it would put up does not hold."""

    title = "This machine cannot run students' code safely"
    message = (
        "Tried in a real run, {layers} did not hold: a student's code could {actions}. `kelolo sandbox` shows all "
        "walls. Kelolo grades nothing here, unless it is started with --unsafe on a loopback address."
    )


class SandboxCheck:
    """The sandbox's self-test: run once a worker, however many slots it has."""

    def __init__(self, *, unsafe: bool) -> None:
        """`unsafe`: go on whatever the self-test finds."""
        self.unsafe = unsafe
        self._lock = Lock()
        self._findings: list[LayerResult] | None = None

    def run(self, grader: Grader) -> None:
        """Run the self-test, unless that was done. Raises SandboxIncomplete, GraderFault."""
        with self._lock:
            if self._findings is None:
                self._findings = run_self_test(grader)
        missing = required_missing(self._findings)
        if not missing:
            return
        layers = ", ".join(sorted({one.wall for one in missing}))
        actions = ", ".join(sorted({one.action for one in missing}))
        if not self.unsafe:
            raise SandboxIncomplete(layers=layers, actions=actions)
        log.warning("students' code runs in an incomplete sandbox", layers=layers, actions=actions)

    def to_json(self) -> list[dict[str, str]]:
        """Return the findings as the database keeps them; none before the self-test ran."""
        return [one.to_json() for one in self._findings or []]
