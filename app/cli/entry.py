"""
Reading the command line, and handing over to the command.

Every command module has `describe(parser, command)`, which says what the command takes and names its handler: a
function from the arguments to the exit code. A module is imported once its command is chosen, because what commands
need takes a second or two to import, and `kelolo --help` needs none of it.

Exit codes: 0 all went well; 1 the answer is no (`grade`: not passed); 2 the request cannot be
carried out as it stands, and the sentence on standard error says why; 3 a fault of ours.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from app import __version__
from app.errors import AppError, NotFound

USAGE, _FAULT = 2, 3
_INTERRUPTED = 130  # what shells report after Ctrl-C
_COMMANDS = (  # name, module of this package, and what the list of commands says of it
    ("serve", "serve", "web server and grading in one command"),
    ("web", "serve", "the web server alone"),
    ("worker", "serve", "grading alone"),
    ("grade", "grade", "grade files, without a server"),
    ("check", "check", "lint and self-test exercises before they are published"),
    ("new", "authors", "make a small working exercise to begin with"),
    ("schema", "authors", "print the JSON schema of exercise.yaml"),
    ("sandbox", "sandbox", "say which walls hold on this machine, by trying each"),
    ("migrate", "content", "bring the database to the newest tables"),
    ("import", "content", "take in a course, or a folder of courses"),
    ("user", "users", "make accounts"),
    ("token", "users", "make API tokens"),
    ("plan", "plans", "see plans, and give one to an account"),
    ("backup", "backup", "write all that lasts into one file, while everything goes on"),
    ("restore", "backup", "put a backup back; servers and workers must be stopped"),
)


class _Parser(argparse.ArgumentParser):
    """A parser of which every level takes `--data`, so that it can stand anywhere."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  argparse's own
        super().__init__(**options)
        self.add_argument(
            "--data",
            metavar="DIR",
            default=argparse.SUPPRESS,
            help="folder for the database and all else that must last (or KELOLO_DATA; default: data)",
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build_parser(sys.argv[1:] if argv is None else argv).parse_args(argv)
    importlib.import_module("app.logs").configure()
    try:
        return int(args.handler(args))
    except NotFound as error:
        sys.stderr.write(f"{error.fact.format_map(error.fields)}\n")
        return USAGE
    except AppError as error:
        sys.stderr.write(f"{error.detail}\n")
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001  whatever it is, it is told
        if _is_of_the_database(error):
            sys.stderr.write(f"The database cannot be used: {str(error.orig).strip()}\n")  # type: ignore[attr-defined]
            return USAGE
        importlib.import_module("structlog").get_logger().exception("this is a fault of Kelolo's own")
        return _FAULT


def _is_of_the_database(error: Exception) -> bool:
    """Is it SQLAlchemy's word for a database that cannot be used? Only who has imported that can have raised it."""
    known = sys.modules.get("sqlalchemy.exc")
    return known is not None and isinstance(error, known.OperationalError)


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line; of the commands only the chosen one can be told more of."""
    parser = _Parser(prog="kelolo", description="Auto-graded coding exercises for PyTorch.")
    parser.add_argument("--version", action="version", version=f"kelolo {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    chosen = _chosen(argv)
    for name, module, help_ in _COMMANDS:
        command = subparsers.add_parser(name, help=help_)
        if name == chosen:
            importlib.import_module(f"app.cli.{module}").describe(command, name)
    return parser


def _chosen(argv: Sequence[str]) -> str:
    """The first word that is neither an option nor the value of `--data`; an empty text if there is none."""
    words = iter(argv)
    for word in words:
        if word == "--data":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""
