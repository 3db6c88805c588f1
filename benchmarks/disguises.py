"""
Does a wrong program stay wrong, and a right one right, whatever tables start with and however coarse numbers are?

    .venv/bin/python benchmarks/disguises.py [--only EXERCISE] [--seeds N] [--every N]

Every wrong variant of the shipped exercises in every disguise of `app.authoring.self_test.disguises`, and every
solution in those that change a start only. With `--every 7` each variant is tried in one disguise of seven. Exit code 1
if a wrong one passes or a right one does not.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from app.authoring import load_code_exercise
from app.authoring.exercise import CodeExercise
from app.authoring.self_test.disguises import DISGUISES
from app.authoring.self_test.runner import variant_source
from app.settings import ROOT
from graders.grader import Grader
from graders.report import Verdict


def exercises(only: str) -> list[CodeExercise]:
    """Return the shipped exercises that are solved by code."""
    paths = sorted((ROOT / "exercises").rglob("exercise.yaml"))
    code = [one for one in paths if "kind: question" not in one.read_text(encoding="utf-8")]
    return [load_code_exercise(one.parent) for one in code if only in one.parent.name]


def tried(grader: Grader, exercise: CodeExercise, *, seeds: int, every: int) -> tuple[Counter[str], list[str]]:
    """Try one exercise; verdicts by kind of program, and what went wrong."""
    task, counts, amiss = exercise.task(1), Counter[str](), list[str]()
    for turn in range(seeds):
        for place, disguise in enumerate(DISGUISES):
            programs = [
                (False, wrong.tag, variant_source(exercise, wrong))
                for number, wrong in enumerate(exercise.wrong)
                if (number + place + turn) % every == 0
            ]
            programs += [(True, "the solution", exercise.solution)] if disguise.is_start else []
            for right, name, source in programs:
                report = grader.grade(task, disguise.on(exercise, source), seed=f"{turn}")
                counts[f"{'right' if right else 'wrong'} {report.verdict.value}"] += 1
                if (report.verdict is Verdict.PASSED) is not right:
                    amiss.append(f"{exercise.id}: {name} with {disguise.name}, seed {turn}: {report.verdict.value}")
    return counts, amiss


def main() -> None:
    """Try all, and print a line for each exercise."""
    parser = argparse.ArgumentParser(description="wrong variants in disguise")
    parser.add_argument("--only", default="", help="exercises with this in their name")
    parser.add_argument("--seeds", type=int, default=1, help="how often each is tried")
    parser.add_argument("--every", type=int, default=1, help="one disguise of so many for each variant and seed")
    options = parser.parse_args()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as scratch, Grader(scratch=Path(scratch)) as grader:
        for exercise in exercises(options.only):
            begun = time.perf_counter()
            counts, amiss = tried(grader, exercise, seeds=options.seeds, every=options.every)
            faults += amiss
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            print(f"{exercise.id}: {told} in {time.perf_counter() - begun:.0f} s", flush=True)
    print("\n".join(faults) or "every wrong one was refused, every right one passed")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
