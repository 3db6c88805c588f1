"""Many files against one exercise: one warm grader, a line for each file, and none that stops the others."""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from app.authoring import CodeExercise, Question
from app.cli.exercise_files import WallsMissing, read_source
from app.errors import AppError, BadRequest
from graders.faults import GraderFault
from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict
from graders.reporting.vocabulary import NOT_GRADED, VERDICT_WORDS, grader_failed
from graders.sandbox.layers import missing

NOT_PASSED, FAULT = 1, 3
_STYLES = {Verdict.PASSED: "green", Verdict.GRADER_FAULT: "magenta"}


@dataclass(frozen=True)
class Graded:
    """What became of one file: a report, or a sentence that says why there is none."""

    path: Path
    report: Report | None = None
    problem: str = ""
    is_our_fault: bool = False

    @property
    def passed(self) -> bool:
        """Is everything right?"""
        return self.report is not None and self.report.verdict is Verdict.PASSED

    @property
    def verdict(self) -> Verdict | None:
        """How it ended; None: it was not graded, because there was nothing to grade."""
        if self.is_our_fault:
            return Verdict.GRADER_FAULT
        return self.report.verdict if self.report else None

    def to_json(self) -> str:
        """One line."""
        path = _printable(str(self.path))
        if self.report is not None:
            return json.dumps({"path": path, **self.report.to_json()})
        return json.dumps({"path": path, "verdict": self.verdict, "problem": self.problem})

    def first_sentence(self) -> str:
        """The first thing to know about it."""
        if self.report is None:
            return self.problem
        if self.report.misconception:
            return self.report.misconception.message
        if self.report.error:
            line = f", line {self.report.error.line}" if self.report.error.line else ""
            return f"{self.report.error.type}{line}: {self.report.error.message}"
        failed = (one.message for one in self.report.checks if one.status is CheckStatus.FAILED)
        return self.report.note or next(failed, "")


def grade_many(exercise: CodeExercise | Question, named: Sequence[Path], *, seed: str, as_json: bool) -> int:
    """
    Grade all of them, print, and say in the exit code whether all have passed.

    Args:
        exercise: which one.
        named: files, and folders of files.
        seed: one for all, so that all get the same trials.
        as_json: print a JSON object a line, each as soon as it is known, instead of a table.
    """
    files = list(dict.fromkeys(path for one in named for path in _files_of(one, _endings(exercise))))
    found = []
    with ExitStack() as stack, Progress(console=Console(stderr=True), transient=True) as progress:
        grader = _grader(exercise, stack)
        for path in progress.track(files, description="Grading"):
            found.append(_graded(exercise, path, grader=grader, seed=seed))
            if as_json:
                sys.stdout.write(f"{found[-1].to_json()}\n")
                sys.stdout.flush()
    if not as_json:
        _show(exercise, found, seed=seed)
    if any(one.is_our_fault for one in found):
        return FAULT
    return 0 if all(one.passed for one in found) else NOT_PASSED


def _endings(exercise: CodeExercise | Question) -> tuple[str, ...]:
    return (".py", ".txt") if isinstance(exercise, Question) else (".py",)


def _files_of(named: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """A file itself, or those in a folder, at any depth, but for hidden ones."""
    if not named.is_dir():
        yield named
        return
    inside = (path for path in sorted(named.rglob("*")) if path.suffix in endings and path.is_file())
    found = [path for path in inside if not any(_is_hidden(part) for part in path.relative_to(named).parts)]
    yield from found or [named]  # an empty folder is told as what it is


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def _grader(exercise: CodeExercise | Question, stack: ExitStack) -> Grader | None:
    if isinstance(exercise, Question):
        return None
    advice = missing()
    if advice:
        raise WallsMissing(advice=" ".join(advice))
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="kelolo-"))
    return stack.enter_context(Grader(scratch=Path(scratch)))


def _graded(exercise: CodeExercise | Question, path: Path, *, grader: Grader | None, seed: str) -> Graded:
    try:
        if path.is_dir():
            raise BadRequest(reason=f"{path} holds no file that ends in {' or '.join(_endings(exercise))}.")
        source = read_source(path)
        if isinstance(exercise, Question):
            return Graded(path, exercise.task(1).grade(source))
        assert grader is not None  # noqa: S101  there is one for code
        task = exercise.task(1)
        grader.prepare(task.limits)
        return Graded(path, grader.grade(task, source, seed=seed))
    except AppError as error:
        return Graded(path, problem=error.detail)
    except GraderFault as fault:
        return Graded(path, problem=grader_failed(fault), is_our_fault=True)


def _show(exercise: CodeExercise | Question, found: Sequence[Graded], *, seed: str) -> None:
    table = Table(title=None, show_edge=False, pad_edge=False)
    table.add_column("file", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("checks", no_wrap=True)
    table.add_column("what is told first", overflow="fold")
    for one in found:
        checks = one.report.checks if one.report else ()
        passed = sum(check.status is CheckStatus.PASSED for check in checks)
        verdict = VERDICT_WORDS[one.verdict] if one.verdict else NOT_GRADED
        style = _STYLES.get(one.verdict, "red") if one.verdict else "red"
        table.add_row(
            Text(_printable(str(one.path))),
            Text(verdict, style=style),
            Text(f"{passed}/{len(checks)}" if checks else ""),
            Text(_printable(" ".join(one.first_sentence().split()))),
        )
    console = Console(highlight=False)
    console.print(Text(exercise.title, style="bold"))
    console.print(table)
    good = sum(one.passed for one in found)
    shown_seed = f", seed {seed}" if isinstance(exercise, CodeExercise) else ""
    console.print(Text(f"{good} of {len(found)} passed{shown_seed}", style="dim"))


def _printable(text: str) -> str:
    """Names of files may hold anything: what no terminal should see is written out."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
