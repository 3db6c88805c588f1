"""An entry of the audit log in words: what was done, and what differs from before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.models import AuditEntry
from app.web.http.templates import utc

_ACTIONS = {
    "plan.limits": "Limits of a plan",
    "user.plan": "Plan of a user",
    "user.role": "Role of a user",
    "user.override": "Limit for one user",
    "user.extra": "Messages given on top",
    "user.reset": "Counter reset",
    "user.block": "User blocked",
    "user.unblock": "User let in again",
    "codes.make": "Codes made",
    "codes.revoke": "Codes revoked",
    "tutor.policy": "Ceilings of the tutor",
}
_NOTHING = "none"
_MAYBE_MOMENT = 19  # characters of 2027-01-31T12:00:00


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was."""

    name: str
    before: str | None
    """None if there was nothing."""
    after: str | None


@dataclass(frozen=True)
class Changes:
    """What an entry says."""

    action: str
    differences: list[Difference]


def changes(entry: AuditEntry) -> Changes:
    """Return what an entry says, without what stayed as it was."""
    before, after = dict(_flat(entry.before or {})), dict(_flat(entry.after or {}))
    names = [*before, *(name for name in after if name not in before)]
    differing = [name for name in names if before.get(name, _NOTHING) != after.get(name, _NOTHING)]
    return Changes(
        action=_ACTIONS.get(entry.action, entry.action),
        differences=[Difference(name, before.get(name), after.get(name)) for name in differing],
    )


def _flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value with the names that lead to it."""
    for key, value in values.items():
        name = f"{within}{key.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}, ")
        else:
            yield name, _displayed(value, key)


def _displayed(value: object, key: str) -> str:
    if value is None:
        return "unlimited" if key == "amount" else _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and len(value) >= _MAYBE_MOMENT and _is_moment(value):
        return utc(value)
    return str(value)


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
