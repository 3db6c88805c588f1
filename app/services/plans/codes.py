"""
Codes that give a plan: made in batches, shown once, redeemed once.

A code is 16 letters and digits of Crockford's alphabet, which has no I, L, O and U: 80 random bits, so that nobody
finds one by trying. Whoever reads one aloud or types it may confuse O with 0 and I or L with 1, and may write it small,
with spaces or without dashes. Only the hash of the normal form is kept.
"""

import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import case, func, or_, select, update
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import updated_rows
from app.errors import CodeNotNeeded, CodeRefused, LimitRefused, NotFound, SignUpFirst
from app.models import Account, RedeemCode
from app.services import audit
from app.services.audit import Change
from app.services.plans import plans
from app.services.plans.plans import CurrentPlan

MOST_CODES = 1000
"""In one batch: more than that is a list for a mailing, and wants more than one label anyway."""
MOST_DAYS = 3660
LABEL_LIMIT = 60  # characters
PREFIX = "KEL"
ORIGIN = "code"
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH, _GROUP = 16, 4
_TYPED_LIMIT = 100  # characters: nobody types more, however many spaces
_MISREAD = str.maketrans("OIL", "011")


@dataclass(frozen=True)
class Offer:
    """What the codes of a batch give, and until when they can be redeemed."""

    label: str
    plan: str
    plan_days: int | None
    """How long the plan then lasts; None is without end."""
    expires_at: datetime | None
    """Of the codes themselves; None is never."""


@dataclass(frozen=True)
class Batch:
    """How a batch of codes stands."""

    offer: Offer
    created_at: datetime
    made: int
    redeemed: int
    expired: int
    """How many were not redeemed in time, or were revoked."""

    @property
    def unused(self) -> int:
        """How many can still be redeemed."""
        return self.made - self.redeemed - self.expired


def make_batch(session: Session, offer: Offer, count: int, *, by: Account | None, reason: str = "") -> list[str]:
    """
    Make codes and return them: they cannot be shown again.

    Raises:
        NotFound: there is no such plan.
        LimitRefused: the number, the days, the expiry or the label will not do.
    """
    plans.plan_named(session, offer.plan)
    _refuse_offer(session, offer, count)
    codes = [_new_code() for _ in range(count)]
    session.add_all(
        RedeemCode(
            code_hash=_hashed(_normal(code)),
            batch=offer.label,
            plan_name=offer.plan,
            plan_days=offer.plan_days,
            expires_at=offer.expires_at,
        )
        for code in codes
    )
    session.flush()
    after = {
        "codes": count,
        "plan": offer.plan,
        "plan_days": offer.plan_days,
        "expires_at": offer.expires_at.isoformat() if offer.expires_at else None,
    }
    audit.record(session, Change("codes.make", "codes", offer.label, offer.label, None, after, reason), by=by)
    return codes


def redeem(session: Session, account: Account, typed: str) -> CurrentPlan:
    """
    Give an account the plan that a code stands for. Of two who enter the same one concurrently, one gets it.

    Raises:
        SignUpFirst: the account is a guest's.
        CodeRefused: the code is unknown, was used, or is too old.
        CodeNotNeeded: it would give this account nothing that it does not have.
    """
    if account.email is None:
        raise SignUpFirst
    code = _normal(typed)
    # two codes that one account enters concurrently follow each other, or else the days of one would be lost
    plans.lock_account(session, account.id)
    row = _valid_code(session, _hashed(code))
    _refuse_needless(session, account, row)
    _spend(session, account, row)
    return plans.give_plan(
        session,
        account,
        row.plan_name,
        ends_at=plans.extended(session, account, row.plan_name, days=row.plan_days),
        origin=ORIGIN,
        by=account,
        reason=f"Code of the batch “{row.batch}”",
    )


def list_batches(session: Session) -> list[Batch]:
    """Return every batch, the newest first."""
    unused = RedeemCode.redeemed_at.is_(None)
    rows = session.execute(
        select(
            RedeemCode.batch,
            func.min(RedeemCode.plan_name),
            func.min(RedeemCode.plan_days),
            func.max(RedeemCode.expires_at),
            func.min(RedeemCode.created_at),
            func.count(),
            func.count(RedeemCode.redeemed_at),
            func.sum(case((unused & (RedeemCode.expires_at <= utc_now()), 1), else_=0)),
        )
        .group_by(RedeemCode.batch)
        .order_by(func.min(RedeemCode.created_at).desc(), RedeemCode.batch)
    )
    return [Batch(Offer(*row[:4]), *row[4:]) for row in rows]


def batch_named(session: Session, label: str) -> Batch:
    """Return one batch. Raises NotFound."""
    found = next((batch for batch in list_batches(session) if batch.offer.label == label), None)
    if found is None:
        raise NotFound(what="batch of codes", name=label)
    return found


def revoke_batch(session: Session, label: str, *, by: Account | None, reason: str = "") -> int:
    """Let the codes of a batch that nobody has used expire now; how many these were. Raises NotFound."""
    batch_named(session, label)
    now = utc_now()
    usable = (RedeemCode.batch == label, *_still_valid(now))
    revoked = updated_rows(session, update(RedeemCode).where(*usable).values(expires_at=now))
    if revoked:
        change = Change(
            "codes.revoke", "codes", label, label, {"unused": revoked}, {"unused": 0, "revoked": revoked}, reason
        )
        audit.record(session, change, by=by)
    return revoked


def _refuse_offer(session: Session, offer: Offer, count: int) -> None:
    if not 1 <= count <= MOST_CODES:
        raise LimitRefused(reason=f"A batch has 1 to {MOST_CODES} codes.")
    if offer.plan_days is not None and not 1 <= offer.plan_days <= MOST_DAYS:
        raise LimitRefused(reason=f"A plan is given for 1 to {MOST_DAYS} days, or without end.")
    if offer.expires_at is not None and offer.expires_at <= utc_now():
        raise LimitRefused(reason="The codes have to be good for longer than until now.")
    if not 1 <= len(offer.label) <= LABEL_LIMIT or offer.label != offer.label.strip() or not offer.label.isprintable():
        raise LimitRefused(reason=f"A batch has a label of 1 to {LABEL_LIMIT} printable characters.")
    if session.scalar(select(RedeemCode.id).where(RedeemCode.batch == offer.label).limit(1)):
        raise LimitRefused(reason=f"There is a batch called “{offer.label}” already. Choose another label.")


def _valid_code(session: Session, code_hash: str) -> RedeemCode:
    """Return a code that can still be redeemed. Raises CodeRefused."""
    valid = (RedeemCode.code_hash == code_hash, *_still_valid(utc_now()))
    row = session.scalar(select(RedeemCode).where(*valid).execution_options(populate_existing=True))
    if row is None:
        raise CodeRefused
    return row


def _spend(session: Session, account: Account, row: RedeemCode) -> None:
    """Mark a code as used, by one statement that changes it only while it is valid. Raises CodeRefused."""
    now = utc_now()
    valid = (RedeemCode.id == row.id, *_still_valid(now))
    if updated_rows(session, update(RedeemCode).where(*valid).values(redeemed_by=account.id, redeemed_at=now)) != 1:
        raise CodeRefused


def _refuse_needless(session: Session, account: Account, row: RedeemCode) -> None:
    """Let nobody waste a code. Raises CodeNotNeeded."""
    if not account.is_limited:
        raise CodeNotNeeded(reason="Plans do not limit those who teach.")
    current_plan = plans.plan_of(session, account.id)
    if current_plan.name == row.plan_name and current_plan.ends_at is None:
        raise CodeNotNeeded(reason=f"You have the {current_plan.title} plan without end already.")


def _still_valid(now: datetime) -> Sequence[Any]:
    return RedeemCode.redeemed_at.is_(None), or_(RedeemCode.expires_at.is_(None), RedeemCode.expires_at > now)


def _new_code() -> str:
    symbols = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
    return "-".join([PREFIX, *(symbols[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP))])


def _normal(typed: str) -> str:
    """Return the 16 symbols of a code as somebody has typed it. Raises CodeRefused."""
    if len(typed) > _TYPED_LIMIT:
        raise CodeRefused
    # fullwidth digits, hyphens and dashes of every kind, and what comes along when one copies from a mail
    letters = "".join(c for c in unicodedata.normalize("NFKC", typed).upper() if c.isalnum())
    symbols = letters.removeprefix(PREFIX) if len(letters) > _LENGTH else letters
    symbols = symbols.translate(_MISREAD)
    if len(symbols) != _LENGTH or not set(symbols) <= set(_ALPHABET):
        raise CodeRefused
    return symbols


def _hashed(code: str) -> str:
    # A plain hash will do: these are 80 random bits, which nobody can guess by trying.
    return sha256(code.encode()).hexdigest()
