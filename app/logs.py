"""What goes to the log, and how: one line an event, with its facts as fields."""

import sys

import structlog


def configure() -> None:
    """Log to standard error: for eyes on a terminal, as JSON for machines elsewhere."""
    on_terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if on_terminal else [structlog.processors.format_exc_info]),
            structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer(),
        ],
        # Found anew for each line, because standard error may be redirected meanwhile.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
