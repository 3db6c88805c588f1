"""`kelolo new` and `kelolo schema`: what an author begins with."""

import argparse
import json
import os
from pathlib import Path

from app.authoring.schema import SCHEMA_FILE, schema
from app.cli.configuration import settings_from
from app.errors import BadRequest

TEMPLATE = Path(__file__).parent.parent / "authoring" / "template" / "exercise.yaml"


def describe(parser: argparse.ArgumentParser, command: str) -> None:
    """Say what one of the commands takes."""
    if command == "schema":
        parser.set_defaults(handler=print_schema)
        return
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="is made; its name becomes the exercise's id")
    parser.set_defaults(handler=new_exercise)


def new_exercise(args: argparse.Namespace) -> int:
    """Write the template."""
    folder: Path = args.folder
    name = folder.resolve().name
    if not name.replace("-", "a").isalnum() or not name.islower() or not name.isascii() or not name[0].isalpha():
        raise BadRequest(reason=f"“{name}” cannot be an id: use small letters, digits and hyphens, as in causal-mask.")
    if folder.exists():
        raise BadRequest(reason=f"{folder} exists already; nothing was written. Choose another name.")
    try:
        folder.mkdir(parents=True)
    except OSError as fault:
        raise BadRequest(reason=f"{folder} cannot be made: {fault.strerror}.") from None
    schema_file = os.path.relpath(settings_from(args).exercises / SCHEMA_FILE, folder)
    text = TEMPLATE.read_text(encoding="utf-8")
    title = name.replace("-", " ").capitalize()
    (folder / "exercise.yaml").write_text(text.format(id=name, title=title, schema=schema_file), encoding="utf-8")
    print(f"Wrote {folder / 'exercise.yaml'}. It works as it is: try `kelolo check {folder}`, then make it yours.")
    return 0


def print_schema(_: argparse.Namespace) -> int:
    """Print it."""
    print(json.dumps(schema(), indent=1, ensure_ascii=False))
    return 0
