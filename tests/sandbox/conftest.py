"""What the tests of the walls share: running hostile code, and seeing that the next submission passes."""

import dataclasses
from collections.abc import Callable, Iterator

import pytest

from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Task
from graders.trials import new_seed

REFUSALS = {"PermissionError", "OSError", "BlockingIOError", "FileNotFoundError", "RuntimeError", "gaierror"}


@pytest.fixture
def run(grader: Grader, task: Task) -> Callable[[str], Report]:
    """Give a function that runs code on the lesson's data, unjudged."""

    def ran(code: str) -> Report:
        return grader.execute(task, code)

    return ran


@pytest.fixture(scope="session")
def hasty(task: Task) -> Task:
    """Return the main exercise with a second of computing, for what never ends: it does so in one as in four."""
    return dataclasses.replace(task, exercise="hasty", limits=dataclasses.replace(task.limits, wall_time_s=1.0))


@pytest.fixture
def run_hastily(grader: Grader, hasty: Task) -> Callable[[str], Report]:
    """Give `run`, for what never ends."""
    return lambda code: grader.execute(hasty, code)


@pytest.fixture
def grade_hastily(grader: Grader, hasty: Task) -> Callable[[str], Report]:
    """Give `grade`, for what never ends."""
    return lambda source: grader.grade(hasty, source, seed=new_seed())


@pytest.fixture
def denied(run: Callable[[str], Report]) -> Callable[[str], None]:
    """Give a function that asserts that code meets a wall, as an exception of its own."""

    def refused(code: str) -> None:
        report = run(code)
        assert report.error is not None, f"it got through: {report.verdict} {report.output}"
        assert report.error.type in REFUSALS

    return refused


@pytest.fixture(autouse=True)
def _next_submission_passes(grader: Grader, task: Task, solution: str) -> Iterator[None]:
    """After each test, whatever it did, right code passes."""
    yield
    assert grader.grade(task, solution, seed="next").verdict is Verdict.PASSED
