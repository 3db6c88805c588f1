"""`kelolo check`: may these exercises be published?"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID

from app.authoring import CodeExercise, ExerciseFaults, Question, load_exercise
from app.authoring.self_test.findings import Tested
from app.authoring.self_test.runner import SelfTest, tested_question
from app.cli.configuration import settings_from
from app.cli.exercise_files import EXERCISE_FILE, WallsMissing, find_exercise
from app.services.tutor.offline.author_cards import author_cards
from graders.grader import Grader
from graders.sandbox.layers import missing

NOT_PUBLISHABLE = 1


def describe(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.add_argument("what", metavar="WHAT", nargs="?", help="an exercise's id or folder, or a folder of them")
    parser.add_argument("--seeds", metavar="N", type=int, default=5, help="seeds that each solution is tried with")
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")
    parser.set_defaults(handler=check_exercises)


def check_exercises(args: argparse.Namespace) -> int:
    """Check, print, and say in the exit code whether all may be published."""
    console = Console(stderr=args.json, highlight=False)
    folders = _folders(args)
    exercises, faults = _load(folders)
    tested = _test(exercises, console, seeds=max(1, args.seeds))
    if args.json:
        result = {"faults": [str(fault) for fault in faults], "exercises": [one.to_json() for one in tested]}
        print(json.dumps(result, indent=1, ensure_ascii=False))
    else:
        _show(console, tested, faults, wanted=len(folders), facts={one.id: one.tutor for one in exercises})
    return NOT_PUBLISHABLE if faults or not all(one.publishable for one in tested) else 0


def _folders(args: argparse.Namespace) -> list[Path]:
    """The folders of the exercises that are meant."""
    exercises = settings_from(args).exercises
    named = Path(args.what) if args.what else exercises
    if named.is_dir() and not (named / EXERCISE_FILE).is_file():
        found = [path.parent for path in sorted(named.rglob(EXERCISE_FILE))]
        if found:
            return found
    return [find_exercise(args.what or str(exercises), exercises)]


def _load(folders: list[Path]) -> tuple[list[CodeExercise | Question], list[str]]:
    exercises: list[CodeExercise | Question] = []
    faults: list[str] = []
    for folder in folders:
        try:
            exercises.append(load_exercise(folder))
        except ExerciseFaults as wrong:
            faults += [str(fault) for fault in wrong.faults]
    return exercises, faults


def _test(exercises: list[CodeExercise | Question], console: Console, *, seeds: int) -> list[Tested]:
    tested = [tested_question(one) for one in exercises if isinstance(one, Question)]
    code = [one for one in exercises if isinstance(one, CodeExercise)]
    if not code:
        return tested
    advice = missing()
    if advice:
        raise WallsMissing(advice=" ".join(advice))
    with (
        Progress(console=console, transient=True) as progress,
        tempfile.TemporaryDirectory(prefix="kelolo-") as scratch,
        Grader(scratch=Path(scratch)) as grader,
    ):
        for exercise in code:
            bar = progress.add_task(exercise.id)
            tested.append(
                SelfTest(exercise, grader, seeds=seeds, progress=_progress_of(progress, bar, exercise.id)).run()
            )
            progress.remove_task(bar)
    return tested


class _progress_of:  # noqa: N801  used as a function
    """Moves an exercise's bar on."""

    def __init__(self, progress: Progress, bar: TaskID, name: str) -> None:
        self._progress, self._bar, self._name = progress, bar, name

    def __call__(self, done: int, total: int, subject: str) -> None:
        self._progress.update(self._bar, completed=done, total=total, description=f"{self._name}: {escape(subject)}")


def _show(
    console: Console, tested: list[Tested], faults: list[str], *, wanted: int, facts: Mapping[str, Sequence[str]]
) -> None:
    for fault in faults:
        console.print(f"[red]{escape(fault)}[/]", soft_wrap=True)
    for one in tested:
        mark = "[green]publishable[/]" if one.publishable else "[red]not publishable[/]"
        console.print(f"[bold]{one.exercise}[/]: {mark}")
        console.print(f"  {_summary(one)}", soft_wrap=True)
        for finding in one.findings:
            console.print(f"  [red]•[/] {escape(finding.subject)} {escape(finding.problem)}", soft_wrap=True)
            if finding.diff:
                console.print("\n".join(f"      {line}" for line in escape(finding.diff).splitlines()), soft_wrap=True)
        for line in tutor_lines(facts.get(one.exercise, ())):
            console.print(f"  {escape(line)}", soft_wrap=True)
    good = sum(one.publishable for one in tested)
    console.print(f"{good} of {wanted} publishable" + (f"; faults in files: {len(faults)}" if faults else ""))


def tutor_lines(facts: Sequence[str]) -> list[str]:
    """Say what the tutor's facts are found by, and warn of what they do not find or stand before."""
    lines = []
    for card in author_cards(facts):
        name = f"“{card.wordings[0] if card.wordings else card.says[:60]}”"
        found = len(card.wordings) - len(card.lost)
        if card.wordings:
            lines.append(f"tutor: {name} is found by {found} of {len(card.wordings)} wordings")
        lines += [
            f"! tutor: “{wording}” finds {f'“{says[:60]} …”' if says else 'nothing'}" for wording, says in card.lost
        ]
        if card.shadows:
            lines.append(f"! tutor: {name} stands before {', '.join(card.shadows)}")
    return lines


def _summary(one: Tested) -> str:
    said = f"right code run {one.right_runs} times, wrong code {one.wrong_runs} times; {one.variants} wrong variants"
    if one.passes:
        passing = [f"{tag} {passed} of {runs}" for tag, (passed, runs) in one.passes.items() if passed]
        each = max(runs for _, runs in one.passes.values())
        said += f"; seeds that let one pass: {', '.join(passing) or f'0 of {each} each'}"
    if one.accepted_share < 1:
        said += f"; draws that `require` lets through: {one.accepted_share:.0%}"
    if not one.mutants:
        return said
    kills = ", ".join(f"{check} {count}" for check, count in sorted(one.kills.items(), key=lambda item: -item[1]))
    wanted = one.mutants - one.excused
    return (
        f"{said}; mutants found out: {one.killed} of {wanted} ({one.score:.0%}), equivalent: {one.excused}; "
        f"found by check (one can be found by several): {kills}; common slips tried: {one.slips}"
    )
