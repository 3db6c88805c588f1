"""
Does the tutor say what a good teacher would say? The sixty questions, and where the answers fall short.

    .venv/bin/python benchmarks/tutor.py [--list] [--grade] [--questions FILE]

Each question of tests/tutor/questions.yaml is asked in its situation, with the passages that the search finds in a
database made for the purpose. `--list` prints every answer; `--grade` grades the code of all situations anew and
writes tests/tutor/reports.json. Exit code 1 below the bar: 54 of 60, and no solution given away.
"""

import argparse
import json
import sys
from pathlib import Path

from app.services.tutor.offline.asked import Reply
from tools.tutor_questions import QUESTIONS, REPORTS, answered, cases, faults_of, graded, imported, text_of

BAR = 0.9


def main() -> int:
    """Ask, print, and say in the exit code whether the bar is reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print every answer")
    parser.add_argument("--grade", action="store_true", help="grade all situations anew first")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="other questions")
    args = parser.parse_args()
    if args.grade:
        REPORTS.write_text(json.dumps(graded(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    asked = cases(args.questions)
    with imported() as database:
        answers = [(case, answered(database, case)) for case in asked]
    faults = [(case, answer, faults_of(case, answer)) for case, answer in answers]
    for case, answer, found in faults:
        if found or args.list:
            print(f"{case.of}: {case.ask}\n\n{_indented(answer)}\n\n  -> {'; '.join(found) or 'right'}\n")
    right = sum(not found for *_, found in faults)
    leaks = sum(any(one.startswith("gives away") for one in found) for *_, found in faults)
    print(f"right: {right} of {len(faults)}, solutions given away: {leaks}")
    return 0 if right >= BAR * len(faults) and not leaks else 1


def _indented(answer: Reply) -> str:
    sources = "".join(f"\n[{one.title}]({one.address})" for one in answer.sources)
    return "\n".join(f"  {line}" for line in (text_of(answer) + sources).splitlines())


if __name__ == "__main__":
    sys.exit(main())
