"""
What an author's expression may ask about a student's run, beside the values themselves.

    missing(name)        is this output not there?
    kind(name)           missing, tensor, table, array, value or other
    type_of(name)        the name of its type, as Linear or Embedding, or an empty text
    shape_of(name)       its shape, also where its numbers were too many to be read
    via(name)            how a table was found: tensor, parameter, weight, only-parameter, nothing, several
    learns(name)         does it take a gradient?
    spoilt(name)         was this input overwritten with something that nothing can be computed from?
    left(name)           the tensor that stands under an input's name after the student's code; None if it is none
    gradient(of, to)     the gradient that arrived, or None
    same(a, b)           are two tensors equal within their precision? False on anything odd
    fault                what ended the code: .type .message .targets .on_self .operands (by name); None: nothing
    probed(name)         the same for the line of the probe that was to make this output
    unfinished           outputs that are made inside functions only
    assigned             names that the student's text stores into outside functions
    uses                 what the text uses, as in the check of that name
    called(name)         did this operation run, as in the check `calls`? Only where some check of that kind asks
    failed               ids of the checks that failed on this trial
    lesson               is this the lesson's own trial?
    typed_in             is it right on the lesson's data, and here a size of the lesson shows? (`when` only)
"""

import ast
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch

from graders.judge.code.constructs import constructs
from graders.judge.trials.inputs import spoilt_input
from graders.judge.trials.reference import Names
from graders.judge.values import compare
from graders.judge.values.decode_observation import MISSING, Fault, Observation
from graders.operations import operation, operations
from graders.student.execution import assigned
from graders.task import Task


@dataclass(frozen=True)
class FaultView:
    """A fault as an author's expression sees it."""

    type: str
    message: str
    line: int | None
    targets: tuple[str, ...]
    on_self: bool  # the name that was looked for is one that `self` holds
    operands: dict[str, torch.Tensor | None]


class ReadWhenAsked(AbstractSet[str]):
    """A set of names that is worked out when somebody asks for it: to parse a text costs as much as a whole trial."""

    def __init__(self, read: Callable[[], frozenset[str]]) -> None:
        """`read`: works it out."""
        self._read = read

    @cached_property
    def _names(self) -> frozenset[str]:
        return self._read()

    def __contains__(self, name: object) -> bool:
        """Is it one of them?"""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """One after the other."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many."""
        return len(self._names)

    @classmethod
    def _from_iterable(cls, names: Any) -> Any:  # noqa: ANN401  what comes of `&`, `|` and `-` is worked out
        return frozenset(names)


def predicate_names(
    task: Task, names: Names, observation: Observation, *, source: str, failed: set[str], lesson: bool
) -> Names:
    """
    The names above.

    Args:
        task: the exercise.
        names: the starting code's.
        observation: the student's.
        source: the student's text; read, never run.
        failed: ids of the checks that have failed on this trial so far.
        lesson: is this the lesson's trial?
    """
    return {
        "missing": lambda name: observation.made(name).kind == "missing",
        "kind": lambda name: observation.made(name).kind,
        "type_of": lambda name: observation.made(name).type,
        "shape_of": lambda name: observation.made(name).shape,
        "via": lambda name: observation.made(name).via,
        "learns": lambda name: observation.made(name).requires_grad,
        "spoilt": lambda name: spoilt_input(task, names, observation, name),
        "left": lambda name: observation.inputs.get(name, MISSING).tensor,
        "gradient": lambda of, to: _tensor(observation.gradients.get(f"{of}>{to}")),
        "same": _same,
        "fault": _fault_view(observation.fault),
        "probed": lambda name: _fault_view(observation.probed.get(name)),
        "unfinished": {name for one in observation.defined for name in one[1:]},
        "assigned": ReadWhenAsked(lambda: _assigned(source)),
        "uses": ReadWhenAsked(lambda: _uses(source, task.setup)),
        "called": lambda name: any(operation(name) in operations(one) for one in observation.calls),
        "failed": failed,
        "lesson": lesson,
    }


def _tensor(found: Any) -> torch.Tensor | None:  # noqa: ANN401  tensor or word
    return found if isinstance(found, torch.Tensor) else None


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401  whatever an author compares
    both = isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)
    return both and compare.same(one, other)


def _fault_view(fault: Fault | None) -> FaultView | None:
    if fault is None:
        return None
    operands = {name: made.tensor for name, made in fault.operands.items()}
    return FaultView(fault.type, fault.message, fault.line, fault.targets, fault.on_self, operands)


@lru_cache(maxsize=4)
def _assigned(source: str) -> frozenset[str]:
    try:
        body = ast.parse(source.removeprefix("\ufeff")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    outside = [one for one in body if not isinstance(one, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)]
    return frozenset(name for statement in outside for name in assigned(statement))


@lru_cache(maxsize=4)
def _uses(source: str, setup: str) -> frozenset[str]:
    try:
        return frozenset(constructs(source, setup))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
