"""Questions about shapes, answered from the shapes of the last report."""

import re
from dataclasses import dataclass

from app.clients.tutor.port import TutorContext
from app.services.tutor.offline.diagnosis import asked_shape, mentioned, tensors
from graders.report import TensorShape

_SHAPE = re.compile(r"\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


@dataclass(frozen=True)
class ShapeAnswer:
    """What is said of one tensor's shape."""

    name: str
    said: str
    wrong: bool
    """Is it another shape than the task wants?"""


def shape_answer(context: TutorContext, question: str) -> ShapeAnswer | None:
    """Say what the shape means that a question is about; None if it is about none that is known."""
    tensor = _tensor(context, question)
    if tensor is None:
        return _by_task(context, question)
    name, shape, wanted = tensor.name, list(tensor.shape), list(tensor.expected_shape)
    if shape == wanted:
        said = f"`{name}` is `{shape}`, as it should be: {_in_words(wanted, tensor.dims)}."
        return ShapeAnswer(name, said, wrong=False)
    return ShapeAnswer(
        name,
        f"Your `{name}` is `{shape}`; asked for is `{wanted}`, that is {_in_words(wanted, tensor.dims)}. "
        f"{_difference(shape, wanted, tensor.dims)}",
        wrong=True,
    )


def names_a_shape(question: str) -> bool:
    """Has the question a shape in it, such as `[3, 2, 4]`?"""
    return _SHAPE.search(question) is not None


def _tensor(context: TutorContext, question: str) -> TensorShape | None:
    """Find the tensor: by its name, or else by a shape that is not as it should be, or by any shape."""
    by_name = {one.name: one for one in tensors(context)}
    named = mentioned(context, question)
    if named:
        return by_name.get(named[0])
    asked = [[int(size) for size in found.split(",")] for found in _SHAPE.findall(question)]
    fits = [one for one in by_name.values() if list(one.shape) in asked]
    odd = [one for one in fits if list(one.shape) != list(one.expected_shape)]
    return next(iter(odd), None) or (fits[0] if fits and len(asked) == 1 else None)


def _by_task(context: TutorContext, question: str) -> ShapeAnswer | None:
    for name in mentioned(context, question):
        if shape := asked_shape(context, name):
            return ShapeAnswer(name, f"The table in the task gives `{name}` the shape `{shape}`.", wrong=False)
    return None


def _in_words(shape: list[int], dims: tuple[str, ...]) -> str:
    if len(dims) != len(shape):
        return f"{len(shape)} axes"
    return ", ".join(f"{size} along the axis *{dim}*" for size, dim in zip(shape, dims, strict=True))


def _difference(shape: list[int], wanted: list[int], dims: tuple[str, ...]) -> str:
    if len(shape) != len(wanted):
        more = len(shape) - len(wanted)
        return f"Yours has {abs(more)} {'axis' if abs(more) == 1 else 'axes'} {'more' if more > 0 else 'fewer'}."
    if sorted(shape) == sorted(wanted):
        return f"The sizes are the same, {'the other way round' if len(shape) == 2 else 'in another order'}."  # noqa: PLR2004
    named = dims if len(dims) == len(wanted) else [str(index) for index in range(len(wanted))]
    odd = [f"*{dim}*" for dim, mine, right in zip(named, shape, wanted, strict=True) if mine != right]
    return f"They part at {' and '.join(odd)}."
