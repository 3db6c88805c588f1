"""
Does the grader say what a good teacher would say? Every labelled submission, and a table of where the two differ.

    .venv/bin/python benchmarks/accuracy.py [--only EXERCISE] [--list] [--json]

For each submission in tests/cases: is the verdict the label's, are the checks that fail those that must or may fail,
and is the misconception named? Exit code 1 below the bar: every verdict, every check that is not a matter of debate,
60 % of the misconceptions, and none named on a right solution.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Task
from tools.exercises import task_of
from tools.labelled_cases import Case, cases, checks_as_labelled, naming, reported

WANTED_SHARE_NAMED = 0.6
SEED = "accuracy"


@dataclass
class Figures:
    """What came out, counted."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)  # (label, report)
    checks: Counter[str] = field(default_factory=Counter)  # right | wrong | debatable
    named: Counter[str] = field(default_factory=Counter)  # right | not named | wrong | on a right solution
    notes: list[str] = field(default_factory=list)

    def share_named(self) -> float:
        """Of the submissions with a misconception, how many have it named: 0 to 1."""
        asked = self.named["right"] + self.named["not named"] + self.named["wrong"]
        return self.named["right"] / asked if asked else 1.0

    def good_enough(self) -> bool:
        """Is the bar reached?"""
        verdicts_right = all(label == report for label, report in self.verdicts)
        names_right = self.share_named() >= WANTED_SHARE_NAMED and not self.named["on a right solution"]
        return verdicts_right and not self.checks["wrong"] and names_right


def main() -> int:
    """Grade, print, and say in the exit code whether the bar is reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--only", default="", help="the id of one exercise")
    parser.add_argument("--list", action="store_true", help="a line for every submission, not only where they differ")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    figures = Figures()
    tasks: dict[str, Task] = {}
    with tempfile.TemporaryDirectory(prefix="kelolo-accuracy-") as folder, Grader(scratch=Path(folder)) as grader:
        for case in cases(args.only):
            task = tasks.setdefault(case.exercise, task_of(case.exercise))
            report = grader.grade(task, case.path.read_text(encoding="utf-8"), seed=SEED)
            count(figures, case, report)
            if args.list:
                print(line(case, report))
    print(json.dumps(as_json(figures), indent=1) if args.json else described(figures))
    return 0 if figures.good_enough() else 1


def count(figures: Figures, case: Case, report: Report) -> None:
    """Add one submission to the figures, with a note where report and label differ."""
    passed = report.verdict is Verdict.PASSED
    figures.verdicts["pass" if case.right else "fail", "pass" if passed else "fail"] += 1
    if checks_as_labelled(case, report):
        figures.checks["right"] += 1
    else:
        figures.checks["debatable" if case.label["debatable"] else "wrong"] += 1
    named = naming(case, report)
    if named:
        figures.named[named] += 1
    if passed != case.right or not checks_as_labelled(case, report) or named not in ("", "right"):
        figures.notes.append(line(case, report))


def line(case: Case, report: Report) -> str:
    """One submission in a line: label and report."""
    found = report.misconception.tag if report.misconception else "-"
    words = f"{case.name}: {report.verdict}, failed {sorted(reported(report))}, named {found}"
    wanted = f"label: {case.label['verdict']}, {sorted(case.must_fail)} (+ {sorted(case.may_fail)}), {case.tag or '-'}"
    return f"{words}\n    {wanted}{', debatable' if case.label['debatable'] else ''}"


def as_json(figures: Figures) -> dict[str, Any]:
    """The figures as JSON-able values."""
    return {
        "verdicts": {f"{label} graded as {report}": count for (label, report), count in figures.verdicts.items()},
        "checks": dict(figures.checks),
        "misconceptions": dict(figures.named),
        "share_named": round(figures.share_named(), 3),
        "good_enough": figures.good_enough(),
        "differences": figures.notes,
    }


def described(figures: Figures) -> str:
    """The figures in lines for people."""
    table = figures.verdicts
    lines = [
        "                 graded: pass   fail",
        f"label: pass     {table['pass', 'pass']:11d} {table['pass', 'fail']:7d}",
        f"label: fail     {table['fail', 'pass']:11d} {table['fail', 'fail']:7d}",
        (
            f"failed checks as labelled: {figures.checks['right']}, not: {figures.checks['wrong']}, "
            f"not, but debatable: {figures.checks['debatable']}"
        ),
        (
            f"misconceptions named rightly: {figures.named['right']} ({figures.share_named():.0%}), "
            f"not named: {figures.named['not named']}, wrongly: {figures.named['wrong']}, "
            f"on a right solution: {figures.named['on a right solution']}"
        ),
        "",
        *figures.notes,
        "good enough" if figures.good_enough() else "BELOW THE BAR",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
