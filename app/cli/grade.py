"""`kelolo grade`: one file against one exercise, without a server or a database."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.authoring import Exercise, Question, load_exercise
from app.cli.configuration import settings_from
from app.errors import AppError, BadRequest, NotFound
from app.services.sources import checked_source
from graders.faults import GraderFault
from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict
from graders.sandbox.walls import missing
from graders.task import MAX_SOURCE_BYTES
from graders.trials import new_seed

EXERCISE_FILE = "exercise.yaml"
NOT_PASSED, FAULT = 1, 3
_MARKS = {
    CheckStatus.PASSED: "[green]passed [/]",
    CheckStatus.FAILED: "[red]failed [/]",
    CheckStatus.NOT_RUN: "[dim]not run[/]",
}


class WallsMissing(AppError):
    """This machine lacks a wall without which no student's code may run."""

    title = "This machine cannot run students' code safely"
    message = "A wall is missing on this machine, so nothing was run. {advice}"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Describe the command."""
    grade = subparsers.add_parser("grade", help="grade one file, without a server")
    grade.add_argument("exercise", metavar="EXERCISE", help="an exercise's id, or the folder it is in")
    grade.add_argument("file", metavar="FILE", type=Path, help="the student's Python file")
    grade.add_argument("--json", action="store_true", help="print the whole report as JSON")
    grade.add_argument("--seed", metavar="SEED", help="repeat the trials of an earlier report")
    grade.set_defaults(handler=grade_file)


def grade_file(args: argparse.Namespace) -> int:
    """Grade, print, and say in the exit code how it went."""
    exercise = load_exercise(find_exercise(args.exercise, settings_from(args).exercises))
    source = read_source(args.file)
    try:
        report = _report(exercise, source, args.seed or new_seed())
    except GraderFault as fault:
        sys.stderr.write(f"The grader itself failed, which says nothing about this code: {fault}\n")
        return FAULT
    print(json.dumps(report.to_json(), indent=1)) if args.json else _show(exercise, report)
    return 0 if report.verdict is Verdict.PASSED else NOT_PASSED


def _report(exercise: Exercise | Question, source: str, seed: str) -> Report:
    if isinstance(exercise, Question):
        return exercise.task(1).grade(source)
    advice = missing()
    if advice:
        raise WallsMissing(advice=" ".join(advice))
    with tempfile.TemporaryDirectory(prefix="kelolo-") as scratch, Grader(scratch=Path(scratch)) as grader:
        return grader.grade(exercise.task(1), source, seed=seed)


def find_exercise(name: str, exercises: Path) -> Path:
    """
    Return the folder of an exercise.

    Args:
        name: a folder, an `exercise.yaml`, or an id.
        exercises: where ids are looked for.

    Raises:
        NotFound: there is none.
    """
    path = Path(name)
    if path.name == EXERCISE_FILE and path.is_file():
        return path.parent
    if (path / EXERCISE_FILE).is_file():
        return path
    for found in sorted(exercises.rglob(EXERCISE_FILE)):
        if found.parent.name == name:
            return found.parent
    raise NotFound(what="exercise", name=name)


def read_source(path: Path) -> str:
    """Return a student's file as text. Raises BadRequest, SourceTooLarge or SourceNotText."""
    if path.exists() and not path.is_file():
        raise BadRequest(reason=f"{path} is not a file.")
    try:
        with path.open("rb") as file:
            raw = file.read(4 * MAX_SOURCE_BYTES)
    except OSError as fault:
        raise BadRequest(reason=f"{path} cannot be read: {fault.strerror}.") from None
    try:
        return checked_source(raw.decode("utf-8"))
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise BadRequest(reason=f"{path} is not UTF-8 text (line {line}). Save it as UTF-8.") from None


def _show(exercise: Exercise | Question, report: Report) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{escape(exercise.title)}[/]: [bold]{report.verdict.value.replace('_', ' ')}[/]")
    if report.note:
        console.print(escape(report.note))
    if report.misconception:
        console.print(f"[yellow]{escape(report.misconception.message)}[/]")
    if report.error:
        where = f", line {report.error.line}" if report.error.line else ""
        console.print(f"[red]{escape(report.error.type)}{where}[/]: {escape(report.error.message)}")
        console.print(escape(report.error.explanation))
    for check in report.checks:
        console.print(f"  {_MARKS[check.status]}  {escape(check.title)}")
        if check.message and check.status is not CheckStatus.PASSED:
            console.print(f"           {escape(check.message)}")
    for title, text in (("The lesson's check", report.report), ("Your output", report.output)):
        if text:
            console.print(f"\n[bold]{title}[/]\n{escape(text.rstrip())}", soft_wrap=True)
    console.print(f"\n[dim]{report.timing_ms.total:.0f} ms, seed {report.seed}[/]")
