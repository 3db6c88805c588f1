"""The schema that editors use is the one the program checks by."""

import json

from app.authoring.schema import SCHEMA_FILE, schema
from app.settings import ROOT


def test_the_committed_schema_is_current() -> None:
    """After a change of the format: `.venv/bin/kelolo schema > exercises/exercise.schema.json`."""
    assert json.loads((ROOT / "exercises" / SCHEMA_FILE).read_text(encoding="utf-8")) == schema()


def test_every_exercise_names_the_schema_in_its_first_line() -> None:
    """Editors find it by that line."""
    for path in (ROOT / "exercises").rglob("exercise.yaml"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema=")
        assert (path.parent / first.partition("=")[2]).resolve() == ROOT / "exercises" / SCHEMA_FILE
