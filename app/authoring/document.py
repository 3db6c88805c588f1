"""
Reading a YAML file strictly: plain values with the place of each.

A subset of YAML 1.2 on purpose. Anchors, aliases and tags are faults (an alias can blow a small file
up into gigabytes), and so are keys that stand twice. `{file: name}` in place of a text is the text
of that file, which must lie beside or below the YAML file.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, MappingStartEvent, NodeEvent, ScalarEvent, SequenceStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from app.authoring.faults import ExerciseFaults, Fault

MAX_FILE_BYTES = 512 * 1024
MAX_DEPTH = 24
MAX_VALUES = 20_000
_TAG = "tag:yaml.org,2002:"
Place = tuple[str | int, ...]


@dataclass
class Document:
    """A YAML file as plain values; where each stands; what is wrong with it so far."""

    path: Path
    value: Any = None
    places: dict[Place, tuple[int, int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, place: Place, message: str) -> None:
        """Note a fault at a value, or at the nearest value around it that is there."""
        while place and place not in self.places:
            place = place[:-1]
        line, column = self.places.get(place, (1, 1))
        self.faults.append(Fault(str(self.path), line, column, message))

    def refuse_faults(self) -> None:
        """Raise ExerciseFaults if anything is wrong."""
        if self.faults:
            raise ExerciseFaults(sorted(self.faults, key=lambda one: (one.file, one.line, one.column)))


def read_document(path: Path) -> Document:
    """
    Read a YAML file; the top must be a mapping.

    Raises:
        ExerciseFaults: it cannot be read, or not without guessing.
    """
    document = Document(path)
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
        raw = document.path.read_bytes()
    except OSError as fault:
        document.fault((), f"This file cannot be read: {fault.strerror}.")
        raw = b""
    if len(raw) > MAX_FILE_BYTES:
        document.fault((), f"This file has {len(raw)} bytes; at most {MAX_FILE_BYTES} are read. Move long texts out.")
    try:
        text = raw[:MAX_FILE_BYTES].decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        document.faults.append(Fault(str(document.path), line, 1, "This line is not UTF-8. Save the file as UTF-8."))
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
                document.faults.append(Fault(str(document.path), line, column, trick))
            if depth > MAX_DEPTH or values > MAX_VALUES:
                return
    except MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        advice = " Put a text that begins with it in quotes." if "cannot start any token" in str(fault.problem) else ""
        document.faults.append(Fault(str(document.path), line, column, f"This is not YAML: {fault.problem}.{advice}"))
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


def _plain(document: Document, node: Node, place: Place) -> Any:  # noqa: ANN401  any YAML value
    document.places[place] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, ScalarNode):
        return _scalar(document, node, place)
    if isinstance(node, SequenceNode):
        return [_plain(document, one, (*place, number)) for number, one in enumerate(node.value)]
    assert isinstance(node, MappingNode)  # noqa: S101  there are three kinds
    if place and [key.value for key, _ in node.value] == ["file"] and isinstance(node.value[0][1], ScalarNode):
        return _file(document, node.value[0][1].value, place)
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            document.fault(place, "A key must be a plain word.")
            continue
        if key.value in found:
            line, column = key.start_mark.line + 1, key.start_mark.column + 1
            document.faults.append(Fault(str(document.path), line, column, f"`{key.value}` stands here a second time."))
        found[key.value] = _plain(document, value, (*place, key.value))
        document.places[(*place, key.value)] = (key.start_mark.line + 1, key.start_mark.column + 1)
    return found


def _scalar(document: Document, node: ScalarNode, place: Place) -> Any:  # noqa: ANN401
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
        document.fault(place, f"`{node.value[:40]}` cannot be read as a number; put it in quotes if it is a text.")
        return None


def _file(document: Document, name: str, place: Place) -> str:
    folder = document.path.parent.resolve()
    if "\0" in name:
        document.fault(place, "A file's name cannot hold a NUL character.")
        return ""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        document.fault(place, f"`{name}` lies outside of the exercise's folder.")
        return ""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            document.fault(place, f"`{name}` has more than {MAX_FILE_BYTES} bytes.")
            return ""
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        document.fault(place, f"`{name}` is not UTF-8 text.")
    except (OSError, ValueError):
        document.fault(place, f"There is no file `{name}` beside this one.")
    return ""
