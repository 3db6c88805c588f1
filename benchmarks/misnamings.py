"""
Is anybody told of a mix-up that never was? Every common slip in every shipped exercise, and what each is called.

    .venv/bin/python benchmarks/misnamings.py [--only EXERCISE] [--list]

Exit code 1 where a slip, a right solution or a wrong variant has a name that is not its own.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from app.authoring import CodeExercise
from app.authoring.self_test.runner import variant_source
from app.authoring.self_test.slip_catalogue import SLIPS
from graders.grader import Grader
from graders.report import Verdict
from tools.exercises import code_exercises

SEED = "misnamings"


def main() -> int:
    """Grade them all, print what is named, and say in the exit code whether all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--only", default="", help="the id of one exercise")
    parser.add_argument(
        "--list", action="store_true", help="a line for every program, not only for those that are named"
    )
    args = parser.parse_args()
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kelolo-misnamings-") as folder, Grader(scratch=Path(folder)) as grader:
        for exercise in code_exercises(args.only):
            task = exercise.task(1)
            for name, source, own in programs(exercise):
                report = grader.grade(task, source, seed=SEED)
                tag = report.misconception.tag if report.misconception else ""
                kind = ("named" if tag in own else "MISNAMED") if tag else "not named"
                if tag and report.verdict is Verdict.PASSED:
                    kind = "MISNAMED"
                counted[kind] += 1
                if args.list or (tag and not name.startswith("variant")) or kind == "MISNAMED":
                    failed = [one.id for one in report.checks if one.status == "failed"]
                    print(
                        f"{kind:9} {exercise.id}: {name}: {report.verdict}, failed {failed}, {tag or '-'}", flush=True
                    )
    print(f"{len(SLIPS)} slips: {dict(counted)}")
    return 1 if counted["MISNAMED"] else 0


def programs(exercise: CodeExercise) -> Iterator[tuple[str, str, frozenset[str]]]:
    """What it is, the program, and the names that it may be given."""
    for slip in SLIPS:
        source = slip.on(exercise)
        if source is not None:
            yield f"slip {slip.name}", source, slip.tags
    yield "the solution", exercise.solution, frozenset()
    for number, right in enumerate(exercise.equivalents):
        yield f"equivalent {number}", right.code, frozenset()
    for number, wrong in enumerate(exercise.wrong):
        yield f"variant {number} {wrong.tag}", variant_source(exercise, wrong), frozenset({wrong.tag})


if __name__ == "__main__":
    sys.exit(main())
