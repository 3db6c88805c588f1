"""
The Report: the outcome of one submission, as its student reads it.

Frozen values only. `to_json` gives the shape that the command line prints, the API returns and
the database keeps; `from_json` reads it back. A student's fault is a value in here, never an
exception.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import NotRequired, TypedDict, cast


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


class CheckResultJson(TypedDict):
    """A `CheckResult` as JSON."""

    id: str
    title: str
    status: str
    message: str


class MisconceptionJson(TypedDict):
    """A `Misconception` as JSON."""

    tag: str
    message: str


class StudentErrorJson(TypedDict):
    """A `StudentError` as JSON."""

    type: str
    message: str
    line: int | None
    explanation: str


class TensorShapeJson(TypedDict):
    """A `TensorShape` as JSON."""

    name: str
    dims: Sequence[str]
    shape: Sequence[int]
    expected_shape: Sequence[int]
    dtype: str


class TimingJson(TypedDict):
    """A `Timing` as JSON."""

    queued: float
    run: float
    judge: float
    total: float


class ReportJson(TypedDict):
    """A `Report` as JSON."""

    exercise: str
    version: int
    verdict: str
    checks: Sequence[CheckResultJson]
    misconception: MisconceptionJson | None
    error: StudentErrorJson | None
    report: str
    output: str
    output_truncated: bool
    tensors: Sequence[TensorShapeJson]
    timing_ms: TimingJson
    seed: str
    state: NotRequired[str]
    note: NotRequired[str]


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

    def to_json(self) -> ReportJson:
        """The report as JSON-able values."""
        return cast("ReportJson", asdict(self))

    @classmethod
    def from_json(cls, raw: ReportJson) -> "Report":
        """Read a report that `to_json` wrote. Raises KeyError, TypeError or ValueError if it is not one."""
        misconception, error = raw["misconception"], raw["error"]
        return cls(
            exercise=raw["exercise"],
            version=raw["version"],
            verdict=Verdict(raw["verdict"]),
            checks=tuple(_check_result(one) for one in raw["checks"]),
            misconception=Misconception(**misconception) if misconception else None,
            error=StudentError(**error) if error else None,
            report=raw["report"],
            output=raw["output"],
            output_truncated=raw["output_truncated"],
            tensors=tuple(_tensor_shape(tensor) for tensor in raw["tensors"]),
            timing_ms=Timing(**raw["timing_ms"]),
            seed=raw["seed"],
            state=raw.get("state", "graded"),
            note=raw.get("note", ""),
        )


def _check_result(raw: CheckResultJson) -> CheckResult:
    return CheckResult(raw["id"], raw["title"], CheckStatus(raw["status"]), raw["message"])


def _tensor_shape(raw: TensorShapeJson) -> TensorShape:
    return TensorShape(
        name=raw["name"],
        dims=tuple(raw["dims"]),
        shape=tuple(raw["shape"]),
        expected_shape=tuple(raw["expected_shape"]),
        dtype=raw["dtype"],
    )
