"""
Does the offline tutor find the card that a question is about, and does it know when there is none?

    .venv/bin/python benchmarks/card_search.py [--missed]

In turn, one wording of every card is held out and asked of an index that has never seen it. *Recall* is how many of
these questions get their own card, *precision* how many of those answered do. Beside them stand questions about
something else (tests/tutor/off_topic.txt), none of which should be answered. `--missed` lists what went wrong.
"""

import argparse
import sys
from statistics import median

from app.services.tutor.offline.finding.card_index import GOOD_ENOUGH
from tools.card_search import asked_of_all, asked_of_held_out, figures, off_topic

THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)


def main() -> int:
    """Ask all, print the table; exit code 1 if the threshold in use serves questions about something else."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--missed", action="store_true", help="list the questions that got another card")
    args = parser.parse_args()
    held_out = list(asked_of_held_out())
    others = list(asked_of_all(off_topic()))
    if args.missed:
        for one in (*held_out, *others):
            if one.found != one.wanted:
                print(f"{one.score:.2f} {one.question!r}: {one.found}, not {one.wanted or 'any'}")
    print(f"{len(held_out)} wordings held out, {len(others)} questions about something else")
    print(f"p50 {median(one.took_ms for one in held_out):.2f} ms")
    for threshold in sorted({*THRESHOLDS, GOOD_ENOUGH}):
        found = figures(held_out, threshold)
        served = sum(one.score >= threshold for one in others)
        mark = " <- in use" if threshold == GOOD_ENOUGH else ""
        print(
            f"threshold {threshold:.2f}: recall {found[0]:.3f}, precision {found[1]:.3f}, something else {served}{mark}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
