"""
Reading the command line, and handing over to the command.

Every command module has `add_parser(subparsers)`, which says what the command takes and names
its handler: a function from the arguments to the exit code.

Exit codes: 0 all went well; 1 the answer is no (`grade`: not passed); 2 the request cannot be
carried out as it stands, and the sentence on standard error says why; 3 a fault of ours.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError

from app import __version__, logs
from app.cli import authors, backup, check, content, grade, plans, sandbox, serve, users
from app.errors import AppError, NotFound

USAGE, _FAULT = 2, 3
_INTERRUPTED = 130  # what shells report after Ctrl-C

log = structlog.get_logger()


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
    logs.configure()
    args = build_parser().parse_args(argv)
    try:
        return int(args.handler(args))
    except NotFound as error:
        sys.stderr.write(f"{error.fact.format_map(error.facts)}\n")
        return USAGE
    except AppError as error:
        sys.stderr.write(f"{error.detail}\n")
        return USAGE
    except OperationalError as error:
        sys.stderr.write(f"The database cannot be used: {str(error.orig).strip()}\n")
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception:
        log.exception("this is a fault of Kelolo's own")
        return _FAULT


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(prog="kelolo", description="Auto-graded coding exercises for PyTorch.")
    parser.add_argument("--version", action="version", version=f"kelolo {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (serve, grade, check, authors, sandbox, content, users, plans, backup):
        module.add_parser(subparsers)
    return parser
