"""
The Report: what a student is told about one submission.

Frozen values only. `to_json` gives the shape that the command line prints, the API returns and
the database keeps; `from_json` reads it back. A student's fault is a value in here, never an
exception.
"""

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a submission ended, in one word."""

    PASSED = "passed"
    FAILED = "failed"  # ran to its end, but a check did not hold
    ERROR = "error"  # the student's code raised, or does not parse
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    CRASHED = "crashed"  # ended by a signal, or without handing anything over
    GRADER_FAULT = "grader_fault"  # ours: retried, then shown as ours and not counted


class CheckStatus(StrEnum):
    """What became of one check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not_run"  # could not be judged: something it needs is missing


@dataclass(frozen=True)
class CheckResult:
    """One line of the list that the student sees."""

    id: str
    title: str
    status: CheckStatus
    message: str


@dataclass(frozen=True)
class Misconception:
    """A known wrong idea whose outputs equal the student's on every trial."""

    tag: str
    message: str


@dataclass(frozen=True)
class StudentError:
    """An exception in the student's code, on the lesson's own data."""

    type: str
    message: str
    line: int | None  # counted from 1 in the student's part
    explanation: str


@dataclass(frozen=True)
class TensorShape:
    """What a named output looks like beside what it should look like."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    expected_shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Timing:
    """Milliseconds of each phase; `total` is from the first to the last."""

    queued: float = 0.0
    run: float = 0.0
    judge: float = 0.0
    total: float = 0.0


@dataclass(frozen=True)
class Report:
    """Everything that is said about one submission."""

    exercise: str
    version: int
    verdict: Verdict
    checks: tuple[CheckResult, ...]
    misconception: Misconception | None
    error: StudentError | None
    report: str  # the lesson's own printed check
    output: str  # what the student printed on the lesson's data
    output_truncated: bool
    tensors: tuple[TensorShape, ...]
    timing_ms: Timing
    seed: str
    state: str = "graded"
    note: str = ""  # one sentence about the verdict itself: which limit, which signal

    def queued_for(self, milliseconds: float) -> "Report":
        """The same report with the time spent waiting for a worker filled in."""
        timing = replace(
            self.timing_ms,
            queued=round(milliseconds, 1),
            total=round(self.timing_ms.total + milliseconds, 1),
        )
        return replace(self, timing_ms=timing)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-able values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> "Report":
        """Read a report that `to_json` wrote. Raises KeyError, TypeError or ValueError if it is not one."""
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name in raw}
        known["verdict"] = Verdict(raw["verdict"])
        known["checks"] = tuple(
            CheckResult(**{**check, "status": CheckStatus(check["status"])}) for check in raw["checks"]
        )
        known["misconception"] = Misconception(**raw["misconception"]) if raw["misconception"] else None
        known["error"] = StudentError(**raw["error"]) if raw["error"] else None
        known["tensors"] = tuple(_tensor_shape(tensor) for tensor in raw["tensors"])
        known["timing_ms"] = Timing(**raw["timing_ms"])
        return cls(**known)


def _tensor_shape(raw: dict[str, Any]) -> TensorShape:
    lists = {name: tuple(raw[name]) for name in ("dims", "shape", "expected_shape")}
    return TensorShape(name=raw["name"], dtype=raw["dtype"], **lists)
