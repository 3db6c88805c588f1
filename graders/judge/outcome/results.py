"""
From the findings of each trial to the list that the student sees.

The lesson's trial speaks first. Only where it is in order do the fresh trials add something: what
is right there and wrong here is told together with the sizes that bring it out.
"""

from typing import Any

from graders.faults import MAX_AUTHOR_FAULTS, AuthorFault
from graders.judge.checks import judge
from graders.judge.feedback.explanations import explain
from graders.judge.trials.trial import TIME_LIMIT, Outcome, Trial
from graders.report import CheckResult, CheckStatus, StudentError, TensorShape
from graders.reporting import vocabulary
from graders.task import Check, Task

PASSED, FAILED, NOT_RUN = CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.NOT_RUN


def judge_trial(trial: Trial) -> None:
    """Run every check of the exercise on one trial, in the author's order; what asks about the others comes last."""
    _ = trial.block  # its names are there before the first check, and what it raises is reported in any case
    for check in sorted(trial.task.checks, key=_asks_for_all):
        trial.outcomes[check.id] = judge(trial, check)


def results(task: Task, trials: list[Trial]) -> list[CheckResult]:
    """
    One line for each check.

    Args:
        task: the exercise.
        trials: those that handed over something, the lesson's first; fewer than asked for if the run was ended.
    """
    lesson, fresh = trials[0], trials[1:]
    clean = _in_order(lesson) and lesson.observation.fault is None
    complete = len(fresh) == task.fresh_trials
    said = _first_failing(fresh) if clean else []
    found = {check.id: _over_trials(check, lesson, said, complete=complete) for check in task.checks}
    for check in task.checks:
        if _asks_for_all(check) and not clean and found[check.id].status is PASSED:
            found[check.id] = Outcome(NOT_RUN, vocabulary.LESSON_FIRST)
    return [
        CheckResult(check.id, check.title, found[check.id].status, found[check.id].message) for check in task.checks
    ]


def _over_trials(check: Check, lesson: Trial, fresh: list[Trial], *, complete: bool) -> Outcome:
    first = lesson.outcomes[check.id]
    if first.status is not PASSED:
        return first
    if _asks_for_all(check) and not complete:
        return Outcome(FAILED, vocabulary.NO_END_ON_OTHER_SIZES)
    for trial in fresh:
        outcome = trial.outcomes[check.id]
        if outcome.status is FAILED:
            return Outcome(FAILED, f"{_sizes(trial)} {outcome.message}")
        if outcome.status is NOT_RUN:
            return outcome
    return first


def _asks_for_all(check: Check) -> bool:
    """Is it, or a part of it, about other data?"""
    return any(leaf.kind == "other_sizes" for leaf in check.leaves)


def _first_failing(fresh: list[Trial]) -> list[Trial]:
    """One fault, one report: of the fresh trials the first that is not in order speaks for all."""
    return [one for one in fresh if not _in_order(one)][:1]


def _in_order(trial: Trial) -> bool:
    return all(one.status is PASSED for one in trial.outcomes.values())


def to_repeat(task: Task, trials: list[Trial]) -> list[int]:
    """
    The fresh trials that are not in order, or were not come to, where the lesson's is.

    Only in a process of their own can they be told from those that fail for what an earlier one has left behind.
    """
    if not _in_order(trials[0]) or trials[0].observation.fault is not None:
        return []
    return [
        number for number in range(1, 1 + task.fresh_trials) if not trials[number:] or not _in_order(trials[number])
    ]


def _sizes(trial: Trial) -> str:
    """The sizes of a fresh trial in words; its data stay unnamed."""
    sizes = [f"{name} = {value}" for name, value in trial.values.items() if isinstance(value, int | float)]
    return (
        f"Right for the lesson's data, but not for others (here with {', '.join(sizes)}):"
        if sizes
        else ("Right for the lesson's data, but not for others:")
    )


def student_error(lesson: Trial) -> StudentError | None:
    """The exception on the lesson's data, explained; that of the student's code, or else of its first use by us."""
    used = (one for one in lesson.observation.probed.values() if one.line and one.type != TIME_LIMIT)
    fault = lesson.observation.fault or next(used, None)
    return StudentError(fault.type, fault.message, fault.line, explain(fault, lesson.setting)) if fault else None


def shapes(lesson: Trial) -> list[TensorShape]:
    """What each output of the student looks like beside what it should."""
    found = []
    for output in lesson.task.outputs:
        made = lesson.made(output.name)
        if made.kind in ("tensor", "array", "table"):
            expected = lesson.expected_shape(output.name)
            found.append(TensorShape(output.shown or output.name, output.dims, made.shape, expected, made.dtype))
    return found


def author_faults(trials: list[Trial]) -> list[AuthorFault]:
    """What the author's texts raised, each once; the first few."""
    each = (fault for trial in trials for one in (trial, trial.again) if one is not None for fault in one.author_faults)
    return list(dict.fromkeys(each))[:MAX_AUTHOR_FAULTS]


def as_json(value: Any) -> Any:  # noqa: ANN401
    """Frozen values as JSON."""
    return None if value is None else {name: getattr(value, name) for name in value.__dataclass_fields__}
