"""
Is a size of the lesson typed in where this trial has another?

That a text is right on the lesson's data and wrong on fresh data says only that it hangs on something of the lesson.
That it is a *size* shows in what it has made: an output with as many numbers along an axis as on the lesson's data,
though the solution has another number of them here; a plain value that is still the lesson's; or, where the code
stopped before that, a number of the text, or the length of a list in it, that is a size of the lesson and stands in
the fault: in its message, in the shape of an operand, or on its line. Everything else (a chance, an id that is not
there, a row that is marked) leaves none of these, and is never called so.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from graders.judge.trials.trial import Trial
from graders.report import CheckStatus

_SMALLEST = 3  # 0, 1 and 2 stand in every text


def typed_in(lesson: Trial, trial: Trial) -> bool:
    """
    Say whether a trial shows it; the lesson's own does where nothing is wrong with it.

    Args:
        lesson: the lesson's trial.
        trial: one of the same submission.
    """
    if trial.of_lesson:
        return trial.observation.fault is None and not _failed(trial)
    if trial.observation.fault is None and not _failed(trial):
        return False
    return any(_stayed(lesson, trial, one.name) for one in trial.task.outputs) or _in_the_fault(lesson, trial)


def _failed(trial: Trial) -> bool:
    return any(one.status is CheckStatus.FAILED for one in trial.outcomes.values())


def _stayed(lesson: Trial, trial: Trial, name: str) -> bool:
    """Is an output of the lesson's size, or still its value, where the solution's is not?"""
    made = trial.made(name)
    if made.kind == "value":
        value_then = lesson.made(name).value
        return (
            made.value == value_then
            and not _same(value_then, trial.pure.get(name))
            and _is_typed(value_then, lesson.source)
        )
    was, wanted = lesson.expected_shape(name), trial.expected_shape(name)
    if not len(made.shape) == len(was) == len(wanted):
        return False
    return any(one == old != new for one, old, new in zip(made.shape, was, wanted, strict=True))


def _is_typed(value_then: Any, text: str) -> bool:  # noqa: ANN401  a plain value
    """Do all the numbers of a value stand in the text?"""
    numbers = {
        one for one in (value_then if isinstance(value_then, list) else [value_then]) if type(one) in (int, float)
    }
    large = {one for one in numbers if one >= _SMALLEST}
    return bool(large) and large <= numbers_in(text)


def _same(value_then: Any, value: Any) -> bool:  # noqa: ANN401  plain values of the student and of the author
    try:
        return bool(value_then == value)
    except Exception:  # noqa: BLE001  an author's object
        return False


def _in_the_fault(lesson: Trial, trial: Trial) -> bool:
    fault = trial.observation.fault
    if fault is None:
        return False
    then = set(_sizes(lesson)) - set(_sizes(trial))
    named = {int(one) for one in re.findall(r"\d{1,9}", fault.message[:500])}
    shown = {size for made in fault.operands.values() for size in made.shape}
    return bool(then & numbers_in(trial.source) & (named | shown | numbers_in(fault.code)))


def _sizes(trial: Trial) -> Iterator[int]:
    """The sizes of what the starting code and the solution have made."""
    for names in (trial.names, trial.pure):
        for value in names.values():
            if type(value) is int:
                yield value
            yield from getattr(value, "shape", ())


@lru_cache(maxsize=8)
def numbers_in(text: str) -> frozenset[int | float]:
    """The numbers of a text that could be sizes or results, and the lengths of its lists; none if it is not Python."""
    try:
        nodes = list(ast.walk(ast.parse(text.removeprefix("\ufeff").strip())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    typed = [one.value for one in nodes if isinstance(one, ast.Constant)]
    lengths = [len(one.elts) for one in nodes if isinstance(one, ast.List | ast.Tuple)]
    return frozenset(one for one in (*typed, *lengths) if isinstance(one, int | float) and one >= _SMALLEST)
