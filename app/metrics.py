"""
What this process has counted since it started, for those who watch the site.

Whoever does something that is counted calls one line of here; nothing is written then. Every few seconds the process
adds what is new to the totals in the database (`app.services.metrics`), and any web server answers with those.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()
WRITE_EVERY_S = 10.0

_REQUESTS = Counter(
    "kelolo_http_requests",
    "Requests answered, by template of the route.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
_REQUEST_TIME = Histogram(
    "kelolo_http_request_seconds",
    "Time until an answer was complete; streams and waits for a verdict are left out.",
    ["route"],
    buckets=(0.005, 0.025, 0.1, 0.3, 1, 3, 10),
    registry=REGISTRY,
)
_PHASES = Histogram(
    "kelolo_grading_phase_seconds",
    "Time of each phase of grading: queued (stored until claimed), run, judge.",
    ["phase"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
    registry=REGISTRY,
)
_FAULTS = Counter(
    "kelolo_grader_faults",
    "Tries to grade that failed by a fault of ours; most go well when tried again.",
    registry=REGISTRY,
)
_RESTARTS = Counter(
    "kelolo_warm_process_restarts", "Warm processes started in the place of another.", registry=REGISTRY
)
_DENIALS = Counter(
    "kelolo_quota_denials", "Requests refused because a limit was reached, by rule.", ["rule"], registry=REGISTRY
)
_ANSWERS = Counter(
    "kelolo_tutor_answers", "Messages to the tutor, by what came of them.", ["outcome"], registry=REGISTRY
)

# Prometheus counts what is added to a sample that it has seen: one that first appears as 1 would hide that first time.
for _rule in ("checks", "tutor_messages", "tutor_failures"):
    _DENIALS.labels(_rule)
for _outcome in (
    *("settled", "late", "stopped", "fault", "timeout", "busy", "unreachable"),
    *("refused", "malformed", "cut-off", "endless", "empty"),
):
    _ANSWERS.labels(_outcome)


def request_answered(*, method: str, route: str, status: int, seconds: float | None) -> None:
    """A request was answered; `seconds` is None where the time says nothing, as of a stream."""
    _REQUESTS.labels(method, route, str(status)).inc()
    if seconds is not None:
        _REQUEST_TIME.labels(route).observe(seconds)


def graded(**phases_ms: float) -> None:
    """A submission was graded; how long each phase took."""
    for phase, took_ms in phases_ms.items():
        _PHASES.labels(phase).observe(took_ms / 1000)


def grader_failed() -> None:
    """A try to grade failed, and not by the student's fault."""
    _FAULTS.inc()


def warm_processes_restarted(number: int) -> None:
    """So many warm processes had to be replaced."""
    _RESTARTS.inc(number)


def quota_denied(rule: str) -> None:
    """A request was refused because of a limit."""
    _DENIALS.labels(rule).inc()


def tutor_answered(outcome: str) -> None:
    """A message to the tutor has ended: `settled`, or the reason for which it was given back."""
    _ANSWERS.labels(outcome).inc()


class Unwritten:
    """What was counted and is not in the database yet."""

    def __init__(self) -> None:
        """Nothing was written yet."""
        self._written: dict[str, float] = {}
        self._lock = Lock()

    @contextmanager
    def taken(self) -> Iterator[dict[str, float]]:
        """Give what is new, by name of sample; it counts as written if all goes well in `with`."""
        with self._lock:
            now = _samples()
            yield {
                key: value - self._written.get(key, 0)
                for key, value in now.items()
                if value != self._written.get(key, 0)
            }
            self._written = now


UNWRITTEN = Unwritten()


def beginnings() -> dict[str, float]:
    """Return 0 for each counter's sample that there can be, as far as this process knows: what is told before any."""
    return {
        sample_key(sample.name, sample.labels): 0.0
        for metric in REGISTRY.collect()
        if metric.type == "counter"
        for sample in metric.samples
        if sample.name.endswith("_total")
    }


def sample_key(name: str, labels: dict[str, str]) -> str:
    """Return what a sample is called in the database."""
    return json.dumps([name, dict(sorted(labels.items()))], separators=(",", ":"))


def sample_of(key: str) -> tuple[str, dict[str, str]]:
    """Return the sample that is called so."""
    name, labels = json.loads(key)
    return str(name), {str(label): str(value) for label, value in labels.items()}


def _samples() -> dict[str, float]:
    return {
        sample_key(sample.name, sample.labels): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.value and not sample.name.endswith("_created")
    }
