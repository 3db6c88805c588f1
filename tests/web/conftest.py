"""A site with the first course and nobody who grades: the tests say themselves what a worker found."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.authoring import load_course
from app.db import Database
from app.main import create_app
from app.services.accounts import access
from app.services.exercises.catalogue import import_course
from app.services.grading import recording
from app.settings import ROOT, Settings
from app.web.http.site import Site
from graders.report import (
    CheckResult,
    CheckStatus,
    Misconception,
    Report,
    StudentError,
    TensorShape,
    Timing,
    Verdict,
)
from tests.conftest import first_course

EXERCISE = "token-and-position-embeddings"
SUBMISSIONS = f"/api/v1/exercises/{EXERCISE}/submissions"
PAGE = f"/exercises/{EXERCISE}"
BROWSER = {"Accept": "text/html,application/xhtml+xml"}


QUESTIONS = ROOT / "tests" / "courses" / "questions"


@pytest.fixture(scope="session")
def course_template(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an SQLite file that holds the first course with one exercise, to be copied."""
    path = tmp_path_factory.mktemp("course") / "kelolo.db"
    shutil.copyfile(sqlite_template, path)
    database = Database(f"sqlite:///{path}")
    with database.write() as session:
        import_course(session, first_course())
    database.dispose()
    return path


@pytest.fixture
def settings(tmp_path: Path, course_template: Path) -> Settings:
    """Return settings with a fresh database that holds the first course."""
    shutil.copyfile(course_template, tmp_path / "kelolo.db")
    return Settings(data=tmp_path, queue_limit=5)


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """Return a browser without a cookie, in front of a running site."""
    app = create_app(settings)
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def site(client: TestClient) -> Site:
    """Return the inside of the running site."""
    app: Any = client.app
    found: Site = app.state.site
    return found


@pytest.fixture
def questions(site: Site) -> None:
    """Bring a second course in: questions of every kind, in two lessons."""
    with site.database.write() as session:
        import_course(session, load_course(QUESTIONS))


@pytest.fixture
def token(site: Site) -> Callable[..., dict[str, str]]:
    """Return a function that makes an account, and gives the header that names it."""

    def make(email: str = "student@example.org", role: str = "student") -> dict[str, str]:
        with site.database.write() as session:
            access.add_user(session, email=email, role=role)
            return {"Authorization": f"Bearer {access.create_token(session, email=email)}"}

    return make


@pytest.fixture
def student(token: Callable[..., dict[str, str]]) -> dict[str, str]:
    """Return the header that names a student."""
    return token()


@dataclass
class Worker:
    """Plays the part of the worker, one step at a time."""

    site: Site

    def begin(self) -> tuple[Any, Any]:
        """Claim the next job."""
        with self.site.database.write() as session:
            lease = self.site.queue.claim(session, owner="elsewhere/0:1:1")
            assert lease is not None
            return lease, recording.grading_request(session, lease)

    def record(self, claim: tuple[Any, Any], report: Report) -> None:
        """Record what came of it."""
        lease, order = claim
        with self.site.database.write() as session:
            recording.record(session, lease, order, report, queue=self.site.queue, worker="elsewhere")

    def grade(self, report: Report) -> None:
        """Do both for the next job."""
        self.record(self.begin(), report)

    def answer(self) -> None:
        """Judge the next job, which is an answer to a question, as a worker would."""
        claim = self.begin()
        self.record(claim, claim[1].task.grade(claim[1].source))


@pytest.fixture
def worker(site: Site) -> Worker:
    """Return a worker that finds what the test tells it to find."""
    return Worker(site)


def make_report(verdict: Verdict = Verdict.FAILED, **facts: Any) -> Report:  # noqa: ANN401
    """Return a report in which `pos` is wrong, and whatever else is said."""
    values: dict[str, Any] = {
        "exercise": EXERCISE,
        "version": 1,
        "verdict": verdict,
        "checks": (
            CheckResult("tok", "`tok` holds the rows", CheckStatus.PASSED, ""),
            CheckResult("pos", "`pos` holds the rows", CheckStatus.FAILED, "It has one dimension too many."),
            CheckResult("h", "`h` is the sum", CheckStatus.NOT_RUN, "It needs `pos`."),
        ),
        "misconception": Misconception("mix-up", "You look up `x` in the position table."),
        "error": None,
        "report": "",
        "output": "",
        "output_truncated": False,
        "tensors": (TensorShape("pos", ("position", "channel"), (8, 31), (8, 32), "float32"),),
        "timing_ms": Timing(run=14.1, judge=9.8, total=23.9),
        "seed": "0" * 32,
    }
    return Report(**(values | facts))


def make_error(message: str = "index out of range in self") -> Report:
    """Return a report of an exception on line 4."""
    error = StudentError("IndexError", message, 4, "The table does not have that row.")
    return make_report(Verdict.ERROR, misconception=None, error=error)
