"""
The reference: the author's solution, run on the student's own tables.

The solution is run as written, but right after it makes a table, that table is given the student's
numbers ("adoption"). So what comes out is what *this* student should have got, whatever the order
in which the tables were made and whatever they were filled with. Adopting `tok` and `pos` as well
gives the `h` that follows from the student's own steps, so that one fault is reported once.

The same machinery runs the author's wrong variants, to see whether the student's outputs are theirs.
"""

import ast
import copy
import random
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch

from graders.code_cache import CodeCache
from graders.judge.code.data_flow import made_from, serves
from graders.judge.values.compare import Terms
from graders.judge.values.condition import Noise, condition
from graders.judge.values.decode_observation import Observation, Observed, read
from graders.judge.values.plausible import plausible
from graders.student import main_module
from graders.student.execution import Program, ProgramResult, assigned, graphs_kept
from graders.student.main_module import FILE
from graders.student.observation import cotangent, gradient_frame, gradients, observe, table_of
from graders.student.probe import Probe, graph_was_freed, run
from graders.task import Task

_ADOPT = "__adopt__"
EXACT = 0  # in the place of a sample's number: nothing is changed
Names = dict[str, Any]


class OtherShape(Exception):
    """A variant makes a table of another shape than the student's, so it cannot be what the student wrote."""


class AdoptingProgram(Program):
    """An author's text in which each of the named values is replaced right after it is made."""

    def __init__(self, source: str, adopted: frozenset[str], code_cache: CodeCache) -> None:
        """`adopted`: the names to replace; `code_cache`: those that are compiled already."""
        self._adopted, self._code_cache = adopted, code_cache
        super().__init__(source)

    def compiled(self, source: str) -> CodeType:
        """With `name = __adopt__("name", name)` behind each top-level statement that makes `name`."""
        key = ("program", source, tuple(sorted(self._adopted)))
        code: CodeType = self._code_cache.compiled(key, lambda: self._compiled(source))
        return code

    def _compiled(self, source: str) -> CodeType:
        return compile(_adopting(ast.parse(source, FILE), self._adopted), FILE, "exec")


class AdoptingProbe(Probe):
    """The author's probe, in which each of the named values is replaced right after it is made."""

    def __init__(self, source: str, adopted: frozenset[str], code_cache: CodeCache) -> None:
        """`adopted`: the names to replace; `code_cache`: those that are compiled already."""
        self.adopted = adopted
        super().__init__(source, code_cache)

    def prepared(self, tree: ast.Module) -> ast.Module:
        """With the adoptions."""
        return _adopting(tree, self.adopted)


def _adopting(tree: ast.Module, adopted: frozenset[str]) -> ast.Module:
    """With an adoption behind the last statement that makes each name: what it was before was not handed over."""
    last = {name: number for number, statement in enumerate(tree.body) for name in assigned(statement) & adopted}
    body: list[ast.stmt] = []
    for number, statement in enumerate(tree.body):
        body.append(statement)
        made = sorted(name for name, place in last.items() if place == number)
        body += [_adoption(name, statement) for name in made]
    tree.body = body
    return tree


def _adoption(name: str, place: ast.stmt) -> ast.stmt:
    """`name = __adopt__("name", name)`, at the place of another statement."""
    call = ast.Call(ast.Name(_ADOPT, ast.Load()), [ast.Constant(name), ast.Name(name, ast.Load())], [])
    made = ast.Assign([ast.Name(name, ast.Store())], call)
    return ast.fix_missing_locations(ast.copy_location(made, place))


class Adoption:
    """Gives a value of the reference the student's numbers."""

    def __init__(self, made: dict[str, Observed], *, same_shape: bool, noise: Noise | None = None) -> None:
        """
        What to adopt.

        Args:
            made: the student's values, by name; all readable.
            same_shape: refuse with OtherShape where the author's own shape differs.
            noise: change them a little; None leaves them as they are.
        """
        self._made, self._same_shape, self._noise = made, same_shape, noise
        self.leaves: dict[str, torch.Tensor] = {}

    def __call__(self, name: str, value: Any) -> Any:  # noqa: ANN401  an author's object
        """The value to go on with instead of `value`."""
        made = self._made[name]
        assert made.tensor is not None  # noqa: S101  only readable values are adopted
        own, _ = table_of(value)
        if self._same_shape and (own is None or tuple(own.shape) != made.shape):
            raise OtherShape(name)
        learns = made.tensor.is_floating_point() and (own is None or own.requires_grad or made.kind == "tensor")
        numbers = made.tensor.clone() if self._noise is None else self._noise.on(made.tensor)
        leaf = numbers.requires_grad_(learns)
        if type(own) is torch.nn.Parameter:
            leaf = torch.nn.Parameter(leaf.detach(), requires_grad=learns)
        self.leaves[name] = leaf
        if isinstance(value, torch.nn.Module) and own is not None:
            _put(value, own, leaf)
            return value
        return leaf


def _put(module: torch.nn.Module, own: torch.Tensor, leaf: torch.Tensor) -> None:
    """Let the module hold `leaf` wherever it holds its own table."""
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            if parameter is own:
                setattr(part, name, leaf)


class Programs:
    """An author's texts with the probe, each compiled once for each set of names that is adopted in it."""

    def __init__(self, task: Task, code_cache: CodeCache | None = None) -> None:
        """`task`: whose probe is run after each text; `code_cache`: those that are compiled already."""
        self._probe, self._code_cache = task.probe, code_cache or CodeCache()
        part = task.student_part()
        self._redefined, self._time_s = frozenset(part.redefined), part.wall_time_s
        self._starts = tuple(dict.fromkeys(one for check in task.checks for leaf in check.leaves for one in leaf.given))
        self._made_from = made_from(task.solution, task.setup, self._code_cache) if not task.probe else {}
        self._serving: dict[tuple[str, tuple[str, ...]], list[tuple[str, ...]]] = {}
        self._known: dict[tuple[str, frozenset[str]], tuple[AdoptingProgram, AdoptingProbe]] = {}

    def run(self, source: str, adopted: frozenset[str], fresh: Callable[[], Names]) -> tuple[ProgramResult, Names]:
        """
        Run the text with these names adopted, then the probe, as a student's process does.

        Args:
            source: the author's text.
            adopted: the names to replace.
            fresh: gives the names to run in, each time it is called.

        Returns:
            How it ended, and what was made: the text's names, and in the place of the probe's what the probe made.
        """
        program, probe = self.compiled(source, adopted)
        names = fresh()
        ended = run(program, probe, names, redefined=self._redefined, time_s=self._time_s)
        if graph_was_freed(ended):
            names = fresh()
            with graphs_kept(True):  # noqa: FBT003
                ended = run(program, probe, names, redefined=self._redefined, time_s=self._time_s)
        return ended, names if ended.values is None else ended.values

    def serving(self, of: str, adopted: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Other starts of the solution, asked for by some check, from which an output comes out as from this one."""
        key = of, adopted
        if key not in self._serving:
            given, made = frozenset(adopted), self._made_from
            self._serving[key] = [one for one in self._starts if serves(made, of, given=given, wider=frozenset(one))]
        return self._serving[key]

    def compiled(self, source: str, adopted: frozenset[str]) -> tuple[AdoptingProgram, AdoptingProbe]:
        """The text and the probe with these names adopted."""
        key = (source, adopted)
        if key not in self._known:
            program = AdoptingProgram(source, adopted, self._code_cache)
            self._known[key] = program, AdoptingProbe(self._probe, adopted, self._code_cache)
        return self._known[key]


class Start:
    """The state right after the starting code, to which every run of an author's code goes back."""

    def __init__(self, names: Names) -> None:
        """Now; `names` are the starting code's."""
        self.names = names
        self._torch = torch.get_rng_state()
        self._python = random.getstate()
        self._generators = [(one, one.get_state()) for one in names.values() if type(one) is torch.Generator]

    def fresh(self, **more: Any) -> Names:  # noqa: ANN401  any values
        """The names of a new `__main__` for one run, with all randomness as it was for the student."""
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        for generator, state in self._generators:
            generator.set_state(state)
        return main_module.fresh({**self.names, **more})

    def having(self, changed: Names) -> "Start":
        """The same state, with other values for some names."""
        other = copy.copy(self)
        other.names = {**self.names, **changed}
        return other


class Reference:
    """The author's code on one trial's data."""

    def __init__(self, task: Task, start: Start, observation: Observation, programs: Programs, *, pure: Names) -> None:
        """
        One trial.

        Args:
            task: the exercise.
            start: the starting code's state on this trial, with the student's inputs.
            observation: the student's.
            programs: shared by all trials.
            pure: the solution's names, all its own.
        """
        self._pure = pure
        self._task, self._observation, self._programs = task, observation, programs
        self._start = start
        self._runs: dict[tuple[tuple[str, ...], int], tuple[Names, Adoption] | None] = {}
        self._gradients: dict[tuple[str, int, tuple[str, ...], int], dict[str, torch.Tensor | None]] = {}
        self._cotangents: dict[tuple[tuple[int, ...], int], torch.Tensor] = {}

    def fresh(self) -> Names:
        """The starting code's names for another text of the author's, with all randomness as it was for the student."""
        return self._start.fresh()

    def given(self, adopted: tuple[str, ...], *, of: str, sample: int = EXACT) -> tuple[Names, Adoption] | None:
        """
        The solution's names when it starts from these outputs of the student, as far as `of` is made from them.

        Args:
            adopted: names of outputs.
            of: the one that is wanted.
            sample: EXACT, or the number of a run in which all that goes in is changed a little.

        Returns:
            None where one of them is not there to start from. Where the solution stops on them, what it had made.
        """
        for wider in self._programs.serving(of, adopted):
            found = self._given(wider, sample)
            if found is not None and of in found[0]:
                return found
        return self._given(adopted, sample)

    def _given(self, adopted: tuple[str, ...], sample: int) -> tuple[Names, Adoption] | None:
        key = adopted, sample
        if key not in self._runs:
            self._runs[key] = self._run(adopted, None if sample == EXACT else Noise(sample))
        return self._runs[key]

    def _run(self, adopted: tuple[str, ...], noise: Noise | None) -> tuple[Names, Adoption] | None:
        made = {name: self._observation.made(name) for name in adopted}
        if not all(one.readable and plausible(one, self._pure.get(name)) for name, one in made.items()):
            return None
        adoption = Adoption(made, same_shape=False, noise=noise)

        def names_anew() -> Names:
            names = self._start.fresh(**{_ADOPT: adoption})
            if noise is not None:
                names |= noise.on_all(names)
            return names

        # what was made before the solution stopped on the student's values is still what should come out
        _, names = self._programs.run(self._task.solution, frozenset(adopted), names_anew)
        return names, adoption

    def terms(self, given: tuple[str, ...], *, of: str) -> Terms:
        """How large the terms are that an output is made of, when the solution starts from `given`."""

        def changed(sample: int) -> torch.Tensor | None:
            found = self.given(given, of=of, sample=sample)
            return table_of(found[0].get(of))[0] if found is not None else None

        return lambda samples: condition(changed, samples)

    def gradient(
        self, of: str, to: str, seed: int, *, given: tuple[str, ...] | None = None, sample: int = EXACT
    ) -> torch.Tensor | None:
        """D (of * r).sum() / d to, of the solution on the student's tables (`given`); None where there is none."""
        key = of, seed, given or (to,), sample
        if key not in self._gradients:
            self._gradients[key] = self._gradient(of, seed, given=given or (to,), sample=sample)
        return self._gradients[key].get(to)

    def how_often(self, of: str, to: str, *, given: tuple[str, ...] | None = None) -> torch.Tensor | None:
        """How often each number of a table comes up in an output of the solution; None where that is no count."""
        found = self.given(given or (to,), of=of)
        value = found[0].get(of) if found is not None else None
        leaf = dict(self._leaves(given or (to,), *found)).get(to) if found is not None else None
        if leaf is None or not leaf.requires_grad or not isinstance(value, torch.Tensor) or not value.requires_grad:
            return None
        ones = torch.ones_like(value)
        (often,) = torch.autograd.grad(
            value, [leaf], ones, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        return often if bool((often == often.round().clamp_min(0)).all()) else None

    def gradient_terms(self, of: str, to: str, seed: int, *, given: tuple[str, ...] | None = None) -> Terms:
        """How large the terms are that a gradient is made of."""
        return lambda samples: condition(
            lambda sample: self.gradient(of, to, seed, given=given, sample=sample), samples
        )

    def _gradient(self, of: str, seed: int, *, given: tuple[str, ...], sample: int) -> dict[str, torch.Tensor | None]:
        """By what was given: one walk through the graph for all of them."""
        found = self.given(given, of=of, sample=sample)
        if found is None:
            return {}
        names, adoption = found
        value, leaves = (
            names.get(of),
            {to: leaf for to, leaf in self._leaves(given, names, adoption) if leaf.requires_grad},
        )
        if not leaves or not isinstance(value, torch.Tensor) or not value.requires_grad:
            return {}
        # given as the gradient of `value`, r is just what comes of (value * r).sum(), without making that
        r = self._cotangent(tuple(value.shape), seed).to(value.dtype)
        if sample != EXACT:
            r = Noise(sample).on(r)
        made = torch.autograd.grad(value, list(leaves.values()), r, retain_graph=True, allow_unused=True)
        return dict(zip(leaves, made, strict=True))

    @staticmethod
    def _leaves(given: tuple[str, ...], names: Names, adoption: Adoption) -> Iterator[tuple[str, torch.Tensor]]:
        """What was adopted, and what the solution does not make itself but finds in the starting code."""
        for name in given:
            leaf = adoption.leaves.get(name)
            if leaf is None:
                leaf, _ = table_of(names.get(name))
            if leaf is not None:
                yield name, leaf

    def _cotangent(self, shape: tuple[int, ...], seed: int) -> torch.Tensor:
        """The random r, drawn once for all outputs of a shape."""
        if (shape, seed) not in self._cotangents:
            self._cotangents[shape, seed] = cotangent(shape, seed)
        return self._cotangents[shape, seed]

    def variant(self, code: str, seed: int) -> Observation | None:
        """What a wrong variant would have handed over, on the student's tables; None if it cannot be the one."""
        tables = {one.name for one in self._task.outputs if one.kind == "table"}
        made = {name: self._observation.made(name) for name in tables if self._observation.made(name).readable}
        if not all(plausible(one, self._pure.get(name)) for name, one in made.items()):
            return None
        adoption = Adoption(made, same_shape=True)
        part = self._task.student_part()
        ended, names = self._programs.run(code, frozenset(made), lambda: self._start.fresh(**{_ADOPT: adoption}))
        if any(one["type"] == OtherShape.__name__ for one in (ended.fault, *ended.probed.values()) if one):
            return None
        names.pop(_ADOPT, None)
        frame = observe(names, part, ended)
        found = gradient_frame(gradients(names, part.gradients, seed))
        return read(part, frame, found)
