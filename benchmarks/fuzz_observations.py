"""
Does whatever a student's process may hand over end in a verdict of its own, soon, and at nobody else's cost?

    .venv/bin/python benchmarks/fuzz_observations.py [--examples 20000] [--seed N]

Programs that forge what they hand over (`benchmarks.forged_observations`) are graded by one real grader, behind walls.
Printed: how many ended in which verdict, the longest time, and how many warm processes were restarted. Exit code 1 if
any ended in a fault of ours, took over 3 seconds, made a report over its bound, or had a warm process restarted.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from benchmarks.forged_observations import forgeries, task
from graders.faults import GraderFault
from graders.grader import Grader
from graders.reporting.assembly import MAX_REPORT_BYTES

MOST_S = 3.0
TELL_EVERY = 1000


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


def main() -> int:
    """Grade as many as asked for, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder, Grader(scratch=Path(folder)) as grader:

        @seeded(asked.seed)
        @settings(
            max_examples=asked.examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(forgeries())
        def example(forgery: tuple[str, str]) -> None:
            seen.grade(grader, *forgery)
            if sum(seen.verdicts.values()) % TELL_EVERY == 0:
                so_far = f"{dict(seen.verdicts.most_common())}, longest {seen.longest_s:.2f} s"
                print(f"  {so_far}, not as it should be {len(seen.bad)}", *seen.bad[-1:], flush=True)

        begun_s = time.monotonic()
        example()
        took_s, restarts = time.monotonic() - begun_s, grader.restarts
    print(f"{sum(seen.verdicts.values())} examples in {took_s:.0f} s: {dict(seen.verdicts.most_common())}")
    print(f"longest {seen.longest_s:.2f} s, warm processes restarted {restarts}, not as it should be {len(seen.bad)}")
    for one in seen.bad[:20]:
        print(one)
    return 1 if seen.bad or restarts else 0


if __name__ == "__main__":
    sys.exit(main())
