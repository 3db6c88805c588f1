"""
Reading a YAML file strictly: plain values with the place of each.

A subset of YAML 1.2 on purpose. Anchors, aliases and tags are faults (an alias can blow a small file
up into gigabytes), and so are keys that stand twice. `{file: name}` in place of a text is the text
of that file, which must lie beside or below the YAML file. How files are read says `app.authoring.files`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, MappingStartEvent, NodeEvent, ScalarEvent, SequenceStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from app.authoring.faults import ExerciseFaults, FileFault
from app.authoring.files import CourseFiles, FileRefused

MAX_DEPTH = 24
MAX_VALUES = 20_000
_TAG = "tag:yaml.org,2002:"
SourceLocation = tuple[str | int, ...]


@dataclass
class Document:
    """A YAML file as plain values; where each stands; what is wrong with it so far."""

    path: Path
    files: CourseFiles
    value: Any = None
    locations: dict[SourceLocation, tuple[int, int]] = field(default_factory=dict)
    faults: list[FileFault] = field(default_factory=list)

    def fault(self, location: SourceLocation, message: str) -> None:
        """Note a fault at a value, or at the nearest value around it that is there."""
        while location and location not in self.locations:
            location = location[:-1]
        line, column = self.locations.get(location, (1, 1))
        self.faults.append(FileFault(str(self.path), line, column, message))

    def refuse_faults(self) -> None:
        """Raise ExerciseFaults if anything is wrong."""
        if self.faults:
            raise ExerciseFaults(sorted(self.faults, key=lambda one: (one.file, one.line, one.column)))


def read_document(path: Path, files: CourseFiles | None = None) -> Document:
    """
    Read a YAML file; the top must be a mapping.

    Args:
        path: of the file.
        files: of the course that it is a file of; those beside and below it if it is of none.

    Raises:
        ExerciseFaults: it cannot be read, or not without guessing.
    """
    document = Document(path, files or CourseFiles(path.parent))
    text = _text_of(document)
    _refuse_tricks(document, text)
    document.refuse_faults()
    root = YAML(typ="safe", pure=True).compose(text)
    if not isinstance(root, MappingNode):
        document.fault((), "This file must be a mapping: lines of `key: value`.")
        document.refuse_faults()
    document.value = _plain(document, root, ())
    return document


def _text_of(document: Document) -> str:
    try:
        text = document.files.read(document.path)
    except FileRefused as fault:
        document.faults.append(FileFault(str(document.path), fault.line, 1, f"This file {fault.reason}."))
        text = ""
    document.refuse_faults()
    return text


def _refuse_tricks(document: Document, text: str) -> None:
    """Look at the events alone, before anything is built: no alias, no anchor, no tag, no depth, one document."""
    depth = values = documents = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            line, column = (event.start_mark.line + 1, event.start_mark.column + 1) if event.start_mark else (1, 1)
            name = type(event).__name__
            depth += name.endswith("StartEvent") and isinstance(event, SequenceStartEvent | MappingStartEvent)
            depth -= name in ("SequenceEndEvent", "MappingEndEvent")
            values += isinstance(event, ScalarEvent)
            documents += name == "DocumentStartEvent"
            trick = _trick(event, depth=depth, values=values, documents=documents)
            if trick:
                document.faults.append(FileFault(str(document.path), line, column, trick))
            if depth > MAX_DEPTH or values > MAX_VALUES:
                return
    except MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        advice = " Put a text that begins with it in quotes." if "cannot start any token" in str(fault.problem) else ""
        document.faults.append(
            FileFault(str(document.path), line, column, f"This is not YAML: {fault.problem}.{advice}")
        )
    except (YAMLError, ValueError, RecursionError) as fault:
        document.fault((), f"This is not YAML: {str(fault).splitlines()[0] if str(fault) else type(fault).__name__}.")


def _trick(event: Any, *, depth: int, values: int, documents: int) -> str:  # noqa: ANN401  an event of the library
    if isinstance(event, AliasEvent):
        return "Aliases (`*name`) are not used here: write the value out."
    if isinstance(event, NodeEvent) and event.anchor:
        return "Anchors (`&name`) are not used here: write the value out."
    if isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent) and event.tag:
        return "Tags (`!name`) are not used here."
    if depth > MAX_DEPTH:
        return f"This is nested more than {MAX_DEPTH} deep."
    if values > MAX_VALUES:
        return f"This file holds more than {MAX_VALUES} values."
    return "A second document (`---`) is not read: one file, one document." if documents > 1 else ""


def _plain(document: Document, node: Node, location: SourceLocation) -> Any:  # noqa: ANN401  any YAML value
    document.locations[location] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, ScalarNode):
        return _scalar(document, node, location)
    if isinstance(node, SequenceNode):
        return [_plain(document, one, (*location, number)) for number, one in enumerate(node.value)]
    assert isinstance(node, MappingNode)  # noqa: S101  there are three kinds
    if location and [key.value for key, _ in node.value] == ["file"] and isinstance(node.value[0][1], ScalarNode):
        return _file(document, node.value[0][1].value, location)
    found: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            document.fault(location, "A key must be a plain word.")
            continue
        if key.value in found:
            line, column = key.start_mark.line + 1, key.start_mark.column + 1
            document.faults.append(
                FileFault(str(document.path), line, column, f"`{key.value}` stands here a second time.")
            )
        found[key.value] = _plain(document, value, (*location, key.value))
        document.locations[(*location, key.value)] = (key.start_mark.line + 1, key.start_mark.column + 1)
    return found


def _scalar(document: Document, node: ScalarNode, location: SourceLocation) -> Any:  # noqa: ANN401
    kind = (node.tag or "").removeprefix(_TAG)
    try:
        match kind:
            case "int":
                return int(node.value.replace("_", ""), 0)
            case "float":
                return float(node.value.replace("_", ""))
            case "bool":
                return node.value.lower() == "true"
            case "null":
                return None
            case _:
                return node.value
    except ValueError:
        document.fault(location, f"`{node.value[:40]}` cannot be read as a number; put it in quotes if it is a text.")
        return None


def _file(document: Document, name: str, location: SourceLocation) -> str:
    if "\0" in name:
        document.fault(location, "A file's name cannot hold a NUL character.")
    elif Path(name).is_absolute() or ".." in Path(name).parts:
        document.fault(location, f"`{name}` lies outside of the exercise's folder.")
    else:
        try:
            return document.files.read(document.path.parent / name)
        except FileRefused as fault:
            missing = f"There is no file `{name}` beside this one."
            document.fault(location, missing if fault.is_missing else f"`{name}` {fault.reason}.")
    return ""
