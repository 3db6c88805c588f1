"""What is found out about an exercise before anything is graded: what its draws are like, and what raises on them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Survey:
    """An exercise's own code on the lesson's data and on many draws."""

    drawn: int = 0  # candidates for fresh data
    accepted: int = 0  # of these, the ones that `require` lets through
    faults: tuple[str, ...] = ()  # for which nothing can be graded, each reported once
    report_faults: tuple[str, ...] = ()  # statements of `report` that raise on the solution's values
    judge_faults: tuple[str, ...] = ()  # statements of `judge` that raise on them, on the draw that showed it first
    unvaried: tuple[str, ...] = ()  # inputs that are the lesson's own in every fresh trial
    unseeded: tuple[str, ...] = ()  # inputs that differ from one run to the next
    equal_sizes: tuple[tuple[str, str, int], ...] = ()  # two parameters, and a size that both had at once

    @property
    def share(self) -> float:
        """Of the candidates that are accepted, 0 to 1."""
        return self.accepted / self.drawn if self.drawn else 1.0

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> "Survey":
        """Read what a judge's run found. Raises KeyError, TypeError or ValueError if it is not that."""
        texts = {
            name: tuple(str(one)[:1000] for one in raw[name][:20])
            for name in ("faults", "report_faults", "judge_faults", "unvaried", "unseeded")
        }
        pairs = tuple((str(one), str(other), int(size)) for one, other, size in raw["equal_sizes"][:20])
        return cls(drawn=int(raw["drawn"]), accepted=int(raw["accepted"]), equal_sizes=pairs, **texts)
