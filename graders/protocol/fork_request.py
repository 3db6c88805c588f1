"""What a fork is to be, as the parent asks for it and a fork server reads it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict


class ForkMessage(TypedDict):
    """A fork request as JSON."""

    do: Literal["fork"]
    scratch: str
    uid: int | None
    memory_mib: int
    wall_time_s: float


@dataclass(frozen=True)
class ForkRequest:
    """One sandboxed process, before it is there."""

    scratch: Path  # its own folder
    uid: int | None  # its own user, where we are root
    memory_mib: int
    wall_time_s: float

    def to_json(self) -> ForkMessage:
        """The message that a fork server understands."""
        return {
            "do": "fork",
            "scratch": str(self.scratch),
            "uid": self.uid,
            "memory_mib": self.memory_mib,
            "wall_time_s": self.wall_time_s,
        }

    @classmethod
    def from_json(cls, message: ForkMessage) -> "ForkRequest":
        """Read what `to_json` wrote. Raises KeyError."""
        return cls(Path(message["scratch"]), message["uid"], message["memory_mib"], message["wall_time_s"])
