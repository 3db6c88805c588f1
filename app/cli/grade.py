"""`kelolo grade`: files against one exercise, without a server or a database; here what is told of a single one."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.authoring import CodeExercise, Question, load_exercise
from app.cli.configuration import settings_from
from app.cli.exercise_files import WallsMissing, find_exercise, read_source
from app.cli.grade_many import FAULT, NOT_PASSED, grade_many
from graders.faults import GraderFault
from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict
from graders.reporting.vocabulary import CHECK_WORDS, VERDICT_WORDS, grader_failed
from graders.sandbox.layers import missing
from graders.trials import new_seed

_STYLES = {CheckStatus.PASSED: "green", CheckStatus.FAILED: "red", CheckStatus.NOT_RUN: "dim"}
_MARK_WIDTH = max(map(len, CHECK_WORDS.values()))


def describe(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.add_argument("exercise", metavar="EXERCISE", help="an exercise's id, or the folder it is in")
    parser.add_argument(
        "files", metavar="FILE", type=Path, nargs="+", help="the student's Python file; or several, or folders of them"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the whole report as JSON; of several files, one object a line"
    )
    parser.add_argument("--seed", metavar="SEED", help="repeat the trials of an earlier report")
    parser.set_defaults(handler=grade_files)


def grade_files(args: argparse.Namespace) -> int:
    """Grade, print, and say in the exit code how it went."""
    exercise = load_exercise(find_exercise(args.exercise, settings_from(args).exercises))
    seed = args.seed or new_seed()
    if len(args.files) > 1 or args.files[0].is_dir():
        return grade_many(exercise, args.files, seed=seed, as_json=args.json)
    source = read_source(args.files[0])
    try:
        report = _report(exercise, source, seed)
    except GraderFault as fault:
        sys.stderr.write(f"{grader_failed(fault)}\n")
        return FAULT
    print(json.dumps(report.to_json(), indent=1)) if args.json else _show(exercise, report)
    return 0 if report.verdict is Verdict.PASSED else NOT_PASSED


def _report(exercise: CodeExercise | Question, source: str, seed: str) -> Report:
    if isinstance(exercise, Question):
        return exercise.task(1).grade(source)
    advice = missing()
    if advice:
        raise WallsMissing(advice=" ".join(advice))
    with tempfile.TemporaryDirectory(prefix="kelolo-") as scratch, Grader(scratch=Path(scratch)) as grader:
        return grader.grade(exercise.task(1), source, seed=seed)


def _show(exercise: CodeExercise | Question, report: Report) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{escape(exercise.title)}[/]: [bold]{VERDICT_WORDS[report.verdict]}[/]")
    if report.note:
        console.print(escape(report.note))
    if report.misconception:
        console.print(f"[yellow]{escape(report.misconception.message)}[/]")
    if report.error:
        where = f", line {report.error.line}" if report.error.line else ""
        console.print(f"[red]{escape(report.error.type)}{where}[/]: {escape(report.error.message)}")
        console.print(escape(report.error.explanation))
    for check in report.checks:
        console.print(f"  [{_STYLES[check.status]}]{CHECK_WORDS[check.status]:{_MARK_WIDTH}}[/]  {escape(check.title)}")
        if check.message and check.status is not CheckStatus.PASSED:
            console.print(f"{' ' * (_MARK_WIDTH + 4)}{escape(check.message)}")
    for title, text in (("The lesson's check", report.report), ("Your output", report.output)):
        if text:
            console.print(f"\n[bold]{title}[/]\n{escape(text.rstrip())}", soft_wrap=True)
    console.print(f"\n[dim]{report.timing_ms.total:.0f} ms, seed {report.seed}[/]")
