"""Logs are for operators: they say what failed and where, and nothing that belongs to a student."""

import json
import logging
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


def test_line_that_comes_over_and_over_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And then how often it came, when the minute is over; lines that differ are told each."""
    now_s = [1000.0]
    monkeypatch.setattr("app.logs.time.monotonic", lambda: now_s[0])
    logs.configure("json")
    log = structlog.get_logger()
    try:
        for number in range(1000):
            log.warning("database is away", request=f"r{number}")
            log.info("request", route="/a", status=429, ms=number)
            logging.getLogger("asyncio").error("no more descriptors for %s", "accept")
        for number in range(5):
            log.warning("job lost", submission=number)
            log.info("request", route="/a", status=200, ms=number)
        first = capsys.readouterr().err.splitlines()
        now_s[0] += 61
        log.info("something else")
        later = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    finally:
        structlog.reset_defaults()
    assert len(first) == 3 + 5 + 5
    counted = {one["line"]: one["repeated"] for one in later if one["event"] == "repeated"}
    assert counted == {"database is away": 999, "request": 999, "no more descriptors for accept": 999}
    assert later[-1]["event"] == "something else"
