"""
An author's code on many draws, before any answer is graded.

Each draw is a candidate for the data of a fresh trial. The starting code is run on it, then `require` is asked, and
where that holds the solution is run as well. A fault is reported for the first draw that shows it only, as the fault of
the text that raised. What is seen of the others tells whether fresh data are other data, and whether a mix-up of two
sizes would always show: a parameter counts as a size where an axis of some tensor is as long as it on every draw.
"""

import itertools
import random
import time
from collections.abc import Iterator

import torch

from graders.code_cache import CodeCache
from graders.faults import GraderFault
from graders.judge.outcome import results
from graders.judge.outcome.printed_check import printed
from graders.judge.trials.reference import Names, Programs, Reference, Start
from graders.judge.trials.trial import Trial
from graders.judge.values.decode_observation import read
from graders.starting_code import Setup, drawn_values
from graders.student import main_module
from graders.student.execution import ProgramResult
from graders.student.observation import observe, table_of
from graders.task import Task
from graders.trials import Draw, candidates

CANDIDATES, SOLVED = 400, 100
TIME_S = 8.0
Sizes = dict[str, int]


class _Broken(Exception):
    """Nothing can be graded while this stands."""


def survey(task: Task) -> dict[str, object]:
    """What `graders.survey.Survey` holds."""
    return _Surveyor(task).survey()


class _Surveyor:
    def __init__(self, task: Task) -> None:
        self._task, code_cache = task, CodeCache()
        self._code_cache = code_cache
        self._setup, self._programs = Setup(task.setup, task.require, code_cache), Programs(task, code_cache)
        self._drawn = self._accepted = 0
        self._judge_faults: dict[str, str] = {}  # by what was raised, whatever the values
        self._draws: list[tuple[Sizes, set[str], dict[tuple[str, int], int]]] = []  # parameters, inputs as ever, axes

    def survey(self) -> dict[str, object]:
        found: dict[str, object] = {
            name: [] for name in ("faults", "report_faults", "judge_faults", "unvaried", "unseeded", "equal_sizes")
        }
        try:
            lesson = self._run_setup(next(candidates(self._task.params, None)))
            found["unseeded"] = self._unseeded(lesson)
            found["report_faults"] = self._report(lesson)
            self._look_at_draws(lesson)
        except (_Broken, GraderFault) as broken:
            found["faults"] = [str(broken)]
        found["judge_faults"] = list(self._judge_faults.values())
        found["unvaried"] = [
            one.name for one in self._task.inputs if self._draws and all(one.name in same for _, same, _ in self._draws)
        ]
        found["equal_sizes"] = list(self._equal_sizes())
        return {**found, "drawn": self._drawn, "accepted": self._accepted}

    def _run_setup(self, values: Draw) -> Names:
        """The starting code's names; that inputs are tensors is looked at as well. Raises SetupFault, _Broken."""
        names: Names = main_module.fresh()
        self._setup.run_once(values, names)
        for one in self._task.inputs:
            if one.name not in names:
                raise _Broken(f"the starting code makes no `{one.name}`, which stands under `inputs`")
            if not isinstance(names[one.name], torch.Tensor):
                kind = type(names[one.name]).__name__
                raise _Broken(f"`{one.name}` stands under `inputs`, and is no tensor but of type {kind}; take it out")
        return names

    def _unseeded(self, lesson: Names) -> list[str]:
        """Inputs that come out otherwise when the state of all randomness is another."""
        torch.seed()
        random.seed()
        again = self._run_setup(Draw({}, seeds=None))
        return [one.name for one in self._task.inputs if not _same(lesson[one.name], again[one.name])]

    def _look_at_draws(self, lesson: Names) -> None:
        until = time.monotonic() + TIME_S
        for values in self._candidates():
            if time.monotonic() > until:
                break
            self._drawn += 1
            if not self._setup.may_do(values):
                continue
            names = self._run_setup(values)
            if self._setup.accepts(values, names):
                self._accepted += 1
                if len(self._draws) < SOLVED:
                    self._look_at(values, names, lesson)
        if not self._accepted:  # impossible, or only rare?
            self._setup.run(candidates(self._task.params, 0), main_module.fresh())

    def _candidates(self) -> Iterator[Draw]:
        draws = (candidates(self._task.params, number) for number in itertools.count())
        return (next(one) for one in itertools.islice(draws, CANDIDATES))

    def _look_at(self, values: Draw, names: Names, lesson: Names) -> None:
        start = Start(names)
        ended, solved = self._solved(start, values)
        if self._task.judge:
            self._note_judge(self._trial(start, ended, solved, values))
        same = {one.name for one in self._task.inputs if _same(lesson[one.name], names[one.name])}
        sizes = dict(one for name, value in values.items() if (one := _size(name, value)) is not None)
        named = [*(one.name for one in self._task.inputs), *(one.name for one in self._task.outputs)]
        tensors = {name: table_of(solved.get(name))[0] for name in named}
        axes = {
            (name, axis): size
            for name, tensor in tensors.items()
            if tensor is not None
            for axis, size in enumerate(tensor.shape)
        }
        self._draws.append((sizes, same, axes))

    def _solved(self, start: Start, values: Draw) -> tuple[ProgramResult, Names]:
        """How the solution ended and its names. Raises _Broken: it raises."""
        ended, names = self._programs.run(self._task.solution, frozenset(), start.fresh)
        for fault in (ended.fault, *ended.probed.values()):
            if fault is not None:
                line = f" on its line {fault['line']}" if fault["line"] else ""
                said = f"the exercise's own solution fails with {fault['type']}{line}: {str(fault['message'])[:300]}"
                raise _Broken(f"{said}{drawn_values(values)}")
        return ended, names

    def _report(self, lesson: Names) -> list[str]:
        """What the author's report raises over the solution's own values."""
        if not self._task.report and not self._task.judge:
            return []
        start, values = Start(lesson), Draw({}, seeds=None)
        trial = self._trial(start, *self._solved(start, values), values)
        results.judge_trial(trial)
        self._note_judge(trial)
        faults: list[str] = []
        printed(trial, self._task.report, faults)
        return faults

    def _trial(self, start: Start, ended: ProgramResult, names: Names, values: Draw) -> Trial:
        """The solution's own, as a student's would be judged; without gradients."""
        part = self._task.student_part()
        observation = read(part, observe(names, part, ended), None)
        return Trial(
            task=self._task,
            names=start.names,
            pure=names,
            observation=observation,
            reference=Reference(self._task, start, observation, self._programs, pure=names),
            seed=0,
            lesson=values.is_lesson,
            of_lesson=values.is_lesson,
            values=values,
            source=self._task.solution,
            code_cache=self._code_cache,
        )

    def _note_judge(self, trial: Trial) -> None:
        for raised, fault in zip(trial.block.faults, trial.author_faults, strict=False):
            self._judge_faults.setdefault(raised.partition(":")[0], fault.exception)

    def _equal_sizes(self) -> Iterator[tuple[str, str, int]]:
        names = list(self._draws[0][0]) if self._draws else []
        are_sizes = [name for name in names if any(self._is_size(name, axis) for axis in self._draws[0][2])]
        for one, other in itertools.combinations(are_sizes, 2):
            equal = next((sizes[one] for sizes, _, _ in self._draws if sizes[one] == sizes[other]), None)
            if equal is not None:
                yield one, other, equal

    def _is_size(self, name: str, axis: tuple[str, int]) -> bool:
        return all(axes.get(axis) == sizes.get(name) for sizes, _, axes in self._draws)


def _size(name: str, value: object) -> tuple[str, int] | None:
    """What a parameter may mean as a size: its number, or how many it holds."""
    if isinstance(value, list):
        return f"len({name})", len(value)
    return (name, value) if type(value) is int else None


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one.nan_to_num(), other.nan_to_num())
