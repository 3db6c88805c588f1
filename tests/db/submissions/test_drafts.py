"""Code that was not sent is kept, is never overwritten unseen, and goes where its owner goes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.clock import utc_now
from app.db import Database
from app.errors import BadRequest, DraftChanged, NotFound, NotSignedIn, SourceNotText, SourceTooLarge, StorageSpent
from app.models import Account, Draft, ExerciseVersion, Period, Role, SubmissionKind
from app.services.accounts.access import create_guest
from app.services.accounts.authentication import BrowserContext, sign_in, sign_up
from app.services.personal_data import delete_account, export_account
from app.services.plans import quotas
from app.services.plans.daily_limits import STORED
from app.services.submissions.drafts import DRAFTS_KEPT, SavedDraft, delete_draft, list_drafts, save_draft
from graders.task import MAX_SOURCE_BYTES
from tests.db.conftest import EXERCISE, Submit

Save = Callable[..., SavedDraft]


@pytest.fixture
def save(database: Database, account: Account, version: ExerciseVersion) -> Save:
    """Return a function that saves a draft in a transaction of its own, as one request would."""

    def save_one(
        text: str, *, of: Account = account, name: str = "one", version: int = 0, exercise_id: str = EXERCISE
    ) -> SavedDraft:
        with database.write() as session:
            return save_draft(session, of, exercise_id, name=name, text=text, version=version)

    return save_one


@pytest.fixture
def texts(database: Database, account: Account) -> Callable[..., list[str]]:
    """Return a function that reads an account's drafts, the newest first."""

    def read(of: Account = account) -> list[str]:
        with database.read() as session:
            return [draft.text for draft in list_drafts(session, of, EXERCISE)]

    return read


def test_draft_goes_up_by_a_version_with_each_change(save: Save, texts: Callable[..., list[str]]) -> None:
    """Who names the stored version may change it."""
    assert save("a = 1").version == 1
    assert save("a = 12", version=1).version == 2
    assert texts() == ["a = 12"]


def test_stale_change_is_refused_with_the_stored_text(save: Save, texts: Callable[..., list[str]]) -> None:
    """A change to an older version writes nothing, and whoever made it is told what is there."""
    save("a = 1")
    save("theirs = 2", version=1)
    with pytest.raises(DraftChanged) as refusal:
        save("mine = 3", version=1)
    assert (refusal.value.fields["text"], refusal.value.fields["version"]) == ("theirs = 2", 2)
    assert texts() == ["theirs = 2"]


def test_repeated_request_changes_nothing(save: Save) -> None:
    """A request whose answer was lost is sent again, and gets the answer that was lost."""
    save("a = 1")
    assert [save("a = 2", version=1).version for _ in range(2)] == [2, 2]


def test_draft_that_is_not_there_is_made_whatever_version_is_named(save: Save) -> None:
    """There is nothing that it could overwrite."""
    assert save("a = 1", version=7).version == 1


def test_of_concurrent_changes_one_is_stored_and_the_others_are_refused(save: Save) -> None:
    """Eight writers to one version, and eight to a new name: one each comes through."""
    save("a = 1")

    def attempt(number: int, *, version: int, name: str) -> bool:
        try:
            save(f"a = {number}", version=version, name=name)
        except DraftChanged:
            return False
        return True

    for version, name in ((1, "one"), (0, "new")):
        with ThreadPoolExecutor(max_workers=8) as threads:
            stored = [threads.submit(attempt, number, version=version, name=name) for number in range(100, 108)]
            assert [one.result() for one in stored].count(True) == 1


def test_only_the_newest_are_kept(save: Save, texts: Callable[..., list[str]]) -> None:
    """What was not touched for longest goes first."""
    for number in range(DRAFTS_KEPT):
        save(f"a = {number}", name=f"tab-{number}")
    save("a = 0  # touched", name="tab-0", version=1)
    save("one = 'more'", name="another")
    assert set(texts()) == {"one = 'more'", "a = 0  # touched", *(f"a = {one}" for one in range(2, DRAFTS_KEPT))}


@pytest.mark.parametrize(
    ("facts", "refusal"),
    [
        ({"text": "x" * (MAX_SOURCE_BYTES + 1)}, SourceTooLarge),
        ({"text": "a\0"}, SourceNotText),
        ({"name": ""}, BadRequest),
        ({"name": "n" * 41}, BadRequest),
        ({"name": "a/b"}, BadRequest),
        ({"name": "a\n"}, BadRequest),
        ({"exercise_id": "no-such"}, NotFound),
        ({"of": Account(id="gone", role=Role.GUEST)}, NotSignedIn),
    ],
)
def test_what_cannot_be_a_draft_is_refused(
    database: Database, save: Save, facts: dict[str, object], refusal: type[Exception]
) -> None:
    """Too long, no text, no name, no exercise, nobody: a sentence, and nothing stored."""
    wish: dict[str, object] = {"text": "a = 1"} | facts
    with pytest.raises(refusal):
        save(**wish)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Draft)) == 0


def test_longest_text_that_can_be_sent_can_be_a_draft(save: Save, texts: Callable[..., list[str]]) -> None:
    """64 KiB, as for a submission."""
    save("x" * MAX_SOURCE_BYTES)
    assert len(texts()[0]) == MAX_SOURCE_BYTES


def test_text_that_is_checked_is_a_draft_no_more(send: Submit, save: Save, texts: Callable[..., list[str]]) -> None:
    """It is an attempt from then on, whichever tab sent it; other drafts stay."""
    save("table = 1", name="one")
    save("table = 1", name="two")
    save("unsent = 1", name="three")
    send("table = 1")
    assert texts() == ["unsent = 1"]


def test_text_that_is_only_run_stays_a_draft(send: Submit, save: Save, texts: Callable[..., list[str]]) -> None:
    """Runs are not in the list of attempts, so there would be no way back to it."""
    save("table = 1")
    send("table = 1", kind=SubmissionKind.RUN)
    assert texts() == ["table = 1"]


def test_draft_that_comes_after_its_submission_is_not_kept(
    send: Submit, save: Save, texts: Callable[..., list[str]]
) -> None:
    """Requests may overtake each other; a text that is an attempt is said to be sent, new or changed."""
    send("table = 1")
    assert save("table = 1").is_sent
    save("table = 10")
    assert save("table = 1", version=1).is_sent
    assert texts() == []


def test_deleting_names_the_version_too(
    database: Database, account: Account, save: Save, texts: Callable[..., list[str]]
) -> None:
    """What was changed since is not deleted; what is not there is no fault."""
    save("a = 1")
    save("a = 2", version=1)
    with database.write() as session, pytest.raises(DraftChanged):
        delete_draft(session, account, EXERCISE, name="one", version=1)
    assert texts() == ["a = 2"]
    for _ in range(2):
        with database.write() as session:
            delete_draft(session, account, EXERCISE, name="one", version=2)
    assert texts() == []


def test_drafts_are_ones_own(save: Save, new_account: Callable[..., Account], texts: Callable[..., list[str]]) -> None:
    """The same name with another account is another draft."""
    other = new_account()
    save("mine = 1")
    save("theirs = 1", of=other)
    assert (texts(), texts(other)) == (["mine = 1"], ["theirs = 1"])


def test_guest_who_signs_in_takes_the_drafts_along(
    database: Database, account: Account, save: Save, texts: Callable[..., list[str]]
) -> None:
    """They are the account's, beside its own, even where both have the same name."""
    with database.write() as session:
        guest, _ = create_guest(session)
    save("typed = 'as a guest'", of=guest)
    save("typed = 'before'")
    with database.write() as session:
        sign_in(session, session.get_one(Account, account.id), BrowserContext(account_id=guest.id))
    assert set(texts()) == {"typed = 'as a guest'", "typed = 'before'"}


def test_guest_who_signs_up_keeps_the_drafts(database: Database, save: Save, texts: Callable[..., list[str]]) -> None:
    """The guest's account is the new one."""
    with database.write() as session:
        guest, _ = create_guest(session)
    save("typed = 'as a guest'", of=guest)
    with database.write() as session:
        account = sign_up(session, BrowserContext(account_id=guest.id), email="ada@example.org", password_hash=None)
    assert texts(account) == ["typed = 'as a guest'"]


def test_drafts_are_exported_and_deleted_with_the_account(database: Database, account: Account, save: Save) -> None:
    """They are the owner's."""
    save("a = 1")
    with database.read() as session:
        exported = {name: list(rows) for name, rows in export_account(session, account.id)}
    assert [row["text"] for row in exported["draft"]] == ["a = 1"]
    with database.write() as session:
        delete_account(session, account.id)
        assert session.scalar(select(func.count()).select_from(Draft)) == 0


def test_growth_of_drafts_is_bounded(database: Database, save: Save, texts: Callable[..., list[str]]) -> None:
    """By how much a text grows is what it takes; over the bound nothing is stored, and a shorter text always is."""
    with database.write() as session:
        guest, _ = create_guest(session)
    save("é" * 10, of=guest)
    save("é" * 12, of=guest, version=1)
    save("é" * 12, of=guest, version=2)
    today = quotas.key_of(Period.DAY, utc_now())
    with database.write() as session:
        assert quotas.used_in(session, guest.id, STORED, today) == 24
        quotas.add(session, guest.id, STORED, today, number=10 * 2**20 - 24)
    with pytest.raises(StorageSpent):
        save("é" * 13, of=guest, version=2)
    save("shorter", of=guest, version=2)
    assert texts(guest) == ["shorter"]
