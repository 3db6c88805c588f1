"""Logs are for operators: they say what failed and where, and nothing that belongs to a student."""

import sys

import pytest
import structlog

from app import logs


@pytest.mark.parametrize("on_terminal", [True, False])
def test_traceback_shows_no_values_of_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, on_terminal: bool
) -> None:
    """A variable may hold a student's code, a cookie or a token."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: on_terminal)
    logs.configure()
    try:
        fail_with("S3CRET".lower())  # a traceback shows this line, and must not show its value
    except ValueError:
        structlog.get_logger().exception("request_failed")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().err
    assert "request_failed" in said
    assert "ValueError" in said
    assert "s3cret" not in said


def fail_with(token: str) -> None:
    """Raise while a local variable holds a token."""
    error = f"a token of {len(token)} characters"
    raise ValueError(error)
