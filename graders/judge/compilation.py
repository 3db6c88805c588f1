"""
Compiling all of an exercise's texts, for later runs to be spared it.

Nothing of the author's is run here, and no student's code or observation is seen: what is handed over depends on the
exercise alone.
"""

import contextlib
import marshal
from dataclasses import asdict, dataclass, replace
from typing import Any

from graders.code_cache import CodeCache
from graders.judge.outcome.printed_check import statements
from graders.judge.trials import block
from graders.judge.trials.expressions import expression
from graders.judge.trials.reference import Programs
from graders.starting_code import Setup
from graders.student.probe import Probe
from graders.task import Check, Task, WrongVariant


@dataclass(frozen=True)
class CompiledExercise:
    """An exercise as a judge opens it: the wrong variants, most of the whole, only if something is wrong."""

    task: Task  # without its wrong variants
    packed_wrong: bytes
    code_cache: CodeCache

    @classmethod
    def of(cls, task: Task) -> "CompiledExercise":
        """One of which nothing is compiled yet."""
        return cls(replace(task, wrong=()), marshal.dumps([asdict(one) for one in task.wrong]), CodeCache())

    @classmethod
    def unpacked(cls, packed: bytes) -> "CompiledExercise":
        """One that `pack` has packed."""
        task, wrong, code_cache = marshal.loads(packed)  # noqa: S302  of our own run
        return cls(Task.from_json(task), wrong, CodeCache(code_cache))

    def pack(self) -> bytes:
        """As bytes, with all that is compiled."""
        return marshal.dumps((self.task.to_json(), self.packed_wrong, self.code_cache.pack()))

    def wrong(self) -> tuple[WrongVariant, ...]:
        """The wrong variants."""
        return Task.wrong_from_json(marshal.loads(self.packed_wrong))  # noqa: S302


def for_student(task: Task) -> bytes:
    """What a student's run of this exercise compiles else: starting code and probe, no more."""
    code_cache = CodeCache()
    Setup(task.setup, task.require, code_cache).open(frozenset(task.params))
    Probe(task.probe, code_cache)
    return code_cache.pack()


def for_judge(task: Task) -> bytes:
    """The exercise with all texts that a judge may come to."""
    exercise = CompiledExercise.of(task)
    code_cache, programs = exercise.code_cache, Programs(task, exercise.code_cache)
    Setup(task.setup, task.require, code_cache).open(frozenset(task.params))
    for adopted in _starts(task):
        programs.compiled(task.solution, adopted)
    tables = frozenset(one.name for one in task.outputs if one.kind == "table")
    for variant in task.wrong:
        if not variant.when and not variant.expressions:
            programs.compiled(variant.code, tables)
    for text in _expressions(task):
        with contextlib.suppress(Exception):  # one that cannot be compiled is reported when it is reached
            expression(text, code_cache)
    statements(task.report, code_cache)
    block.steps(task.judge, code_cache)
    return exercise.pack()


def _starts(task: Task) -> list[frozenset[str]]:
    """The sets of outputs that the solution is started from."""
    leaves = [leaf for check in task.checks for leaf in check.leaves]
    given = [frozenset(one) for leaf in leaves for one in leaf.given]
    given += [frozenset({table}) for leaf in leaves for table in _tables(leaf)]
    return list(dict.fromkeys([frozenset(), *given]))


def _tables(leaf: Check) -> tuple[str, ...]:
    return (*leaf.learns, leaf.to) if leaf.to else leaf.learns


def _expressions(task: Task) -> list[str]:
    leaves: list[Any] = [leaf for check in task.checks for leaf in check.leaves]
    found = [text for leaf in leaves for text in (leaf.expression, *leaf.accept)]
    found += [text for variant in task.wrong for text in (variant.when, *variant.expressions.values())]
    return [text for text in found if text]
