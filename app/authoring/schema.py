"""The JSON schema of `exercise.yaml`, for completion and checking in an editor."""

from typing import Any

from pydantic import TypeAdapter

from app.authoring.exercise import CodeExercise
from app.authoring.question import Question

SCHEMA_FILE = "exercise.schema.json"
_FILE = {
    "type": "object",
    "properties": {"file": {"type": "string", "description": "Name of a file beside this one that holds the text."}},
    "required": ["file"],
    "additionalProperties": False,
}


def schema() -> dict[str, Any]:
    """The schema; wherever a text may stand, `{file: name}` may too."""
    made = TypeAdapter(CodeExercise | Question).json_schema(mode="validation")
    made["$defs"] = {name: _with_files(one) for name, one in made["$defs"].items()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A Kelolo exercise", **made}


def _with_files(definition: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _or_file(one) for name, one in definition.get("properties", {}).items()}
    return {**definition, "properties": properties} if properties else definition


def _or_file(field: dict[str, Any]) -> dict[str, Any]:
    """Long texts, code among them, can be files; ids, names and lines cannot."""
    if field.get("type") == "string" and field.get("maxLength", 0) >= 2000:  # noqa: PLR2004  as Text and Code are
        about = [name for name in ("description", "title", "default") if name in field]
        described: dict[str, Any] = {name: field.pop(name) for name in about}
        return {**described, "anyOf": [field, _FILE]}
    return field
