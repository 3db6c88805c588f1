"""The sample that warm processes warm up with is a right one, and leaves nothing behind."""

import os
import sys
from pathlib import Path

import pytest
import torch

from graders.judge import warmup as judging
from graders.student import warmup as running


def test_rehearsal_passes_all_its_checks() -> None:
    """A warm-up that stops half-way would leave the rest of the way cold."""
    outcome = judging.run_sample()
    checks = outcome["checks"]
    assert isinstance(checks, list)
    assert [one["status"] for one in checks] == ["passed"] * 8
    assert outcome["report"] == "[32, 8, 32] 896 True\n"


def test_rehearsal_leaves_nothing_behind(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OutputStreams, randomness and folder are as before, and what is printed afterwards arrives."""
    monkeypatch.chdir(tmp_path)
    before = sys.stdout, torch.get_rng_state().tolist()
    running.run_sample()
    os.write(1, b"heard")
    assert (sys.stdout, torch.get_rng_state().tolist()) == before
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().out == "heard"
