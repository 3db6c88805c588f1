"""
What goes to the log, and how: one line an event, with its facts as fields.

A traceback names files, lines and the exception, and never the values of variables: those may be
a student's code, a cookie or a token. Lines of other people's libraries are told in the same form.

What is done for a request carries its name as `request`; what is done for a submission, its id as `submission`, and
while it is graded the id of the run as `run`.
"""

import logging
import sys
from typing import Literal

import structlog
from structlog.typing import Processor

Form = Literal["auto", "console", "json"]


def configure(form: Form = "auto") -> None:
    """Log to standard error: for eyes (`console`) or for machines (`json`); `auto` looks whether it is a terminal."""
    for_eyes = sys.stderr.isatty() if form == "auto" else form == "console"
    facts: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
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
        self.stream = sys.stderr
        super().emit(record)


def _on_terminal() -> structlog.dev.ConsoleRenderer:
    # The usual formatter is Rich's, where that is installed, and it shows local variables.
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
