"""A real worker, with a real grader behind walls, loses no submission and grades none twice."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from app.authoring.exercise import LimitsSpec
from app.db import Database
from app.models import Account, ExerciseVersion, GradingResult, Job, Role
from app.services.exercises.catalogue import import_course
from app.services.grading.backend import queue_for, wakeups_for
from app.services.submissions.submissions import SubmissionState, state_of, submit
from app.settings import Settings
from app.worker import Supervisor
from graders.report import Report
from tests.conftest import first_course

# Each of these tests starts torch in several processes: one after the other is quicker.
pytestmark = pytest.mark.xdist_group("worker")

EXERCISE = "token-and-position-embeddings"
PATIENCE_S = 90.0
RIGHT = """
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""
SLOW = "import time\ntime.sleep(1.0)\n" + RIGHT
ENDLESS = "while True:\n    pass\n"


class School:
    """A database with the course and one student, and what the student does."""

    def __init__(self, database: Database, data: Path) -> None:
        """Import the course, and let a student in."""
        self.database = database
        url = database.url.render_as_string(hide_password=False)
        self.settings = Settings(data=data, database_url=url, workers=1)
        self._queue = queue_for(self.settings, database)
        self._wakeups = wakeups_for(self.settings, database)
        self._student = Account(email="ada@example.org", role=Role.STUDENT)
        with database.write() as session:
            session.add(self._student)
            import_course(session, first_course())

    def send(self, source: str, *, kind: str = "check") -> str:
        """Submit, ring, and return the submission's id."""
        with self.database.write() as session:
            sent = submit(
                session,
                account=self._student,
                exercise_id=EXERCISE,
                source=source,
                kind=kind,
                queue=self._queue,
            )
        self._wakeups.notify_workers()
        return sent.submission.id

    def when(self, submission_id: str, state: str) -> SubmissionState:
        """Wait until a submission has come to a state, and return where it stands then."""
        found: list[SubmissionState] = []

        def is_there() -> bool:
            with self.database.read() as session:
                found.append(state_of(session, account=self._student, submission_id=submission_id, queue=self._queue))
            return found[-1].state == state

        until(is_there)
        return found[-1]

    def report(self, submission_id: str) -> Report:
        """Wait until a submission is graded, and return its report."""
        report = self.when(submission_id, "graded").report
        assert report is not None
        return report

    def runs(self, submission_id: str) -> int:
        """Return how many runs of a submission were recorded."""
        of_submission = select(func.count()).where(GradingResult.submission_id == submission_id)
        with self.database.read() as session:
            return session.scalar(of_submission) or 0

    def jobs(self) -> list[Job]:
        """Return what is on the queue."""
        with self.database.read() as session:
            return list(session.scalars(select(Job)))


def until(happened: Callable[[], bool]) -> None:
    """Look again and again until something has happened; fail when that takes too long."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline_s, "waited too long"
        time.sleep(0.01)


@pytest.fixture
def school(sqlite_database: Database, tmp_path: Path) -> School:
    """Give a school on SQLite."""
    return School(sqlite_database, tmp_path)


@contextmanager
def working(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker process."""
    worker = subprocess.Popen([sys.executable, "-m", "app.worker"], env=os.environ | settings.environment())
    try:
        yield worker
    finally:
        worker.terminate()
        worker.wait(PATIENCE_S)


def test_worker_grades_what_is_sent(database: Database, tmp_path: Path) -> None:
    """Right code passes, a run shows its output, and nothing is left on the queue or the disk."""
    school = School(database, tmp_path)
    with working(school.settings):
        checked, run = school.send(RIGHT), school.send("print('hello')", kind="run")
        assert school.report(checked).verdict == "passed"
        assert school.report(run).output == "hello\n"
    assert school.jobs() == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_job_of_a_killed_worker_is_graded_by_the_next_once(school: School) -> None:
    """Kill -9 in the middle of a run costs the student some seconds, and nothing else."""
    with Supervisor(school.settings) as supervisor:
        submission = school.send(SLOW)
        school.when(submission, "running")
        killed = supervisor.worker_pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        assert school.report(submission).verdict == "passed"
        assert supervisor.worker_pid not in {None, killed}
    assert school.runs(submission) == 1
    assert school.jobs() == []


def test_worker_finishes_what_it_has_in_hand_before_it_ends(school: School) -> None:
    """SIGTERM in the middle of a run: the verdict still comes, and the process ends well."""
    with working(school.settings) as worker:
        submission = school.send(SLOW)
        school.when(submission, "running")
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0
    assert school.report(submission).verdict == "passed"


def test_worker_gives_back_what_it_cannot_finish_in_time(school: School) -> None:
    """SIGTERM during a long run: it waits again, as if it had never been tried."""
    give_time(school, LimitsSpec(wall_time_s=60.0))
    with working(school.settings) as worker:
        submission = school.send(ENDLESS)
        school.when(submission, "running")
        asked_s = time.monotonic()
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0
    assert time.monotonic() - asked_s < 15
    (job,) = school.jobs()
    assert (job.submission_id, job.state, job.tries) == (submission, "queued", 0)


def below(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that they have."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found: set[int] = set()
    while more := {one for one, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


@pytest.mark.parametrize(
    ("file", "has"), [("cmdline", b"zygote"), ("maps", b"libtorch")], ids=["its first instants", "its imports"]
)
def test_worker_that_is_stopped_while_it_starts_ends_at_once_and_says_nothing_of_it(
    school: School, file: str, has: bytes
) -> None:
    """Its warm processes are gone before the folder from which they import."""

    def has_come_so_far(pid: int) -> bool:
        try:
            return has in Path(f"/proc/{pid}/{file}").read_bytes()
        except OSError:
            return False

    worker = subprocess.Popen(
        [sys.executable, "-m", "app.worker"],
        env=os.environ | school.settings.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(lambda: any(has_come_so_far(one) for one in below(worker.pid)))
        warm = below(worker.pid)
        asked_s = time.monotonic()
    finally:
        worker.terminate()
        said, _ = worker.communicate(timeout=PATIENCE_S)
    assert worker.returncode == 0
    assert time.monotonic() - asked_s < 5
    assert "Traceback" not in said
    assert "slot failed" not in said
    until(lambda: not any(Path(f"/proc/{one}").exists() for one in warm))


def test_job_that_cannot_be_graded_is_given_up_and_the_next_is_graded(school: School) -> None:
    """After three tries the student is told that it is our fault; others are not held up."""
    with school.database.write() as session:
        good = session.scalars(select(ExerciseVersion.task)).one()
        session.execute(update(ExerciseVersion).values(task={"nothing": "that can be graded"}))
    broken = school.send(RIGHT)
    with working(school.settings):
        assert school.report(broken).verdict == "grader_fault"
        with school.database.write() as session:
            session.execute(update(ExerciseVersion).values(task=good))
        assert school.report(school.send(RIGHT)).verdict == "passed"
    assert school.runs(broken) == 1


SUPERVISE = """
import sys
from app.settings import Settings
from app.worker import Supervisor
with Supervisor(Settings()) as supervisor:
    while supervisor.worker_pid is None:
        pass
    print(supervisor.worker_pid, flush=True)
    sys.stdin.read()
"""


def test_worker_ends_with_the_process_that_started_it(school: School) -> None:
    """Kill -9 of the server leaves no worker behind, which would go on grading unseen."""
    server = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE],
        env=os.environ | school.settings.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    worker = Path("/proc", server.stdout.readline().strip())
    school.when(school.send(RIGHT), "graded")
    server.kill()
    server.communicate()
    until(lambda: not worker.exists() or "State:\tZ" in (worker / "status").read_text())


def give_time(school: School, limits: LimitsSpec) -> None:
    """Import the course anew, with other limits for its exercise."""
    course = first_course()
    lesson = course.lessons[0]
    exercise = lesson.exercises[0].model_copy(update={"limits": limits})
    lesson = lesson.model_copy(update={"exercises": [exercise]})
    with school.database.write() as session:
        import_course(session, course.model_copy(update={"lessons": [lesson]}))
