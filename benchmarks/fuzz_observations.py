"""
Does whatever a student's process may hand over end in a verdict of its own, soon, and at nobody else's cost?

    .venv/bin/python benchmarks/fuzz_observations.py [--examples 20000] [--seed N]

Programs that forge what they hand over (`tools.forged_observations`) are graded by one real grader, behind walls.
Printed: how many ended in which verdict, the longest time, and how many warm processes were restarted. Exit code 1 if
any ended in a fault of ours, took over 3 seconds, made a report over its bound, or had a warm process restarted.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from graders.grader import Grader
from tools.forged_observations import forgeries
from tools.forgery_outcomes import Seen

TELL_EVERY = 1000


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
