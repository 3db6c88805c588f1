"""
What a student's process hands over: plain descriptions and plain bytes about the names it was to make.

Each value is looked at by its exact type, before the student's own methods could say otherwise, and
its size is bounded before a byte is copied: what is handed over keeps within `graders.protocol.observation_schema`.
"""

import math
import types
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import torch
from safetensors import TensorSpec, serialize

from graders.protocol.frames import Frame, FrameType
from graders.protocol.observation_schema import (
    MAX_AXES,
    MAX_CODE_CHARS,
    MAX_ELEMENTS,
    MAX_GRADIENT_FAULT_CHARS,
    MAX_INTEGER,
    MAX_LATE,
    MAX_LEAVES,
    MAX_LEAVES_ELEMENTS,
    MAX_LIST,
    MAX_MEMORY_STEP,
    MAX_MESSAGE_CHARS,
    MAX_NAME_CHARS,
    MAX_PRODUCT,
    MAX_SIZE,
    MAX_TARGETS,
    MAX_TENSORS_BYTES,
    MAX_VALUE_CHARS,
    MAX_VALUE_DEPTH,
    MAX_VALUE_ENTRIES,
)
from graders.student import execution
from graders.student.execution import ProgramResult
from graders.student.main_module import FILE
from graders.task import StudentPart

_MAX_NODES = 1000  # of a graph, looked through for leaves
_NO_VALUE = object()
_NUMPY_SCALARS = (np.int64, np.int32, np.float64, np.float32, np.bool_)
_PARAMETER = torch.nn.Parameter
PLAIN = (torch.Tensor, _PARAMETER)
_NAMED_DTYPES = {
    torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8",
    torch.uint8: "uint8", torch.bool: "bool",
}  # fmt: skip
UNUSABLE = "unusable"
Description = dict[str, object]
Gradients = dict[str, torch.Tensor | str | None]


def observe(
    names: dict[str, object], part: StudentPart, ended: ProgramResult, late: list[list[str]] | None = None
) -> Frame:
    """The state of the student's names after one trial, how it ended, and `Pinning.late` of one with other numbers."""
    look, fault = _Look(), ended.fault
    looks = {"table": look.at_table, "value": look.at_value, "tensor": look.at}
    made = names if ended.values is None else ended.values
    outputs = {name: looks[kind](made, name) for name, kind in part.outputs}
    inputs = {name: look.at(names, name) for name in part.inputs}
    operands = cast("dict[str, object]", (fault or {}).pop("operands", {}))
    if fault is not None:
        fault = _within(fault)
        fault["operands"] = {name: look.at(operands, name, prefix="operand:") for name in operands}
    body: dict[str, object] = {
        "outputs": outputs,
        "inputs": inputs,
        "fault": fault,
        "probed": {name: _within(one) for name, one in ended.probed.items()},
        "exited": ended.exited,
        "printed": ended.printed,
        "defined": _functions(names, list(outputs)),
    }
    if part.calls:
        body["calls"] = list(ended.calls)
    if late is not None:
        body["late"] = late[:MAX_LATE]
    return Frame(FrameType.OBSERVATION, body, pack(look.tensors))


def _within(fault: Description) -> Description:
    """The description of an exception, without operands, cut to what is handed over."""
    return {
        **{name: one for name, one in fault.items() if name != "operands"},
        "message": cast("str", fault["message"])[:MAX_MESSAGE_CHARS],
        "code": cast("str", fault["code"])[:MAX_CODE_CHARS],
        "targets": [name[:MAX_NAME_CHARS] for name in cast("list[str]", fault["targets"])[:MAX_TARGETS]],
    }


class _Look:
    """Looks at one value after the other, collects the tensors, and notices which share memory."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._storages: dict[int, int] = {}
        self._bytes = 0
        self._leaves_elements = 0

    def at(self, names: dict[str, object], name: str, *, prefix: str = "") -> Description:
        """The description of a value that should be a tensor."""
        if name not in names:
            return {"kind": "missing"}
        value, key = cast("Any", names[name]), prefix + name
        if type(value) in PLAIN:
            return {"kind": "tensor", **self._tensor(key, value)}
        if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
            return {"kind": "array", **self._converted(key, value, torch.from_numpy)}
        if type(value) in (int, float, bool, list, tuple):  # no tensor, but can be told to be right
            return {"kind": "other", "type": _type_name(value), **self._converted(key, value, torch.tensor)}
        return {"kind": "other", "type": _type_name(value)}

    def at_value(self, names: dict[str, object], name: str) -> Description:
        """The description of a plain number, text or list of such."""
        if name not in names:
            return {"kind": "missing"}
        value = names[name]
        plain = _handed_over(value)
        kind = "other" if plain is _NO_VALUE else "value"
        return {"kind": kind, "type": _type_name(value), **({} if plain is _NO_VALUE else {"value": plain})}

    def at_table(self, names: dict[str, object], name: str) -> Description:
        """The description of a value that should stand for a table."""
        if name not in names:
            return {"kind": "missing"}
        value = names[name]
        weight, via = table_of(value)
        if weight is None:
            return {"kind": "other", "type": _type_name(value), "via": via}
        leaves = [one for one in _leaves(weight) if one.layout is torch.strided and one.numel() <= MAX_ELEMENTS]
        self._leaves_elements += sum(one.numel() for one in leaves)
        if len(leaves) > MAX_LEAVES or self._leaves_elements > MAX_LEAVES_ELEMENTS:
            reason = f"it is made from more numbers that can learn than can be looked at ({MAX_LEAVES} tensors)"
            return {"kind": "table", "via": via, "type": _type_name(value), **_form(weight), "refused": reason}
        description = self._tensor(name, weight)
        if "refused" not in description:
            description["leaves"] = [self._leaf(one) for one in leaves]
        return {"kind": "table", "via": via, "type": _type_name(value), **description}

    def _leaf(self, leaf: torch.Tensor) -> Description:
        """Where a leaf's numbers lie, so that the same ones are counted once."""
        storage = leaf.untyped_storage().data_ptr()
        axes = [(size, step) for size, step in zip(leaf.shape, leaf.stride(), strict=True) if size != 1]
        return {
            "storage": self._storages.setdefault(storage, len(self._storages)),
            "offset": min(leaf.storage_offset(), MAX_MEMORY_STEP),
            "shape": [min(size, MAX_SIZE) for size, _ in axes[:MAX_AXES]],
            "stride": [min(step, MAX_MEMORY_STEP) for _, step in axes[:MAX_AXES]],
        }

    def _converted(self, key: str, value: Any, convert: Callable[[Any], torch.Tensor]) -> Description:  # noqa: ANN401
        try:
            return self._tensor(key, convert(value))
        except (TypeError, ValueError, RuntimeError, OverflowError):
            return {"refused": "its numbers cannot be read"}

    def _tensor(self, key: str, value: torch.Tensor) -> Description:
        description = _form(value)
        reason = _refusal(value)
        if not reason and self._bytes + value.numel() * value.element_size() > MAX_TENSORS_BYTES:
            reason = "all outputs together are larger than can be looked at"
        if reason:
            return {**description, "refused": reason}
        self._bytes += value.numel() * value.element_size()
        description["requires_grad"] = bool(value.requires_grad)
        storage = value.untyped_storage().data_ptr()
        description["storage"] = self._storages.setdefault(storage, len(self._storages))
        plain = value.detach().resolve_conj().resolve_neg().to("cpu")
        self.tensors[key] = plain.contiguous()
        return description


def _leaves(weight: torch.Tensor) -> list[torch.Tensor]:
    """The tensors that an optimiser would have to change for this one to change."""
    if not weight.requires_grad:
        return []
    if weight.grad_fn is None:
        return [weight]
    found: dict[int, torch.Tensor] = {}
    seen: set[Any] = set()
    waiting: list[Any] = [weight.grad_fn]
    while waiting and len(seen) < _MAX_NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor) and type(variable) in PLAIN:
            found[id(variable)] = variable
        waiting += [before for before, _ in node.next_functions]
    return list(found.values())


def _form(value: torch.Tensor) -> Description:
    """Type and shape; of one that is beyond any memory, as much of the shape as is handed over."""
    sizes, room = [], MAX_PRODUCT
    for size in value.shape[:MAX_AXES]:
        sizes.append(min(size, MAX_SIZE, room))
        room //= max(1, sizes[-1])
    return {"shape": sizes, "dtype": str(value.dtype).removeprefix("torch.")}


def _handed_over(value: Any) -> Any:  # noqa: ANN401  a student's
    """A plain value, or _NO_VALUE if it is none or has more entries than are handed over."""
    plain = _plain_value(list(value) if type(value) in (tuple, list, torch.Size) else value)
    return plain if _entries(plain) <= MAX_VALUE_ENTRIES else _NO_VALUE


def _entries(value: Any) -> int:  # noqa: ANN401
    return len(value) + sum(map(_entries, value)) if type(value) is list else 0


def _plain_value(value: Any, depth: int = 0) -> Any:  # noqa: ANN401  a student's
    """A number, text, truth value, None or short list of such as JSON holds it; else _NO_VALUE."""
    if type(value) is list and len(value) <= MAX_LIST and depth < MAX_VALUE_DEPTH:
        parts = [_plain_value(one, depth + 1) for one in value]
        return _NO_VALUE if any(one is _NO_VALUE for one in parts) else parts
    if type(value) in _NUMPY_SCALARS:
        return _plain_value(value.item(), depth)
    if type(value) is float:
        return value if math.isfinite(value) else str(value)
    if type(value) is int:
        return value if abs(value) <= MAX_INTEGER else _NO_VALUE
    if type(value) is str:
        return value[:MAX_VALUE_CHARS]
    return value if value is None or type(value) is bool else _NO_VALUE


def table_of(value: Any) -> tuple[torch.Tensor | None, str]:  # noqa: ANN401  a student's object
    """
    The rows that a value stands for, whatever its type: `.weight` if there is one, else the tensor itself.

    Returns:
        The tensor or None, and how it was found: tensor, parameter, weight, only-parameter, nothing, several.
    """
    if type(value) in PLAIN:
        return value, "parameter" if type(value) is _PARAMETER else "tensor"
    if isinstance(value, type | types.FunctionType):
        return None, "nothing"
    try:
        weight = getattr(value, "weight", None)
        if type(weight) in PLAIN:
            return weight, "weight"
        held = list(value.parameters()) if isinstance(value, torch.nn.Module) else _attributes(value)
    except Exception:  # noqa: BLE001  a student's property
        return None, "nothing"
    plain = [one for one in held if type(one) in PLAIN]
    tables = [one for one in plain if one.dim() == 2] if len(plain) > 1 else plain  # noqa: PLR2004
    if len(tables) == 1:
        return tables[0], "only-parameter"
    return None, "several" if tables else "nothing"


def _refusal(value: torch.Tensor) -> str:
    """Why a tensor's numbers are not read, or an empty text."""
    return _kind_refused(value) or _too_large(value)


def _kind_refused(value: torch.Tensor) -> str:
    if value.layout is not torch.strided or value.is_quantized or value.is_nested:
        return "it is not an ordinary dense tensor"
    if value.device.type == "meta":
        return "it has a shape but no numbers (device meta)"
    if value.dtype not in _NAMED_DTYPES:
        return f"its numbers are {str(value.dtype).removeprefix('torch.')}"
    return ""


def is_dense(value: torch.Tensor) -> bool:
    """Can its numbers be computed with, however many there are?"""
    return _kind_refused(value) == ""


def _attributes(value: Any) -> list[Any]:  # noqa: ANN401
    """What a plain object holds; a table may be in a class that is no module."""
    return list(vars(value).values()) if hasattr(value, "__dict__") and not isinstance(value, types.ModuleType) else []


def _too_large(value: torch.Tensor) -> str:
    if value.dim() > MAX_AXES:
        return f"it has {value.dim()} axes"
    if max(value.shape, default=0) > MAX_SIZE:
        return "it has an axis longer than can be looked at"
    if value.numel() > MAX_ELEMENTS:
        return f"it holds {value.numel()} numbers, more than can be looked at ({MAX_ELEMENTS})"
    if value.numel() and _bytes_needed(value) > value.untyped_storage().nbytes():
        return "its memory is gone"
    return ""


def _bytes_needed(value: torch.Tensor) -> int:
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return int((value.storage_offset() + last + 1) * value.element_size())


def gradients(names: dict[str, object], pairs: Sequence[tuple[str, str]], seed: int) -> Gradients:
    """
    For each pair (of, to): d (of * r).sum() / d to, with a random r of the shape of `of`.

    Args:
        names: the student's.
        pairs: which outputs, and which tables.
        seed: of r, unknown until the student's code has ended.

    Returns:
        By "of>to": a tensor, None (not connected), UNUSABLE (one of the two is nothing that a gradient could be
        looked for in), or the text of what went wrong on the way.
    """
    found: Gradients = {}
    for of in dict.fromkeys(of for of, _ in pairs):
        tables = {to: table_of(names.get(to))[0] for other, to in pairs if other == of}
        found |= {f"{of}>{to}": one for to, one in _gradients(names.get(of), tables, seed).items()}
    return found


def _gradients(of: Any, tables: dict[str, torch.Tensor | None], seed: int) -> Gradients:  # noqa: ANN401
    """By table: a tensor, None (not connected) or a text."""
    if type(of) not in PLAIN or _refusal(of):
        return dict.fromkeys(tables, UNUSABLE)
    usable = {to: one for to, one in tables.items() if one is not None and not _refusal(one)}
    found: Gradients = {to: None if to in usable else UNUSABLE for to in tables}
    learning = {to: one for to, one in usable.items() if one.requires_grad and of.requires_grad}
    if not learning:
        return found
    try:
        # not of `of` itself with r given: its hooks would run even where no way leads to a table
        total = (of * cotangent(of.shape, seed).to(of.dtype)).sum()
        made: Sequence[torch.Tensor | None] = torch.autograd.grad(
            total, list(learning.values()), retain_graph=True, allow_unused=True
        )
        dense = [one.to_dense() if one is not None and one.is_sparse else one for one in made]
    except BaseException as fault:  # noqa: BLE001  a student's `backward` or hook may raise anything
        return found | dict.fromkeys(
            learning, f"{type(fault).__name__}: {execution.text_of(fault)}"[:MAX_GRADIENT_FAULT_CHARS]
        )
    return found | dict(zip(learning, dense, strict=True))


def cotangent(shape: Any, seed: int) -> torch.Tensor:  # noqa: ANN401
    """The random r: float32, the same in the student's and the judge's process."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return torch.randn(tuple(shape), generator=generator, dtype=torch.float32, device="cpu")


def graph_was_freed(found: Gradients) -> bool:
    """Did a gradient fail only because the student had walked the graph already?"""
    return any(isinstance(one, str) and "backward through the graph a second time" in one for one in found.values())


def gradient_frame(found: Gradients, again: bool | None = None) -> Frame:  # noqa: FBT001
    """The gradients as a frame; `again`: does the same trial come once more? None where it cannot."""
    tensors = {name: one.detach().contiguous() for name, one in found.items() if isinstance(one, torch.Tensor)}
    words = {name: _gradient_word(one) for name, one in found.items()}
    body = {"gradients": words} if again is None else {"gradients": words, "again": again}
    return Frame(FrameType.GRADIENTS, body, pack(tensors))


def _gradient_word(found: torch.Tensor | str | None) -> str:
    if found is None:
        return "none"
    if isinstance(found, torch.Tensor):
        return "tensor"
    return found if found == UNUSABLE else f"error {found}"


def pack(tensors: dict[str, torch.Tensor]) -> bytes:
    """Contiguous CPU tensors as safetensors."""
    specs = {
        name: TensorSpec(
            dtype=_NAMED_DTYPES[one.dtype],
            shape=list(one.shape),
            data_ptr=one.data_ptr(),
            data_len=one.numel() * one.element_size(),
        )
        for name, one in tensors.items()
    }
    return bytes(serialize(specs))


def _functions(names: dict[str, object], outputs: list[str]) -> list[list[str]]:
    """Functions of the student that make outputs inside, as [function, output, …]: one never called explains a lot."""
    found = [(name, value) for name, value in names.items() if type(value) is types.FunctionType]
    inside = [[str(name)[:100], *_made_inside(value, outputs)] for name, value in found]
    return [one for one in inside if len(one) > 1][:20]


def _made_inside(function: types.FunctionType, outputs: list[str]) -> list[str]:
    code = function.__code__
    return [name for name in outputs if name in code.co_varnames] if code.co_filename == FILE else []


def _type_name(value: Any) -> str:  # noqa: ANN401
    return str(type(value).__name__)[:100]
