"""
Programs that forge what their own harness hands over, and the ways to draw them.

A program here first does what an honest one does. Then it walks the frames above it to the harness and wraps the
functions that build what is handed over (`observation.observe`, `observation.gradient_frame`), so that the real frames
go out with edits: a value in a body replaced or removed, the header of the tensors rewritten, bytes changed, or a
tensor exchanged for one of another shape and type with all that is said about it in agreement, which no schema can tell
from an honest one.
"""

import functools
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.protocol.frames import Frame
from graders.student.execution import Program
from graders.student.session import StudentSession
from graders.student.warmup import untouched
from graders.task import Task

EXERCISES = {
    "token-and-position-embeddings": "token-and-position/token-and-position-embeddings",
    "embedding-equals-linear": "embedding-equals-linear/embedding-equals-linear",
    "embedding-from-scratch": "ids-to-vectors/embedding-from-scratch",
}
FORGE = """
import json as _json, struct as _struct, sys as _sys
def _raw(text):
    _raws.append(text)
    return "@raw%d@" % (len(_raws) - 1)
class _Delete: pass
_raws = []
class _Forged:
    def __init__(self, frame, kind, trial):
        self.frame, self.kind, self.trial = frame, kind, trial
        self.edits = [one for one in _EDITS if one[0] == kind and one[1] in (None, trial)]
    def encode(self):
        body, packed = _json.loads(_json.dumps(self.frame.body)), self.frame.tensors
        size = int.from_bytes(packed[:8], "little") if packed else 2
        header, data = (_json.loads(packed[8 : 8 + size]), packed[8 + size :]) if packed else ({}, b"")
        for _, _, part, path, expression in self.edits:
            value = eval(expression)
            if part == "data":
                data = value(data)
            elif part == "tensor":
                header, data = _exchanged(body, header, data, path[0], *value)
            else:
                _put({"body": body, "header": header}, [part, *path], value)
        head = _text(header)
        tensors = len(head).to_bytes(8, "little") + head + data
        text = _text(body)
        return _struct.pack("<4sBII", b"KLO1", int(self.frame.type), len(text), len(tensors)) + text + tensors
def _text(value):
    try:
        text = _json.dumps(value)
    except RecursionError:
        text = "{}"
    for number, raw in enumerate(_raws):
        text = text.replace('"@raw%d@"' % number, raw)
    return text.encode()
def _put(holder, path, value):
    try:
        for step in path[:-1]:
            holder = holder[step]
        if value is _Delete:
            del holder[path[-1]]
        elif isinstance(holder, list) and path[-1] >= len(holder):
            holder.append(value)
        else:
            holder[path[-1]] = value
    except (LookupError, TypeError, AttributeError):
        pass
def _exchanged(body, header, data, name, code, dtype, shape, fill):
    bytes_each = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
    held = {one: (about["dtype"], about["shape"], data[slice(*about["data_offsets"])]) for one, about in header.items()}
    numbers = 1
    for size in shape:
        numbers *= size
    held[name] = code, shape, (fill * (numbers * bytes_each[code] // len(fill) + 1))[: numbers * bytes_each[code]]
    for group in (body.get("outputs", {}), body.get("inputs", {})):
        if name in group:
            kept = group[name] if group[name].get("kind") in ("table", "tensor") else {"kind": "tensor"}
            group[name] = {"requires_grad": False, "storage": 0, **kept, "dtype": dtype, "shape": shape}
            group[name].pop("refused", None), group[name].pop("value", None)
    if name in body.get("gradients", {}):
        body["gradients"][name] = "tensor"
    header, parts, end = {}, [], 0
    for one, (code, shape, part) in held.items():
        header[one] = {"dtype": code, "shape": shape, "data_offsets": [end, end + len(part)]}
        end += len(part)
        parts.append(part)
    return header, b"".join(parts)
def _forge():
    frame = _sys._getframe()
    while "observation" not in frame.f_globals:
        frame = frame.f_back
    observation = frame.f_globals["observation"]
    if hasattr(observation, "forged"):
        return
    observation.forged = {"observation": 0, "gradients": 0}
    def wrapped(made, kind):
        def build(*given):
            observation.forged[kind] += 1
            return _Forged(made(*given), kind, observation.forged[kind] - 1)
        return build
    observation.observe = wrapped(observation.observe, "observation")
    observation.gradient_frame = wrapped(observation.gradient_frame, "gradients")
_forge()
"""


@dataclass(frozen=True)
class Edit:
    """One change of a frame."""

    frame: str  # observation | gradients
    part: str  # body | header | data | tensor
    path: tuple[str | int, ...]  # to the place; of a tensor its name
    expression: str  # of the new value, as the forging program evaluates it
    trial: int | None = None  # None: on all


def forging(source: str, *edits: Edit) -> str:
    """The program with these edits made to what it hands over."""
    told = [[one.frame, one.trial, one.part, list(one.path), one.expression] for one in edits]
    names = f"_EDITS = {told!r}\n"
    return f"{source}\n{names}{FORGE}"


@functools.cache
def task(exercise: str) -> Task:
    """One of the exercises, as the grader needs it."""
    return load_code_exercise(ROOT / "exercises" / "embeddings" / EXERCISES[exercise]).task(1)


def frames(of: Task, source: str) -> tuple[Frame, Frame]:
    """What an honest run of a source hands over on the lesson's data: observation and gradients."""
    with untouched():
        run = StudentSession(of.student_part(), lambda: Program(source), ready=lambda: None, folders=False)
        observation = run.execute({"draw": None})
        run.look_for_blind()
        return observation, run.gradients(1)


def positions(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:  # noqa: ANN401  JSON
    """Every place in nested JSON, one past the end of each list, and a new name in each object."""
    if isinstance(value, dict):
        inside = [place for name, one in value.items() for place in positions(one, (*path, name))]
        return [path, *inside, (*path, "a-new-name")]
    if isinstance(value, list):
        inside = [place for number, one in enumerate(value) for place in positions(one, (*path, number))]
        return [path, *inside, (*path, len(value))]
    return [path]


def header(packed: bytes) -> dict[str, Any]:
    """What safetensors say of themselves."""
    found: dict[str, Any] = json.loads(packed[8 : 8 + int.from_bytes(packed[:8], "little")]) if packed else {}
    return found


LEAF = "{{'storage': {storage}, 'offset': {offset}, 'shape': {shape}, 'stride': {stride}}}"
VALUES = (
    "-1", "0", "1", "15", "16", "17", "64", "65", "7", "2**31 - 1", "2**31", "2**39", "2**40", "2**62", "2**63 - 1",
    "2**63", "-2**63", "10**400", "10**4000", "0.5", "-0.0", "1e308", "5e-324", "float('nan')", "float('inf')",
    "_raw('1e999')", "_raw('-Infinity')", "None", "True", "False", "_Delete", "''", "'x' * 100", "'x' * 1001",
    "'x' * 400_000", "'\\ud800'", "'\\0'", "'<b>'", "'tensor'", "'table'", "'value'", "'other'", "'array'", "'missing'",
    "'none'", "'error'", "'float32'", "'F64'", "'F4'", "'h'", "[]", "{}", "[-1, 5]", "[1 << 39, 0]", "[0, 1 << 39]",
    "[1] * 16", "[1] * 17", "[2**31 - 1] * 16", "[2**31 - 1, 0]", "[10**6] * 3", "[8] * 160_000", "[True, True]",
    "[1.0, 2.0]", "['1', '2']", "[[]] * 17", "[[[[[[[[[[]]]]]]]]]]", "_raw('[' * 900 + ']' * 900)",
    "_raw('[' * 100_000 + ']' * 100_000)", "_raw('{\"a\":' * 50_000 + '1' + '}' * 50_000)",
    "_raw('{\"kind\": \"missing\", \"kind\": \"missing\"}')", "{str(n): {'kind': 'tensor'} for n in range(5000)}",
    "{'kind': 'missing'}", "{'kind': 'value', 'type': 'int', 'value': 2**62}", "{'kind': 'table'}",
    "{'kind': 'value', 'type': 'str', 'value': 'x' * 1000}", "['h'] * 64", "['h'] * 65",
    "[['f', 'h']] * 20", "[['f', 'h']] * 21", "{'h': 'tensor'}",
    *(f"[{leaf}] * {times}" for times in (1, 60, 64, 65, 2400) for leaf in (
        LEAF.format(storage=0, offset=0, shape="[1 << 20]", stride="[1]"),
        LEAF.format(storage=0, offset=0, shape="[1 << 10, 1 << 10]", stride="[1, 1]"),
        LEAF.format(storage=0, offset=0, shape="[8, 32]", stride="[32, 1]"),
    )),
    f"[{LEAF.format(storage=0, offset='n', shape='[1 << 14]', stride='[60 + n % 7]')} for n in range(64)]",
    f"[{LEAF.format(storage=0, offset='n', shape='[1 << 15]', stride='[1 << 20]')} for n in range(64)]",
    f"[{LEAF.format(storage=0, offset=0, shape='[2] * 16', stride='[1 << n for n in range(16)]')}] * 2",
    f"[{LEAF.format(storage=0, offset='2**62', shape='[-1]', stride='[2**40]')}]",
)  # fmt: skip
DATA = (
    "lambda data: data[:-1]", "lambda data: data + b'x'", "lambda data: b''", "lambda data: bytes(len(data))",
    "lambda data: b'\\xff' * len(data)", "lambda data: b'\\x7f' * len(data)", "lambda data: data[::-1]",
    "lambda data: data * 4", "lambda data: b'\\0\\0\\x80\\x7f' * (len(data) // 4)", "lambda data: bytes(16 << 20)",
    "lambda data: bytes((16 << 20) - 100_000)",
)  # fmt: skip
SHAPES = (
    "[]", "[0]", "[1]", "[8]", "[8, 32]", "[19, 32]", "[32, 8, 32]", "[1, 8, 32]", "[32, 32, 8]", "[1 << 20]",
    "[1 << 10, 1 << 10]", "[1, 1 << 20]", "[1 << 20, 1]", "[1 << 19, 2]", "[1] * 16", "[2] * 16", "[1] * 17",
    "[2**31 - 1, 0]", "[0] * 16", "[64, 64, 64]", "[3, 4]", "[4, 5]", "[3, 5]", "[(1 << 20) + 1]",
)  # fmt: skip
TYPES = (
    ("F64", "float64"), ("F32", "float32"), ("F16", "float16"), ("BF16", "bfloat16"), ("I64", "int64"),
    ("I32", "int32"), ("I16", "int16"), ("I8", "int8"), ("U8", "uint8"), ("BOOL", "bool"),
)  # fmt: skip
FILLS = ("b'\\0'", "b'\\xff'", "b'\\x7f'", "b'\\0\\0\\x80\\x3f'", "b'\\1\\0\\0\\0\\0\\0\\0\\0'", "bytes(range(251))")


def sources(of: Task) -> tuple[str, ...]:
    """Honest programs to begin with: right, stopped by an exception with operands, never parsed, with odd values."""
    last = of.outputs[-1].name
    return (
        of.solution,
        f"{of.solution}\n_ids, _table = torch.tensor([10**6]), torch.ones(3, 2)\nnn.functional.embedding(_ids, _table)",
        f"{of.solution}\n{last} = [1, 2.5]",
        f"{of.solution}\n{last} = torch.zeros(1).expand(10**12)",
    )


@functools.cache
def _edits(exercise: str, source: str) -> st.SearchStrategy[Edit]:
    """All edits of what a source hands over."""
    observation, gradients = frames(task(exercise), source)
    return st.one_of(*_edits_of("observation", observation), *_edits_of("gradients", gradients))


def _edits_of(name: str, frame: Frame) -> tuple[st.SearchStrategy[Edit], ...]:
    """One value, all bytes, one tensor."""
    parts = {"body": frame.body, "header": header(frame.tensors)}
    inside = [(part, place) for part, value in parts.items() for place in positions(value) if place]
    values = st.sampled_from(VALUES) | st.integers(-(2**66), 2**66).map(repr) | st.text(max_size=40).map(ascii)
    trials = st.sampled_from([None, 0, 1, 2])
    kind = st.tuples(st.sampled_from(TYPES), st.sampled_from(SHAPES), st.sampled_from(FILLS))
    exchanged = kind.map(lambda one: f"({one[0][0]!r}, {one[0][1]!r}, {one[1]}, {one[2]})")
    return (
        st.tuples(st.sampled_from(inside), values, trials).map(lambda one: Edit(name, *one[0], one[1], one[2])),
        st.tuples(st.sampled_from(DATA), trials).map(lambda one: Edit(name, "data", (), *one)),
        st.tuples(st.sampled_from(list(parts["header"]) or ["h"]), exchanged, trials).map(
            lambda one: Edit(name, "tensor", (one[0],), one[1], one[2])
        ),
    )


@st.composite
def forgeries(draw: st.DrawFn) -> tuple[str, str]:
    """An exercise and a program that forges what it hands over, by one to three edits."""
    exercise = draw(st.sampled_from(sorted(EXERCISES)))
    source = draw(st.sampled_from(sources(task(exercise))))
    edits = draw(st.lists(_edits(exercise, source), min_size=1, max_size=3))
    return exercise, forging(source, *edits)
