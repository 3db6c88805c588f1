"""Trying the walls before the first student's code runs, and refusing to go on where one does not hold."""

from dataclasses import asdict
from threading import Lock
from typing import Any

import structlog

from app.errors import AppError
from graders.grader import Grader
from graders.self_test import LayerResult, required_missing, run_self_test

REFUSED = 78
"""A worker's exit code when it refuses to grade: `EX_CONFIG` of sysexits.h. Starting it again would not help."""

log = structlog.get_logger()


class WallsBroken(AppError):
    """A wall that the kernel said it would put up does not hold."""

    title = "This machine cannot run students' code safely"
    message = (
        "Tried in a real run, {walls} did not hold: a student's code could {deeds}. `kelolo sandbox` shows all walls. "
        "Kelolo grades nothing here, unless it is started with --unsafe on a loopback address."
    )


class Walls:
    """What came of trying the walls: once a worker, however many slots it has."""

    def __init__(self, *, unsafe: bool) -> None:
        """`unsafe`: go on whatever is found."""
        self.unsafe = unsafe
        self._lock = Lock()
        self._findings: list[LayerResult] | None = None

    def prove(self, grader: Grader) -> None:
        """Try them, unless that was done. Raises WallsBroken, GraderFault."""
        with self._lock:
            if self._findings is None:
                self._findings = run_self_test(grader)
        missing = required_missing(self._findings)
        if not missing:
            return
        told = {"walls": _listed({one.wall for one in missing}), "deeds": _listed({one.action for one in missing})}
        if not self.unsafe:
            raise WallsBroken(**told)
        log.warning("students' code is run without all walls", **told)

    def to_json(self) -> list[dict[str, Any]]:
        """What was found."""
        return [asdict(one) for one in self._findings or []]


def _listed(words: set[str]) -> str:
    return ", ".join(sorted(words))
