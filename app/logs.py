"""
What goes to the log, and how: one line an event, with its facts as fields.

A traceback names files, lines and the exception, and never the values of variables: those may be
a student's code, a cookie or a token.
"""

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
            _on_terminal() if on_terminal else structlog.processors.JSONRenderer(),
        ],
        # Found anew for each line, because standard error may be redirected meanwhile.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def _on_terminal() -> structlog.dev.ConsoleRenderer:
    # The usual formatter is Rich's, where that is installed, and it shows local variables.
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
