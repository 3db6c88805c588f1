"""What administrators see of the tutor as a whole, and what they allow it."""

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.clock import utc_now
from app.errors import LimitRefused
from app.models import Account, MessageState, Period, TokenMonth, TutorMessage, TutorPolicy
from app.services import audit
from app.services.audit import Change
from app.services.plans import quotas

MOST_TOKENS = 2_000_000_000
"""As many as the column holds."""
MOST_FAILURES = 10_000
MOST_UPGRADE_TEXT = 600
"""Characters."""


@dataclass(frozen=True)
class Policy:
    """What the tutor may do."""

    month_token_ceiling: int
    """Tokens that a hosted model may cost in a month. At 0 it is never called."""
    failures_per_day: int
    """How many failed messages an account gets back in a day."""
    upgrade_text: str = ""
    """How one gets more messages here; empty for what the page says by itself."""

    def to_json(self) -> dict[str, object]:
        """Return it as the API and the audit log have it."""
        return asdict(self)


@dataclass(frozen=True)
class Month:
    """How the tutor was used in the month that runs now."""

    begins: datetime
    tokens_reserved: int
    tokens_spent: int
    settled: int
    reserved: int
    released: int
    helped: int
    """Answers rated as helpful."""
    not_helped: int

    @property
    def messages(self) -> int:
        """All that were sent."""
        return self.settled + self.reserved + self.released


def policy_of(session: Session) -> Policy:
    """Return what the tutor may do now."""
    row = session.get_one(TutorPolicy, 1, populate_existing=True)
    return Policy(row.month_token_ceiling, row.failures_per_day, row.upgrade_text)


def locked_policy(session: Session) -> Policy:
    """Return the same, and let nobody else change it until this transaction is over."""
    session.execute(select(TutorPolicy.id).where(TutorPolicy.id == 1).with_for_update())
    return policy_of(session)


def set_policy(session: Session, policy: Policy, *, by: Account | None, reason: str = "") -> None:
    """Change what the tutor may do, from its next answer on. Raises LimitRefused."""
    if not 0 <= policy.month_token_ceiling <= MOST_TOKENS:
        raise LimitRefused(reason=f"The ceiling is a whole number from 0 to {MOST_TOKENS} tokens.")
    if not 0 <= policy.failures_per_day <= MOST_FAILURES:
        raise LimitRefused(reason=f"Failures a day are a whole number from 0 to {MOST_FAILURES}.")
    if len(policy.upgrade_text) > MOST_UPGRADE_TEXT:
        raise LimitRefused(reason=f"How one gets more has at most {MOST_UPGRADE_TEXT} characters.")
    before = locked_policy(session)
    if before == policy:
        return
    row = session.get_one(TutorPolicy, 1)
    row.month_token_ceiling, row.failures_per_day = policy.month_token_ceiling, policy.failures_per_day
    row.upgrade_text = policy.upgrade_text
    session.flush()
    audit.record(
        session, Change("tutor.policy", "tutor", "1", "tutor", before.to_json(), policy.to_json(), reason), by=by
    )


def this_month(session: Session) -> Month:
    """Return how the tutor was used since the month began."""
    now = utc_now()
    begins = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    since = TutorMessage.reserved_at >= begins
    kinds = (TutorMessage.state, TutorMessage.rating)
    by_state, by_rating = Counter[MessageState](), Counter[int | None]()
    for state, rating, number in session.execute(select(*kinds, func.count()).where(since).group_by(*kinds)):
        by_state[state] += number
        by_rating[rating] += number
    tokens = session.get(TokenMonth, quotas.key_of(Period.MONTH, now), populate_existing=True)
    return Month(
        begins=begins,
        tokens_reserved=tokens.reserved if tokens else 0,
        tokens_spent=tokens.spent if tokens else 0,
        settled=by_state[MessageState.SETTLED],
        reserved=by_state[MessageState.RESERVED],
        released=by_state[MessageState.RELEASED],
        helped=by_rating[1],
        not_helped=by_rating[-1],
    )
