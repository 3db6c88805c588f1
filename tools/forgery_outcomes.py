"""What becomes of programs that forge what they hand over, and where that is not as it should be."""

import json
import time
from collections import Counter
from dataclasses import dataclass, field

from graders.faults import GraderFault
from graders.grader import Grader
from graders.reporting.assembly import MAX_REPORT_BYTES
from tools.forged_observations import task

MOST_S = 3.0


@dataclass
class Seen:
    """What came of the examples so far."""

    verdicts: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    bad: list[str] = field(default_factory=list)

    def grade(self, grader: Grader, exercise: str, source: str) -> None:
        """Grade one, and look at it."""
        begun_s = time.monotonic()
        try:
            report = grader.grade(task(exercise), source, seed="fuzz")
        except GraderFault as fault:
            self.verdicts["grader_fault"] += 1
            self.bad.append(f"{fault!s:.300}\n{edits(source)}")
            return
        took_s = time.monotonic() - begun_s
        self.verdicts[report.verdict.value] += 1
        self.longest_s = max(self.longest_s, took_s)
        size = len(json.dumps(report.to_json()))
        if took_s > MOST_S or size > MAX_REPORT_BYTES:
            self.bad.append(f"{took_s:.1f} s, {size} bytes\n{edits(source)}")


def edits(source: str) -> str:
    """The line of a forging program that says what it forges."""
    return next(line for line in source.splitlines() if line.startswith("_EDITS"))[:2000]
