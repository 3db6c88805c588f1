"""What students send is stored once, unchanged, together with its job; only they can read it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, func, select, update
from sqlalchemy.exc import DBAPIError

from app.db import Database
from app.errors import (
    IdempotencyClash,
    KeyRefused,
    NotFound,
    NothingToRun,
    QueueFull,
    SourceNotText,
    SourceTooLarge,
)
from app.models import Account, ExerciseVersion, Job, Role, Submission, SubmissionKind
from app.services.grading.queue import GradingQueue
from app.services.submissions.submissions import SubmissionPhase, SubmissionState, history, latest, source_of, state_of
from graders.task import MAX_SOURCE_BYTES

Send = Callable[..., Submission]
EXERCISE = "make-a-table"


def count(database: Database, model: type[Submission] | type[Job]) -> int:
    """Return how many rows there are."""
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_submission_and_job_are_stored_together(database: Database, send: Send) -> None:
    """After one request there is one of each."""
    submission = send("table = 1\n")
    with database.read() as session:
        assert session.get_one(Submission, submission.id).source == "table = 1\n"
        assert session.get_one(Job, submission.id).tries == 0


def test_empty_source_is_stored(send: Send) -> None:
    """An empty editor can be checked: the report says what is missing."""
    assert send("").source == ""


def test_source_of_exactly_the_limit_is_stored(send: Send) -> None:
    """64 KiB are fine, counted in bytes of UTF-8."""
    source = "é" * (MAX_SOURCE_BYTES // 2)
    assert send(source).source == source


@pytest.mark.parametrize(
    ("source", "error", "sentence"),
    [
        ("é" * (MAX_SOURCE_BYTES // 2) + "x", SourceTooLarge, "65537 bytes; at most 65536"),
        ("x = 1\ny = '\0'", SourceNotText, "a NUL character on line 2"),
        ("x = '\ud800'", SourceNotText, "half of a surrogate pair (\\ud800 to \\udfff) on line 1"),
    ],
    ids=["too long", "NUL", "lone surrogate"],
)
def test_source_that_cannot_be_graded_is_refused(
    database: Database, send: Send, source: str, error: type[Exception], sentence: str
) -> None:
    """What no Python file can hold is refused with its place, and nothing is stored."""
    with pytest.raises(error) as refusal:
        send(source)
    assert sentence in str(refusal.value)
    assert count(database, Submission) == 0


def test_unknown_exercise_is_not_found(send: Send) -> None:
    """The sentence names what was asked for."""
    with pytest.raises(NotFound) as refusal:
        send(exercise_id="make-a-chair")
    assert "make-a-chair" in refusal.value.detail


def test_same_key_makes_one_submission(database: Database, send: Send) -> None:
    """A request that is sent twice, because the answer was lost, is stored once."""
    first = send("table = 1", idempotency_key="k")
    again = send("table = 1", idempotency_key="k")
    assert first.id == again.id
    assert (count(database, Submission), count(database, Job)) == (1, 1)


def test_same_key_at_the_same_moment_makes_one_submission(database: Database, send: Send) -> None:
    """Eight requests that race with one key get the same submission."""
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: send("table = 1", idempotency_key="k").id, range(8)))
    assert len(ids) == 1
    assert (count(database, Submission), count(database, Job)) == (1, 1)


@pytest.mark.parametrize(
    "other", [{"source": "table = 2"}, {"kind": "run"}, {"exercise_id": "make-a-table", "source": ""}]
)
def test_same_key_with_another_body_is_refused(send: Send, other: dict[str, str]) -> None:
    """A key stands for one request: another under the same key is a mistake of the client."""
    send("table = 1", idempotency_key="k")
    with pytest.raises(IdempotencyClash):
        send(**({"source": "table = 1"} | other), idempotency_key="k")


def test_keys_of_two_accounts_do_not_meet(send: Send, new_account: Callable[..., Account]) -> None:
    """The same key from another account is another submission."""
    assert send(idempotency_key="k").id != send(idempotency_key="k", account=new_account()).id


def test_same_key_is_answered_even_when_the_queue_is_full(send: Send, make_queue: Callable[..., GradingQueue]) -> None:
    """What was stored already needs no room."""
    small = make_queue(limit=1)
    first = send(idempotency_key="k", queue=small)
    assert send(idempotency_key="k", queue=small).id == first.id
    with pytest.raises(QueueFull):
        send(queue=small)


@pytest.mark.parametrize("key", ["", "x" * 256, "zwölf", "tab\there"])
def test_key_that_cannot_be_kept_is_refused(send: Send, key: str) -> None:
    """Keys are short, printable ASCII."""
    with pytest.raises(KeyRefused):
        send(idempotency_key=key)


def test_submission_cannot_change(database: Database, send: Send) -> None:
    """Neither through the models nor past them."""
    submission = send()
    with pytest.raises(TypeError, match="immutable"), database.write() as session:
        session.get_one(Submission, submission.id).source = "table = 2"
    with pytest.raises(DBAPIError, match="immutable"), database.write() as session:
        session.execute(update(Submission).values(source="table = 2"))


def test_state_goes_from_queued_to_running(
    database: Database, queue: GradingQueue, send: Send, account: Account
) -> None:
    """Before it is graded, a submission says where it stands."""
    submission = send()

    def state() -> SubmissionState:
        with database.read() as session:
            return state_of(session, account=account, submission_id=submission.id, queue=queue)

    assert state() == SubmissionState(
        id=submission.id,
        exercise=EXERCISE,
        version=1,
        kind=SubmissionKind.CHECK,
        created_at=submission.created_at,
        state=SubmissionPhase.QUEUED,
        queue_position=1,
    )
    with database.write() as session:
        queue.claim(session, owner="another-machine/0/0:1:1")
    assert state().state == "running"


@pytest.mark.parametrize("role", [Role.STUDENT, Role.GUEST])
def test_student_cannot_read_anothers_submission(
    database: Database, queue: GradingQueue, send: Send, new_account: Callable[..., Account], role: Role
) -> None:
    """Another's submission looks exactly like one that does not exist."""
    submission = send()
    with pytest.raises(NotFound), database.read() as session:
        state_of(session, account=new_account(role), submission_id=submission.id, queue=queue)


@pytest.mark.parametrize("role", [Role.INSTRUCTOR, Role.ADMIN])
def test_staff_can_read_a_students_submission(
    database: Database, queue: GradingQueue, send: Send, new_account: Callable[..., Account], role: Role
) -> None:
    """Instructors and admins see what students sent."""
    submission = send()
    with database.read() as session:
        seen = state_of(session, account=new_account(role), submission_id=submission.id, queue=queue)
    assert seen.id == submission.id


def test_history_shows_own_checks_newest_first(
    database: Database, send: Send, account: Account, new_account: Callable[..., Account]
) -> None:
    """Runs that only show output, and others' submissions, are not in it."""
    old, new = send("table = 1"), send("table = 2")
    send("table = 3", kind=SubmissionKind.RUN)
    send("table = 4", account=new_account())
    with database.read() as session:
        lines = history(session, account=account, exercise_id=EXERCISE, limit=10)
    assert [line.id for line in lines] == [new.id, old.id]
    assert {line.state for line in lines} == {"queued"}


def test_latest_source_is_what_was_sent_last(
    database: Database, send: Send, account: Account, new_account: Callable[..., Account]
) -> None:
    """A student who comes back finds the code as it was, even if it was only run."""
    send("table = 1")
    send("table = 2", kind=SubmissionKind.RUN)
    with database.read() as session:
        found = latest(session, account=account, exercise_id=EXERCISE)
        assert found is not None
        assert found.source == "table = 2"
        assert latest(session, account=new_account(), exercise_id=EXERCISE) is None


def test_question_cannot_be_run(database: Database, send: Send, version: ExerciseVersion) -> None:
    """There is no code to run; nothing is stored. An answer is taken."""
    with database.write() as session:
        session.execute(update(ExerciseVersion).values(content={"title": "A table", "kind": "question"}))
    with pytest.raises(NothingToRun):
        send(kind=SubmissionKind.RUN)
    assert count(database, Submission) == 0
    assert send("8", kind=SubmissionKind.CHECK).source == "8"


def test_source_is_given_back_to_who_may_read_it(
    database: Database, send: Send, account: Account, new_account: Callable[..., Account]
) -> None:
    """Exactly as it was sent, to its author and to those who teach."""
    submission = send("table = 1  # ✓\n")
    with database.read() as session:
        for reader in (account, new_account(Role.INSTRUCTOR)):
            assert source_of(session, account=reader, submission_id=submission.id) == "table = 1  # ✓\n"
        with pytest.raises(NotFound):
            source_of(session, account=new_account(), submission_id=submission.id)


def test_looking_at_a_submission_leaves_what_is_large_where_it_is(
    database: Database, send: Send, account: Account, queue: GradingQueue
) -> None:
    """Hundreds look each second: neither the exercise's content nor the source is read for it."""
    submission = send()
    statements: list[str] = []

    @event.listens_for(database.engine, "before_cursor_execute")
    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    with database.read() as session:
        state_of(session, account=account, submission_id=submission.id, queue=queue)
        history(session, account=account, exercise_id=EXERCISE)
    assert [one for one in statements if "content" in one or "task" in one or "source" in one] == []


def test_error_of_the_database_does_not_tell_what_was_sent(database: Database, send: Send) -> None:
    """Such errors are logged, and students' code has no place in a log."""
    unknown = Submission(account_id="nobody", exercise_version_id="none", kind="check", source="secret = 1")
    with database.write() as session:
        session.add(unknown)
        with pytest.raises(DBAPIError) as failure:
            session.flush()
    assert "secret" not in str(failure.value)
