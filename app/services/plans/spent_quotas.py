"""
Keeping what a deleted account had used, for whoever signs up with its address again.

An allowance that says "ever" would else begin anew with each deletion. Kept are a keyed hash of the address, which
cannot be read back, and the counters that still run; for 24 months, or until the day or month is over that they count.
The privacy page says so.
"""

from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.db import upsert
from app.models import Account, Period, SpentQuota, UsageCounter
from app.services.keyed_hash import KeyedHash
from app.services.plans import quotas

KEPT_MONTHS = 24
_KEPT_FOR = timedelta(days=730)
_COUNTED = (Period.DAY, Period.MONTH, Period.LIFETIME)


def remember(session: Session, account: Account, *, keyed_hash: KeyedHash) -> None:
    """Keep what an account has used that is about to be deleted. Of a guest, who has no address, nothing is kept."""
    if account.email is None:
        return
    address_hash = keyed_hash.of("address", account.email)
    ends = _ends(utc_now())
    counters = select(UsageCounter).where(
        UsageCounter.account_id == account.id, UsageCounter.period_key.in_(ends), UsageCounter.used > 0
    )
    for one in session.scalars(counters).all():
        row = {
            "address_hash": address_hash,
            "rule": one.rule,
            "period_key": one.period_key,
            "used": one.used,
            "kept_until": ends[one.period_key],
        }
        insertion = upsert(session, SpentQuota).values(row)
        session.execute(
            insertion.on_conflict_do_update(
                index_elements=["address_hash", "rule", "period_key"],
                set_={"used": SpentQuota.used + insertion.excluded.used, "kept_until": row["kept_until"]},
            )
        )


def take_over(session: Session, account: Account, *, keyed_hash: KeyedHash) -> None:
    """Count for an account, which has just got its address, what was used under that address before."""
    if account.email is None:
        return
    known = SpentQuota.address_hash == keyed_hash.of("address", account.email)
    for one in session.scalars(select(SpentQuota).where(known, SpentQuota.kept_until > utc_now())).all():
        quotas.add(session, account.id, one.rule, one.period_key, number=one.used)
    session.execute(delete(SpentQuota).where(known))


def forget_old(session: Session, *, now: datetime) -> None:
    """Forget what is kept long enough."""
    session.execute(delete(SpentQuota).where(SpentQuota.kept_until < now))


def _ends(now: datetime) -> dict[str, datetime]:
    """Return the keys of the periods that run now, each with until when it is to be kept."""
    return {quotas.key_of(one, now): quotas.end_of(one, now) or now + _KEPT_FOR for one in _COUNTED}
