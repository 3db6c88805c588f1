"""The command line starts quickly: a command imports what it needs, and no other command's."""

import argparse
import subprocess
import sys

import pytest

from app.cli.entry import build_parser

_IMPORTED = """
import contextlib, io, sys
from app.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(" ".join(sys.modules))
"""


def imported(*arguments: str) -> set[str]:
    """Return the modules that a process has imported after a command line."""
    command = [sys.executable, "-c", _IMPORTED, *arguments]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def test_list_of_commands_imports_none_of_them() -> None:
    """Whoever asks what there is waits for nothing but Python itself."""
    found = imported("--help")
    assert not found & {"torch", "fastapi", "procrastinate", "sqlalchemy", "structlog", "pydantic", "rich", "graders"}
    ours = {name for name in found if name.startswith("app.") and not name.startswith("app.errors")}
    assert ours == {"app.cli", "app.cli.entry"}


@pytest.mark.parametrize(("command", "spared"), [("user", "fastapi"), ("plan", "torch"), ("grade", "fastapi")])
def test_command_imports_no_other_commands_libraries(command: str, spared: str) -> None:
    """An account is made without a web server's libraries, and a file graded without them."""
    found = imported(command, "--help")
    assert f"app.cli.{'users' if command == 'user' else 'plans' if command == 'plan' else command}" in found
    assert not found & {spared, "procrastinate"}


def test_every_command_in_the_list_can_be_chosen() -> None:
    """The list is written by hand: each of its words leads to a command that describes itself."""
    listed = subprocess.run(
        [sys.executable, "-c", "from app.cli import main; main(['--help'])"], check=True, capture_output=True, text=True
    ).stdout
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("    ") and line[4] != " "]
    assert len(names) >= 15
    assert [name for name in names if not handlers(commands(build_parser([name]))[name])] == []


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands below a command, by name."""
    subparsers = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001
    return {str(name): below for one in subparsers for name, below in one.choices.items()}


def handlers(command: argparse.ArgumentParser) -> set[object]:
    """Return what a command, or those below it, are carried out by; nothing if nobody has described it."""
    return {one.get_default("handler") for one in (command, *commands(command).values())} - {None}
