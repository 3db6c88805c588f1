"""
The judges of one slot: for each exercise one, kept from one submission to the next while all is well.

A fork costs as much as judging itself: a process's tables are copied and torn down, and every page that is used is
copied anew. A student's run pays that price because nothing that was near a student's code may live on. A judge never
runs a student's code. It reads what a student's run hands over, which is bounded, typed and checked field by field
(`graders.judge.claimed`), and runs its author's texts: the same ones for every submission to the exercise, each time
on names of their own. So what it keeps is one exercise, opened once. It is ended instead of kept

- where a text might do something that outlasts its run: change a module, a setting, a file (`graders.judge.lasting`);
- when it is not done or has reported anything but an outcome: a fault, a claim that was not as it should be;
- when the student's run did not end as a run should: what came from there is trusted least;
- when it has grown, after so many submissions, and when others are more recent.

A judge of one exercise, or of another version of it, never sees another's texts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from graders.briefs import Brief
from graders.places import Budget, Place, Places
from graders.runs import Run

JUDGE_TIME_S = 20.0  # for one submission, kept from outside
SUBMISSIONS_BEFORE_NEW = 200
JUDGE_BUDGET = Budget(memory_mib=1024, wall_time_s=JUDGE_TIME_S * SUBMISSIONS_BEFORE_NEW)  # in all its life
_KEPT = 4
_GROWN_BYTES = 128 * 1024 * 1024


@dataclass
class Judging:
    """A judge at one submission."""

    place: Place
    brief: Brief
    first_bytes: int = 0  # of its own memory, once it has had a submission
    submissions: int = 0
    well: bool = False  # set once its outcome is in order: only then is it kept

    @property
    def run(self) -> Run:
        """Its process."""
        return self.place.run

    def begin(self, submission: dict[str, Any]) -> None:
        """Tell it of the next submission. Raises GraderFault."""
        self.run.give(self.brief.for_judge(submission, opened=self.submissions > 0))
        self.submissions += 1
        self.well = False

    def worth_keeping(self) -> bool:
        """Is it as good as a new one?"""
        try:
            now_bytes = self.run.resident_bytes(files=False)
            clean = not self.run.written()
        except (OSError, ValueError):
            return False  # gone, or closed to us
        self.first_bytes = self.first_bytes or now_bytes
        grown = now_bytes > self.first_bytes + _GROWN_BYTES
        fresh = clean and not grown and self.submissions < SUBMISSIONS_BEFORE_NEW
        return self.well and fresh and not self.brief.lasting


class Judges:
    """Not thread-safe."""

    def __init__(self, places: Places) -> None:
        """`places`: where they run."""
        self._places = places
        self._kept: dict[tuple[str, int], Judging] = {}
        self.begun = 0  # how many were started

    @contextmanager
    def take(self, brief: Brief, submission: dict[str, Any]) -> Iterator[Judging]:
        """
        A judge that has been told of a submission; it is kept if it is `well` at the end.

        Args:
            brief: of the exercise.
            submission: as `Brief.for_judge` wants it.

        Raises:
            GraderFault: it cannot be started.
        """
        judging = self._kept.pop(brief.key, None)
        if judging is not None and (judging.brief is not brief or not judging.run.alive()):
            self._places.leave(judging.place)
            judging = None
        if judging is None:
            self.begun += 1
            judging = Judging(self._places.enter("judge", JUDGE_BUDGET), brief)
        try:
            judging.begin(submission)
            yield judging
        except BaseException:
            self._places.leave(judging.place)
            raise
        self._keep(judging)

    def _keep(self, judging: Judging) -> None:
        if not judging.worth_keeping():
            self._places.leave(judging.place)
            return
        self._kept[judging.brief.key] = judging
        while len(self._kept) > _KEPT:
            self._places.leave(self._kept.pop(next(iter(self._kept))).place)

    def close(self) -> None:
        """End those that are kept."""
        while self._kept:
            self._places.leave(self._kept.popitem()[1].place)
