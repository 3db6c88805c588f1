"""`kelolo sandbox`: which walls hold on this machine, by trying each."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.cli.exercise_files import WallsMissing
from graders.faults import GraderFault
from graders.grader import Grader
from graders.sandbox.layers import missing
from graders.self_test import LayerResult, required_missing, run_self_test

NOT_SAFE, FAULT = 1, 3
_COLOURS = {"holds": "green", "missing": "red", "not needed": "yellow"}


def describe(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--no-namespaces", action="store_true", help="try without bubblewrap, as where it is missing")
    parser.set_defaults(handler=try_walls)


def try_walls(args: argparse.Namespace) -> int:
    """Try, print, and say in the exit code whether students' code may be run here."""
    advice = missing()
    if advice:
        raise WallsMissing(advice=" ".join(advice))
    namespaces = False if args.no_namespaces else None
    try:
        with (
            tempfile.TemporaryDirectory(prefix="kelolo-") as scratch,
            Grader(scratch=Path(scratch), namespaces=namespaces) as grader,
        ):
            findings = run_self_test(grader)
    except GraderFault as fault:
        sys.stderr.write(f"No run could be started: {fault}\n")
        return FAULT
    print(json.dumps([one.to_json() for one in findings], indent=1)) if args.json else _show(findings)
    return NOT_SAFE if required_missing(findings) else 0


def _show(findings: list[LayerResult]) -> None:
    table = Table("wall", "what a student's code cannot do", "here", "")
    for one in findings:
        table.add_row(one.wall, one.action, f"[{_COLOURS[one.state]}]{one.state}[/]", one.why)
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "Students' code may be run here." if not required_missing(findings) else "[red]Do not run it here.[/]"
    )
