"""Hints: opening them, which one is offered, and what instructors see of their use."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select

from app.clock import utc_now
from app.db import Database
from app.errors import NoHints, NotFound
from app.models import Account, ExerciseVersion, GradingResult, HintOpening, Submission, SubmissionKind
from app.services import hints
from app.services.hints import Hint, HintState
from graders.report import Misconception, Report
from tests.reports import report_with

EXERCISE = "make-a-table"
TEXTS = ["Think of rows.", "Print its shape.", "Call it like a function."]
CONTENT = {"title": "A table", "hints": TEXTS, "wrong": [{"tag": "swapped", "hint": 2}, {"tag": "typed-in"}]}
MIXED_UP = report_with(misconception=Misconception("swapped", "The other way round?"))

Open = Callable[..., Hint]


@pytest.fixture
def hinted(database: Database, version: ExerciseVersion) -> ExerciseVersion:
    """Give the exercise three hints, the second of which goes with a known mix-up."""
    with database.write() as session:
        session.get_one(ExerciseVersion, version.id).content = CONTENT
    return version


@pytest.fixture
def open_hint(database: Database, account: Account, hinted: ExerciseVersion) -> Open:
    """Return a function that opens a hint."""

    def make(number: int | None = None, *, who: Account = account, offered: bool = False) -> Hint:
        with database.write() as session:
            return hints.open_hint(session, account=who, exercise_id=EXERCISE, number=number, offered=offered)

    return make


def hints_of(database: Database, account: Account, report: Report | None = None) -> HintState:
    """Return how an account stands."""
    with database.read() as session:
        return hints.hints_of(session, account=account, exercise_id=EXERCISE, report=report)


def test_hints_are_opened_one_after_the_other(open_hint: Open) -> None:
    """Without saying which, the next closed one is opened; when all are open, the last one comes again."""
    opened = [open_hint() for _ in range(4)]
    assert [(one.number, one.left) for one in opened] == [(1, 2), (2, 1), (3, 0), (3, 0)]
    assert [one.text for one in opened[:3]] == TEXTS


def test_opening_a_hint_again_changes_nothing(database: Database, open_hint: Open) -> None:
    """A hint that is opened twice is recorded once, as it was opened first."""
    first = open_hint(2, offered=True)
    assert open_hint(2) == first
    with database.read() as session:
        rows = session.scalars(select(HintOpening)).all()
    assert [(row.number, row.offered, row.attempts_before) for row in rows] == [(2, True, 0)]


def test_hint_opened_concurrently_is_recorded_once(database: Database, open_hint: Open) -> None:
    """Two windows may press the same button together."""
    with ThreadPoolExecutor(8) as pool:
        assert {one.number for one in pool.map(lambda _: open_hint(1), range(8))} == {1}
    with database.read() as session:
        assert len(session.scalars(select(HintOpening)).all()) == 1


@pytest.mark.parametrize("number", [0, -1, 4])
def test_hint_that_is_not_there_is_refused(open_hint: Open, number: int) -> None:
    """The refusal says how many there are."""
    with pytest.raises(NoHints, match="3 hints"):
        open_hint(number)


def test_exercise_without_hints_says_so(database: Database, account: Account, version: ExerciseVersion) -> None:
    """Not every exercise has hints, and not every name is an exercise."""
    with pytest.raises(NoHints, match="no hints"), database.write() as session:
        hints.open_hint(session, account=account, exercise_id=EXERCISE)
    with pytest.raises(NotFound), database.write() as session:
        hints.open_hint(session, account=account, exercise_id="no-such-exercise")


def test_hint_that_fits_the_diagnosis_is_offered(database: Database, account: Account, open_hint: Open) -> None:
    """The author's choice for a mix-up goes before the next hint; once it is open, the next one is offered."""
    assert (hints_of(database, account).suggested, hints_of(database, account).fits_diagnosis) == (1, False)
    mixed_up = hints_of(database, account, MIXED_UP)
    assert (mixed_up.suggested, mixed_up.fits_diagnosis) == (2, True)
    open_hint(2)
    after = hints_of(database, account, MIXED_UP)
    assert (after.suggested, after.fits_diagnosis, [one.number for one in after.opened]) == (1, False, [2])


def test_hints_of_others_stay_closed(
    database: Database, account: Account, new_account: Callable[..., Account], open_hint: Open
) -> None:
    """What one student opens, another has not read."""
    open_hint(who=new_account())
    assert hints_of(database, account).opened == ()


def test_attempt_number_counts_the_checks_before(
    database: Database, open_hint: Open, send: Callable[..., Submission]
) -> None:
    """A hint remembers after how many checks it was opened; runs are no attempts."""
    send()
    send()
    send(kind=SubmissionKind.RUN)
    open_hint()
    with database.read() as session:
        assert session.scalars(select(HintOpening.attempts_before)).all() == [2]


def test_instructors_see_which_hint_helped(
    database: Database, account: Account, open_hint: Open, hinted: ExerciseVersion
) -> None:
    """A pass with the next check, or later without another hint, speaks for the hint before it."""
    now = utc_now()

    def graded(minutes: int, verdict: str) -> None:
        sent_at = now + timedelta(minutes=minutes)
        with database.write() as session:
            row = Submission(
                account_id=account.id,
                exercise_version_id=hinted.id,
                kind=SubmissionKind.CHECK,
                source="table = 1",
                created_at=sent_at,
            )
            session.add(row)
            session.flush()
            session.add(
                GradingResult(
                    submission_id=row.id,
                    number=1,
                    lease_token=row.id,
                    seed="0",
                    verdict=verdict,
                    report={},
                    counts=True,
                    worker="w",
                    started_at=sent_at,
                )
            )

    open_hint(1)
    graded(1, "failed")
    open_hint(2, offered=True)
    with database.write() as session:
        session.scalars(select(HintOpening).where(HintOpening.number == 2)).one().opened_at = now + timedelta(minutes=2)
    graded(3, "passed")
    with database.read() as session:
        used = hints.uses(session, EXERCISE)
    assert [(one.opened, one.offered, one.passed_next, one.passed_later) for one in used] == [
        (1, 0, 0, 0),
        (1, 1, 1, 1),
        (0, 0, 0, 0),
    ]
