"""Whatever is killed or restarted, what was taken in is graded, once and rightly."""

import subprocess
import sys

import pytest

from app.settings import ROOT

# They keep all cores busy, so they take turns with what starts torch.
pytestmark = pytest.mark.xdist_group("worker")


def test_nothing_is_lost_while_processes_and_connections_are_killed() -> None:
    """Webs, workers and the database's processes get SIGKILL at random, and PostgreSQL is restarted."""
    figures = trial("--seconds", "60")
    assert "PostgreSQL restarted" in figures


def test_nothing_is_lost_in_a_rolling_restart() -> None:
    """One web or worker after the other is restarted in good order, each within ten seconds, while users send."""
    figures = trial("--seconds", "30", "--gently")
    assert "restarted in good order" in figures


def trial(*options: str) -> str:
    """Run the script, and return what it printed, if all was well."""
    script = [sys.executable, "-m", "tools.chaos", *options]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout
