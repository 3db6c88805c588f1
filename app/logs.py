"""
What goes to the log, and how: one line an event, with its facts as fields.

A traceback names files, lines and the exception, and never the values of variables: those may be
a student's code, a cookie or a token. Lines of other people's libraries are told in the same form.

The same line over and over is folded: within `FOLD_S` it is told once, and then how often it came (`repeated`). Lines
are the same if they are so but for the request they belong to, the moment and the time it took; of a request that was
answered well, each is told. So a flood that is refused, or a fault that comes with each try, does not fill a disk.

What is done for a request carries its name as `request`; what is done for a submission, its id as `submission`, and
while it is graded the id of the run as `run`.
"""

import logging
import sys
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Form = Literal["auto", "console", "json"]

FOLD_S = 60.0
_MOST_FOLDED = 1024
"""Different lines that are counted at once; beyond these the oldest are told again."""
_OF_ITS_OWN = {"request", "ms", "timestamp", "exception", "exc_info", "_record", "_from_structlog", "repeated"}
_WELL_ANSWERED = 400


class Fold:
    """Lets a line through once in a while, and counts it else. Safe to share between threads."""

    def __init__(self) -> None:
        """Nothing was told yet."""
        self._told: dict[str, tuple[float, int, EventDict]] = {}
        self._lock = Lock()

    def __call__(self, _logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
        """Return the line, with how often it was left out before. Raises DropEvent."""
        if line.get("event") == "request" and int(line.get("status", 0)) < _WELL_ANSWERED:
            return line
        key, now_s = _likeness(line), time.monotonic()
        with self._lock:
            since_s, times, _ = self._told.pop(key, (-FOLD_S, 0, line))
            if now_s - since_s < FOLD_S:
                self._told[key] = (since_s, times + 1, line)
                raise structlog.DropEvent
            self._told[key] = (now_s, 0, line)
            while len(self._told) > _MOST_FOLDED:
                del self._told[next(iter(self._told))]
        return {**line, "repeated": times} if times else line

    def left_out(self) -> list[EventDict]:
        """Return the last of each line that was left out in a minute that is over, with how often."""
        now_s = time.monotonic()
        with self._lock:
            over = [key for key, (since_s, *_) in self._told.items() if now_s - since_s >= FOLD_S]
            folded = [self._told.pop(key) for key in over]
        return [{**line, "repeated": times} for _, times, line in folded if times]


def _likeness(line: Mapping[str, Any]) -> str:
    return repr(sorted((key, str(value)) for key, value in line.items() if key not in _OF_ITS_OWN))


def configure(form: Form = "auto") -> None:
    """Log to standard error: for eyes (`console`) or for machines (`json`); `auto` looks whether it is a terminal."""
    for_eyes = sys.stderr.isatty() if form == "auto" else form == "console"
    fold = Fold()
    facts: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _Sweep(fold),
        fold,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        *([] if for_eyes else [structlog.processors.format_exc_info]),
    ]
    renderer: Processor = _on_terminal() if for_eyes else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*facts, renderer],
        # Found anew for each line, because standard error may be redirected meanwhile.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    _take_in_others(facts, renderer)


class _Sweep:
    """Tells what was left out, beside the next line that comes when the minute is over."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold

    def __call__(self, _logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
        for one in self._fold.left_out():
            facts = {key: value for key, value in one.items() if key not in {*_OF_ITS_OWN, "event", "level"}}
            structlog.get_logger().warning("repeated", line=one["event"], repeated=one["repeated"], **facts)
        return line


def current_request() -> str | None:
    """Return the name of the request that is being answered; None outside of any."""
    name = structlog.contextvars.get_contextvars().get("request")
    return name if isinstance(name, str) else None


def _take_in_others(facts: list[Processor], renderer: Processor) -> None:
    """Have warnings and worse of other libraries, such as the web server's, told in the same form."""
    handler = _ToStandardError()
    removed: Processor = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=facts, processors=[removed, renderer]))
    root = logging.getLogger()
    for one in [one for one in root.handlers if isinstance(one, _ToStandardError)]:
        root.removeHandler(one)
    root.addHandler(handler)


class _ToStandardError(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to standard error as it is at that moment."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.setLevel(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + self.terminator)
        except structlog.DropEvent:
            return
        except Exception:  # noqa: BLE001  as the library does it: a line that cannot be told stops nobody
            self.handleError(record)


def _on_terminal() -> structlog.dev.ConsoleRenderer:
    # The usual formatter is Rich's, where that is installed, and it shows local variables.
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
