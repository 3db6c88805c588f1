"""What a program switches in its process is as before for the next trial."""

import os
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from graders.student.process_state import ProcessState

ENVIRONMENT = os.environ


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(os, "environ", ENVIRONMENT)  # whatever a test does to it
    state = ProcessState()
    yield
    state.restore()
    state.restore_torch()


def drawn() -> tuple[float, float, float]:
    """The next number of each global generator."""
    return np.random.rand(), random.random(), float(torch.rand(()))  # noqa: NPY002


def other_generator() -> None:
    """Another one in the place of numpy's global one."""
    np.random.set_bit_generator(np.random.MT19937(5))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "change",
    [
        lambda: None,
        lambda: np.random.seed(3),  # noqa: NPY002
        lambda: np.random.randn(1),  # noqa: NPY002  keeps a second number for the next call
        lambda: np.random.shuffle([1, 2, 3]),  # noqa: NPY002
        other_generator,
    ],
)
def test_each_trial_draws_the_same_numbers(change: Callable[[], object]) -> None:
    """Whatever the trial before has drawn or seeded, in any of the three libraries."""
    state = ProcessState()
    first = drawn()
    for _ in range(2):
        change()
        state.restore()
        state.restore_torch()
        assert drawn() == first


def test_environment_of_the_process_is_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed, added to, emptied or replaced: what the next trial and its processes see is as it was."""
    monkeypatch.setenv("KEPT", "naïve")
    state, before = ProcessState(), dict(os.environ)
    os.environ["KEPT"] = "changed"
    os.environ["ADDED"] = "1"
    state.restore()
    assert dict(os.environ) == before
    os.environ.clear()
    state.restore()
    assert dict(os.environ) == before
    os.environ = {}  # type: ignore[assignment]  # noqa: B003
    state.restore()
    assert os.environ is ENVIRONMENT
    assert dict(os.environ) == before
    assert os.getenv("KEPT") == "naïve"
