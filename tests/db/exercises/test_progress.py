"""How far somebody has come: new, tried or done, and what comes next."""

from collections.abc import Callable

import pytest

from app.db import Database
from app.models import Account, ExerciseKind, Submission, SubmissionKind
from app.services.exercises.catalogue import ExerciseView
from app.services.exercises.progress import Progress, next_exercise, progress_of
from app.services.grading import recording
from app.services.grading.queue import GradingQueue
from graders.report import Report, Verdict
from tests.db.conftest import EXERCISE

Send = Callable[..., Submission]
LISTED = [
    ExerciseView(id=name, title=name, kind=ExerciseKind.CODE, version=1, lesson_id="lesson") for name in ("a", "b", "c")
]
DONE, TRIED = Progress.DONE, Progress.TRIED


@pytest.fixture
def grade(database: Database, queue: GradingQueue, report: Report) -> Callable[[Verdict], None]:
    """Return a function that grades what waits."""

    def grade_next(verdict: Verdict) -> None:
        with database.write() as session:
            lease = queue.claim(session, owner="elsewhere/0:1:1")
            assert lease is not None
            order = recording.grading_request(session, lease)
            found = Report.from_json(report.to_json() | {"verdict": verdict.value})
            recording.record(session, lease, order, found, queue=queue, worker="elsewhere")

    return grade_next


def seen(database: Database, account: Account) -> dict[str, Progress]:
    """Return how far an account has come."""
    with database.read() as session:
        return progress_of(session, account)


def test_nothing_sent_is_new(database: Database, account: Account) -> None:
    """What nobody has touched is not even named."""
    assert seen(database, account) == {}


def test_what_was_sent_is_tried(
    database: Database, account: Account, send: Send, grade: Callable[[Verdict], None]
) -> None:
    """Before it is graded, and after it has failed."""
    send()
    assert seen(database, account) == {EXERCISE: TRIED}
    grade(Verdict.FAILED)
    assert seen(database, account) == {EXERCISE: TRIED}


def test_run_that_goes_well_is_no_success(
    database: Database, account: Account, send: Send, grade: Callable[[Verdict], None]
) -> None:
    """A run is not judged, whatever its verdict is called."""
    send(kind=SubmissionKind.RUN)
    grade(Verdict.PASSED)
    assert seen(database, account) == {EXERCISE: TRIED}


def test_passed_once_is_done_for_good(
    database: Database, account: Account, send: Send, grade: Callable[[Verdict], None]
) -> None:
    """Who plays on and breaks it has still done it."""
    for verdict in (Verdict.PASSED, Verdict.FAILED):
        send()
        grade(verdict)
        assert seen(database, account) == {EXERCISE: DONE}


def test_progress_is_ones_own(
    database: Database, new_account: Callable[..., Account], send: Send, grade: Callable[[Verdict], None]
) -> None:
    """Another's success is not mine."""
    send()
    grade(Verdict.PASSED)
    assert seen(database, new_account()) == {}


@pytest.mark.parametrize(
    ("progress", "after", "expected"),
    [
        ({}, None, "a"),
        ({"a": TRIED}, None, "a"),
        ({"a": DONE}, None, "b"),
        ({"a": DONE, "b": DONE, "c": DONE}, None, None),
        ({"a": DONE}, "a", "b"),
        ({"a": DONE, "b": DONE}, "a", "c"),
        ({"c": DONE}, "c", "a"),
        ({"b": TRIED}, "b", "c"),
        ({"a": DONE, "c": DONE}, "b", None),
        ({}, "no longer listed", "a"),
    ],
)
def test_next_is_the_first_that_is_not_done(
    progress: dict[str, Progress], after: str | None, expected: str | None
) -> None:
    """Behind the one just looked at, and then from the beginning; never the same again."""
    found = next_exercise(LISTED, progress, after=after)
    assert (found.id if found else None) == expected
