"""
The Task: one exercise as the grader needs it, JSON-able from end to end.

Only the trusted parent and the judge see a whole Task; the student's process gets `student_part`.
"""

import ast
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

MAX_SOURCE_BYTES = 64 * 1024
LESSON = "lesson"
FACTS = (
    "missing", "kind", "type_of", "shape_of", "via", "learns", "spoilt", "left", "gradient", "same", "fault", "probed",
    "unfinished", "assigned", "uses", "called", "failed", "lesson", "typed_in",
)  # fmt: skip
"""What an author's expression may ask beside values; `graders.judge.predicates` says what each means."""


@dataclass(frozen=True)
class Limits:
    """What one run may use."""

    wall_time_s: float = (
        4.0  # of processor time, for each step of a trial; `graders.pool.time_limit` says how it is kept
    )
    memory_mib: int = 512  # on top of what the warm process holds already
    output_kib: int = 64  # shown; the rest is thrown away
    output_abort_kib: int = 4096  # printed: past this the run is ended


@dataclass(frozen=True)
class Output:
    """A name that the student's code must make."""

    name: str
    kind: str = "tensor"  # tensor | table | value
    dims: tuple[str, ...] = ()  # the names of its axes, in order
    dtype: str = "floating"  # floating | whole | any, or the name of one, such as float32
    tolerance: float = 1e-5  # unitless: of each number expected and of the terms that it is made of
    atol: float = 0.0  # in the output's own unit, on top
    shown: str = ""  # what messages call it, where students have never heard of its name; empty: its name


@dataclass(frozen=True)
class Input:
    """A name of the starting code that the outputs are computed from."""

    name: str
    valid: str = ""  # expression: may the student have put another value there? empty: no


@dataclass(frozen=True)
class Check:
    """One check: what it judges and what it says."""

    id: str
    title: str
    kind: str  # a module of graders.judge.checks
    of: str = ""  # the output it judges
    to: str = ""  # for a gradient: the table it must reach
    names: tuple[str, ...] = ()  # for a count: the tables; for a construct: what is asked for or ruled out
    given: tuple[tuple[str, ...], ...] = ()  # student's outputs to start from, in turn; one is enough
    accept: tuple[str, ...] = ()  # expressions over the student's outputs that give other right values
    expression: str = ""  # that must hold, or whose text must have been printed
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # outputs without which it cannot be judged
    learns: tuple[str, ...] = ()  # tables that the output's gradient must reach where the rest allows it
    parts: tuple["Check", ...] = ()  # all of these, in turn
    message: str = ""  # said when it fails, after the fact that was found

    @property
    def leaves(self) -> tuple["Check", ...]:
        """The check itself, or what it is made of."""
        return tuple(leaf for part in self.parts for leaf in part.leaves) if self.parts else (self,)


@dataclass(frozen=True)
class WrongVariant:
    """A wrong way that students are known to take."""

    tag: str
    message: str
    code: str = ""
    expressions: Mapping[str, str] = field(default_factory=dict)  # output -> expression, instead of code
    when: str = ""  # predicate that recognises it, instead of equal outputs
    failing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """Everything that grading one exercise needs."""

    exercise: str
    version: int
    setup: str
    solution: str
    outputs: tuple[Output, ...]
    checks: tuple[Check, ...]
    inputs: tuple[Input, ...] = ()
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # name -> generator of fresh values
    require: str = ""  # expression over a fresh trial's starting code: draw again until it holds
    fresh_trials: int = 2
    wrong: tuple[WrongVariant, ...] = ()
    free_tables: tuple[str, ...] = ()  # names of tables that may start with any numbers
    probe: str = ""  # author's code, run after the student's: calls the classes and functions it asked for
    judge: str = ""  # author's code on the judge's side: makes names out of the outputs, for the checks to use
    report: str = ""  # author's code that prints the lesson's check
    limits: Limits = Limits()

    def to_json(self) -> dict[str, object]:
        """The task as JSON-able values."""
        return asdict(self)

    @cached_property
    def as_json(self) -> dict[str, object]:
        """The same, made once; not to be changed."""
        return self.to_json()

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Task":
        """Read a task that `to_json` wrote. Raises KeyError or TypeError if it is not one."""
        parts = dict(raw)
        parts["outputs"] = tuple(Output(**_tuples(one)) for one in raw["outputs"])
        parts["inputs"] = tuple(Input(**one) for one in raw["inputs"])
        parts["checks"] = tuple(_check(one) for one in raw["checks"])
        parts["wrong"] = cls.wrong_from_json(raw["wrong"])
        parts["free_tables"] = tuple(raw["free_tables"])
        parts["limits"] = Limits(**raw["limits"])
        return cls(**parts)

    @staticmethod
    def wrong_from_json(raw: Sequence[Mapping[str, Any]]) -> tuple[WrongVariant, ...]:
        """The part of the wrong variants."""
        return tuple(WrongVariant(**_tuples(one)) for one in raw)

    def student_part(self) -> "StudentPart":
        """What the student's process is given: no reference, no check, no expected value."""
        return StudentPart(
            setup=self.setup,
            require=self.require,
            params=self.params,
            outputs=tuple((one.name, one.kind) for one in self.outputs),
            inputs=tuple(one.name for one in self.inputs),
            gradients=self.gradients(),
            free_tables=self.free_tables,
            probe=self.probe,
            calls=any(leaf.kind == "calls" for check in self.checks for leaf in check.leaves),
            redefined=tuple(sorted(_redefined(self.solution, self.setup))),
            wall_time_s=self.limits.wall_time_s,
            output_kib=self.limits.output_kib,
        )

    def gradients(self) -> tuple[tuple[str, str], ...]:
        """Which gradients the checks look at: (of, to), each once."""
        leaves = [leaf for check in self.checks for leaf in check.leaves]
        pairs = [(check.of, check.to) for check in leaves if check.to]
        pairs += [(check.of, table) for check in leaves for table in check.learns]
        return tuple(dict.fromkeys(pairs))


@dataclass(frozen=True)
class StudentPart:
    """What a student's process gets of an exercise; also what its observations are asked to speak of."""

    setup: str = ""
    require: str = ""
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    outputs: tuple[tuple[str, str], ...] = ()  # name and kind of each
    inputs: tuple[str, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()  # (of, to)
    free_tables: tuple[str, ...] = ()
    probe: str = ""
    calls: bool = False  # are the operations that run to be noted?
    redefined: tuple[str, ...] = ()  # names of Python's or of the starting code's that the exercise is to make anew
    wall_time_s: float = 4.0
    output_kib: int = 64

    def to_json(self) -> dict[str, object]:
        """The part as JSON-able values; not to be changed."""
        return vars(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "StudentPart":
        """Read what `to_json` wrote, among other fields. Raises KeyError."""
        values = {name: raw[name] for name in cls.__dataclass_fields__}
        return cls(**{**values, **{name: _tuple(values[name]) for name in _LISTS}})


_LISTS = ("outputs", "inputs", "gradients", "free_tables", "redefined")


@lru_cache(maxsize=64)
def _redefined(solution: str, setup: str) -> frozenset[str]:
    """The names of Python's or of the starting code's that the solution makes anew."""
    return _stored(solution) & (_stored(setup) | vars(builtins).keys())


def _stored(text: str) -> frozenset[str]:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return frozenset()  # reported where it is run
    defined = {one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return frozenset(
        defined | {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    )


def _check(raw: Mapping[str, Any]) -> Check:
    return Check(**{**_tuples(raw), "parts": tuple(_check(part) for part in raw["parts"])})


def _tuples(raw: Mapping[str, Any]) -> dict[str, Any]:
    """JSON lists as tuples, so that a task read back equals the one written."""
    return {name: _tuple(value) for name, value in raw.items()}


def _tuple(value: Any) -> Any:  # noqa: ANN401  any JSON value
    return tuple(_tuple(one) for one in value) if isinstance(value, list | tuple) else value
