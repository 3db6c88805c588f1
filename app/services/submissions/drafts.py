"""
Drafts: code that was typed and not sent, so that it is there on the next device, and after a crash.

Theory of operation: a draft belongs to one editor, that is to a tab. Its page makes up its name, and whatever is set
aside (because another attempt is loaded, say) is left under its name while the page goes on under a new one. So
there is one kind of row for all that was not sent, and two tabs never write the same one on purpose.

Where they do so all the same (a tab was duplicated, a draft was continued on another device), nothing is
overwritten unseen: a change says which version it was made to, and one to an older version is refused with the text
that is stored. The page keeps its own text under a new name, and shows both. Writing what is stored already is no
change, so that a request may be repeated whose answer was lost; and a draft that is not there is made, whatever
version is named, since there is nothing to overwrite.

What was sent to be checked is an attempt, which is kept for good: a draft with the same text goes, in the same
transaction. One that comes after it (requests may overtake each other) is not stored either. A run is no attempt: it is
not in the list of attempts, so its text stays a draft.

Bounded: a text is as long as source may be, and an account has `DRAFTS_KEPT` for an exercise; the one that was
not touched for longest goes first. By how much drafts grow counts as what an account has had stored in a day.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import new_id, upsert
from app.errors import BadRequest, DraftChanged, NotSignedIn
from app.models import Account, Draft, ExerciseVersion, Submission, SubmissionKind
from app.services.exercises.catalogue import current
from app.services.plans.daily_limits import USUAL, Allowances, count_growth
from app.services.submissions.source_checks import checked_source

DRAFTS_KEPT = 8
"""For an account and an exercise."""
_NAME = re.compile(r"^[A-Za-z0-9_-]{1,40}$")
NAME_PATTERN = _NAME.pattern


@dataclass(frozen=True)
class SavedDraft:
    """How a draft stands after it was saved."""

    name: str
    version: int
    updated_at: datetime
    is_sent: bool
    """Whether the text is an attempt already, so that no draft of it is kept."""


def list_drafts(session: Session, account: Account, exercise_id: str) -> list[Draft]:
    """
    Return an account's drafts of an exercise, the newest first.

    Raises:
        NotFound: there is no such exercise.
    """
    current(session, exercise_id)
    return _kept(session, account.id, exercise_id)


def save_draft(
    session: Session,
    account: Account,
    exercise_id: str,
    *,
    name: str,
    text: str,
    version: int,
    allowed: Allowances = USUAL,
) -> SavedDraft:
    """
    Store a text as a draft.

    Args:
        session: to write with.
        account: whose it is.
        exercise_id: what it is for.
        name: of the draft, made up by the page.
        text: all that stands in the editor.
        version: which one the change was made to; 0 for a draft that is new.
        allowed: what the site allows.

    Raises:
        NotFound: there is no such exercise.
        BadRequest: the name cannot be one.
        SourceTooLarge, SourceNotText: the text could not be sent either.
        DraftChanged: what is stored is of another version, and another text.
        StorageSpent: the account has had as much stored today as it may.
        NotSignedIn: the account is no more; that of a guest goes when its browser signs in to another.
    """
    if not _NAME.fullmatch(name):
        raise BadRequest(reason="A draft’s name is 1 to 40 letters, digits, “-” or “_”, such as a UUID.")
    checked_source(text)
    owner = _locked_owner(session, account.id, exercise_id)
    mine = _is(account.id, exercise_id, name)
    # The counter is locked before the draft, in the order in which a submission of the same text takes them.
    count_growth(session, owner, size_bytes=_growth_bytes(session, mine, text), allowed=allowed)
    stored = session.scalar(select(Draft).where(*mine).with_for_update())
    if stored is None:
        return _create(session, account.id, exercise_id, name=name, text=text)
    if stored.text == text:
        return _saved(stored)
    if stored.version != version:
        raise _changed(stored)
    if _is_attempt(session, account.id, exercise_id, text):
        session.delete(stored)
        return _sent(name)
    stored.text, stored.version, stored.updated_at = text, version + 1, utc_now()
    session.flush()
    return _saved(stored)


def delete_draft(session: Session, account: Account, exercise_id: str, *, name: str, version: int | None) -> None:
    """
    Forget a draft; one that is not there is no fault.

    Raises:
        DraftChanged: a version was named, and the stored one is another.
    """
    stored = session.scalar(select(Draft).where(*_is(account.id, exercise_id, name)).with_for_update())
    if stored is None:
        return
    if version is not None and stored.version != version:
        raise _changed(stored)
    session.delete(stored)


def drop_sent(session: Session, account_id: str, exercise_id: str, source: str) -> None:
    """Forget the drafts of a text that is an attempt from here on."""
    session.execute(
        delete(Draft)
        .where(Draft.account_id == account_id, Draft.exercise_id == exercise_id, Draft.text == source)
        .execution_options(synchronize_session=False)
    )


def move_drafts(session: Session, guest_id: str, account_id: str) -> None:
    """Make a guest's drafts an account's. Where both have one of the same name, the guest's gets another."""
    taken = set(session.execute(select(Draft.exercise_id, Draft.name).where(Draft.account_id == account_id)).all())
    moved = session.execute(select(Draft.exercise_id, Draft.name).where(Draft.account_id == guest_id)).all()
    for exercise_id, name in moved:
        session.execute(
            update(Draft)
            .where(*_is(guest_id, exercise_id, name))
            .values(account_id=account_id, name=new_id() if (exercise_id, name) in taken else name)
            .execution_options(synchronize_session=False)
        )
    for exercise_id in {exercise_id for exercise_id, _ in moved}:
        _drop_oldest(session, account_id, exercise_id)


def _locked_owner(session: Session, account_id: str, exercise_id: str) -> Account:
    """
    Lock an account until the commit: what a guest has is not moved to another, or deleted, in the middle of it.

    Raises:
        NotFound: there is no such exercise.
        NotSignedIn: there is no such account any more.
    """
    current(session, exercise_id)
    owner = session.get(Account, account_id, with_for_update={"read": True, "key_share": True}, populate_existing=True)
    if owner is None:
        raise NotSignedIn
    return owner


def _growth_bytes(session: Session, mine: tuple[ColumnElement[bool], ...], text: str) -> int:
    before = session.scalar(select(Draft.text).where(*mine)) or ""
    return len(text.encode()) - len(before.encode())


def _create(session: Session, account_id: str, exercise_id: str, *, name: str, text: str) -> SavedDraft:
    if _is_attempt(session, account_id, exercise_id, text):
        return _sent(name)
    key = {"account_id": account_id, "exercise_id": exercise_id, "name": name}
    insertion = upsert(session, Draft).values(**key, text=text, version=1, updated_at=utc_now())
    session.execute(insertion.on_conflict_do_nothing())
    stored = session.scalars(select(Draft).where(*_is(account_id, exercise_id, name))).one()
    if stored.text != text:  # another request with the same name came first
        raise _changed(stored)
    _drop_oldest(session, account_id, exercise_id)
    return _saved(stored)


def _is_attempt(session: Session, account_id: str, exercise_id: str, text: str) -> bool:
    of_exercise = select(ExerciseVersion.id).where(ExerciseVersion.exercise_id == exercise_id).scalar_subquery()
    found = session.scalar(
        select(Submission.id)
        .where(
            Submission.account_id == account_id,
            Submission.exercise_version_id.in_(of_exercise),
            Submission.kind == SubmissionKind.CHECK,
            Submission.source == text,
        )
        .limit(1)
    )
    return found is not None


def _drop_oldest(session: Session, account_id: str, exercise_id: str) -> None:
    """Keep the newest, and as many as are allowed."""
    for draft in _kept(session, account_id, exercise_id)[DRAFTS_KEPT:]:
        session.delete(draft)
    session.flush()


def _kept(session: Session, account_id: str, exercise_id: str) -> list[Draft]:
    return list(
        session.scalars(
            select(Draft)
            .where(Draft.account_id == account_id, Draft.exercise_id == exercise_id)
            .order_by(Draft.updated_at.desc(), Draft.name)
            .execution_options(populate_existing=True)
        )
    )


def _is(account_id: str, exercise_id: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return Draft.account_id == account_id, Draft.exercise_id == exercise_id, Draft.name == name


def _saved(draft: Draft) -> SavedDraft:
    return SavedDraft(name=draft.name, version=draft.version, updated_at=draft.updated_at, is_sent=False)


def _sent(name: str) -> SavedDraft:
    return SavedDraft(name=name, version=0, updated_at=utc_now(), is_sent=True)


def _changed(draft: Draft) -> DraftChanged:
    return DraftChanged(text=draft.text, version=draft.version, updated_at=draft.updated_at.isoformat())
