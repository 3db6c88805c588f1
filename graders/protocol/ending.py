"""How a run came to its end without the frame that was waited for, and what it printed until then."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Loop:
    """A loop of the student's text that had not come to its end."""

    line: int
    word: str  # for | while
    unchanged: tuple[str, ...] = ()  # names that its condition asks about, if nothing in it changes any of them
    no_way_out: bool = False  # is its condition always true, with nothing inside that leaves it?


class Ended(Exception):
    """A run is over without the frame that was waited for; `how` says why."""

    def __init__(self, how: str, *, status: int | None = None, line: int | None = None) -> None:
        """
        How it ended.

        Args:
            how: time | waiting | starved | cpu | memory | disk | output | gone | garbled; unjudged | costly: a judge
                could not look at it.
            status: the wait status, where it is known.
            line: of the student's code that ended it, where that is known.
        """
        super().__init__(how)
        self.how = how
        self.status = status
        self.line = line
        self.loop: Loop | None = None  # that it was in when its time was over, where that is known


@dataclass
class PrintedOutput:
    """What a run printed, as far as it is kept."""

    keep_bytes: int
    abort_bytes: int
    kept: bytearray = field(default_factory=bytearray)
    seen_bytes: int = 0

    def add(self, part: bytes) -> None:
        """Keep the beginning, count the rest."""
        self.seen_bytes += len(part)
        self.kept += part[: max(0, self.keep_bytes - len(self.kept))]

    @property
    def truncated(self) -> bool:
        """Was there more than is kept?"""
        return self.seen_bytes > len(self.kept)

    def check(self) -> None:
        """Raise Ended if so much was printed that the run is to be ended."""
        if self.seen_bytes > self.abort_bytes:
            raise Ended("output")
