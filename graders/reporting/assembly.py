"""
From what a judge says and how a run ended to a Report: the trusted half of the verdict.

A judge runs an author's texts over a student's numbers, so what it says may have come from either. It is read strictly
(`read_outcome`): each field of its kind, checks and names those of the exercise. The word for it is found here, and all
is bounded before anybody stores it: texts are cut, and if the whole is still too long, first what the student
printed, then the printed check, then all texts alike.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from graders.faults import MAX_AUTHOR_FAULTS, AuthorFault
from graders.protocol.ending import Ended, PrintedOutput
from graders.protocol.observation_schema import MAX_AXES, MAX_SIZE
from graders.report import CheckResult, CheckStatus, Misconception, Report, StudentError, TensorShape, Timing, Verdict
from graders.reporting.plain_text import plain, shown
from graders.reporting.verdicts import verdict_of
from graders.reporting.vocabulary import loop_sentence, not_looked_at, sentence
from graders.task import Task

MAX_MESSAGE_CHARS = 1000
MAX_PRINTED_CHECK_CHARS = 8000
MAX_REPORT_BYTES = 64 * 1024  # as JSON
_MAX_NAME_CHARS = 100
_LEAST_CHARS = 8
_MOST_BYTES_A_CHAR = 12  # as JSON: one beyond 16 bits is two escapes
_MOST_BYTES_A_PART = 1024  # of the names of fields, and of numbers
_ELLIPSIS = "…"
_SYNTAX = "syntax"  # the misconception that every exercise has
_Part = TypeVar("_Part")


class OutcomeRefused(ValueError):
    """What a judge said is not of the form agreed on."""


@dataclass(frozen=True)
class JudgeOutcome:
    """What a judge found, or nothing where there was nothing to look at."""

    checks: tuple[CheckResult, ...] = ()
    misconception: Misconception | None = None
    error: StudentError | None = None
    tensors: tuple[TensorShape, ...] = ()
    report: str = ""
    raised: bool = False
    memory: bool = False
    refused: bool = False  # the observation was not one
    again: tuple[int, ...] = ()  # fresh trials that are to be run in a process of their own
    author_faults: tuple[AuthorFault, ...] = ()  # never part of a report


@dataclass(frozen=True)
class Execution:
    """How a student's run ended, what it printed, and how long it took."""

    ended: Ended | None
    output: PrintedOutput
    timing: Timing
    trial: int = 0  # the one at which it ended; 0 is the lesson's


def read_outcome(task: Task, outcome: dict[str, object]) -> JudgeOutcome:
    """Read a judge's outcome. Raises OutcomeRefused."""
    if outcome.get("refused") is True:
        return JudgeOutcome(refused=True)
    try:
        read = JudgeOutcome(
            checks=tuple(_typed(CheckResult, one) for one in _list(outcome["checks"], most=len(task.checks))),
            misconception=_typed(Misconception, outcome["misconception"]) if outcome["misconception"] else None,
            error=_typed(StudentError, outcome["error"]) if outcome["error"] else None,
            tensors=tuple(_typed(TensorShape, one) for one in _list(outcome["tensors"], most=len(task.outputs))),
            report=_cut(_word(outcome["report"]), MAX_PRINTED_CHECK_CHARS),
            raised=outcome["raised"] is True,
            memory=outcome["memory"] is True,
            author_faults=tuple(_author_fault(one) for one in _list(outcome["author_faults"], most=MAX_AUTHOR_FAULTS)),
            again=tuple(map(_whole, _list(outcome["again"], most=task.fresh_trials))),
        )
    except (TypeError, ValueError, KeyError, AttributeError) as fault:
        raise OutcomeRefused("the judge's outcome is not of the form agreed on") from fault
    if [one.id for one in read.checks] != [check.id for check in task.checks]:
        raise OutcomeRefused("the judge's outcome is about other checks than the exercise's")
    if not set(read.again) <= set(range(1, 1 + task.fresh_trials)):
        raise OutcomeRefused("the judge's outcome asks for trials that there are none")
    tags = {_SYNTAX, *(one.tag for one in task.wrong)}
    if read.misconception is not None and read.misconception.tag not in tags:
        raise OutcomeRefused("the judge's outcome names a misconception that the exercise does not know")
    if not {one.name for one in read.tensors} <= {one.shown or one.name for one in task.outputs}:
        raise OutcomeRefused("the judge's outcome is about other tensors than the exercise's")
    return read


def judged(task: Task, run: Execution, found: JudgeOutcome, *, seed: str) -> Report:
    """The report on a submission."""
    ended = Ended("garbled") if found.refused else run.ended
    verdict = verdict_of(ended, error=found.raised, memory=found.memory, checks=list(found.checks))
    return bounded(
        Report(
            exercise=task.exercise,
            version=task.version,
            verdict=verdict,
            checks=found.checks or tuple(_untried(task, verdict, loop_sentence(ended, run.trial))),
            misconception=found.misconception,
            error=found.error,
            report=found.report,
            output=text(run.output),
            output_truncated=run.output.truncated,
            tensors=found.tensors,
            timing_ms=run.timing,
            seed=seed,
            note=sentence(verdict, ended, task.limits, trial=run.trial),
        )
    )


def unjudged(task: Task, run: Execution, fault: dict[str, object] | None) -> Report:
    """The report on a run that is not judged. `fault` is the student's own word, without a judge's explanation."""
    error = _own_error(fault) if fault is not None else None
    memory = fault is not None and fault["memory"] is True
    verdict = verdict_of(run.ended, error=error is not None, memory=memory, checks=[])
    return bounded(
        Report(
            exercise=task.exercise,
            version=task.version,
            verdict=verdict,
            checks=(),
            misconception=None,
            error=error,
            report="",
            output=text(run.output),
            output_truncated=run.output.truncated,
            tensors=(),
            timing_ms=run.timing,
            seed="",
            note=sentence(verdict, run.ended, task.limits),
        )
    )


def bounded(report: Report) -> Report:
    """The same report, with every text within its bound and the whole within MAX_REPORT_BYTES as JSON."""
    report = _shortened(report, MAX_MESSAGE_CHARS)
    if _surely_fits(report):
        return report
    if (over := _json_bytes(report) - MAX_REPORT_BYTES) <= 0:
        return report  # as nearly all are
    report = replace(report, output=_without(report.output, over), output_truncated=True)
    if (over := _json_bytes(report) - MAX_REPORT_BYTES) > 0:
        report = replace(report, report=_without(report.report, over))
    most_chars = MAX_MESSAGE_CHARS
    while _json_bytes(report) > MAX_REPORT_BYTES and most_chars > _LEAST_CHARS:
        most_chars //= 2
        report = _shortened(report, most_chars)
    return report


def _surely_fits(report: Report) -> bool:
    """Is it so small that it need not be written out to see that it fits?"""
    texts = [report.exercise, report.report, report.output, report.note, report.seed]
    texts += [text for one in report.checks for text in (one.id, one.title, one.message)]
    texts += [text for one in report.tensors for text in (one.name, one.dtype, *one.dims)]
    if report.error is not None:
        texts += [report.error.type, report.error.message, report.error.explanation]
    if report.misconception is not None:
        texts += [report.misconception.tag, report.misconception.message]
    parts = 1 + len(report.checks) + len(report.tensors)
    return _MOST_BYTES_A_CHAR * sum(map(len, texts)) + _MOST_BYTES_A_PART * parts <= MAX_REPORT_BYTES


def _json_bytes(value: Any) -> int:  # noqa: ANN401
    return len(json.dumps(value.to_json() if isinstance(value, Report) else value))


def _without(words: str, over_bytes: int) -> str:
    """The beginning of a text that takes so many bytes fewer as JSON; nothing, where that is more than it has."""
    room = _json_bytes(words) - over_bytes - _json_bytes(_ELLIPSIS)
    low, high = 0, len(words)
    while low < high:  # the longest beginning that fits: characters take one byte to twelve
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _json_bytes(words[:middle]) <= room else (low, middle - 1)
    return words[:low] + _ELLIPSIS if low else ""


def _shortened(report: Report, most_chars: int) -> Report:
    """With all texts but what was printed cut; ids and tags stay as they are."""
    return replace(
        report,
        checks=tuple(_check_cut(one, most_chars) for one in report.checks),
        misconception=_parts_cut(report.misconception, most_chars),
        error=_parts_cut(report.error, most_chars),
        tensors=tuple(_shape_cut(one, min(most_chars, _MAX_NAME_CHARS)) for one in report.tensors),
    )


def _check_cut(check: CheckResult, most_chars: int) -> CheckResult:
    if max(len(check.title), len(check.message)) <= most_chars:
        return check  # as nearly all are, and a copy of each would be a good part of the whole
    return replace(check, title=_cut(check.title, most_chars), message=_cut(check.message, most_chars))


def _shape_cut(shape: TensorShape, most_chars: int) -> TensorShape:
    if max(map(len, (shape.name, shape.dtype, *shape.dims))) <= most_chars:
        return shape
    return replace(_parts_cut(shape, most_chars), dims=tuple(_cut(one, most_chars) for one in shape.dims))


def _parts_cut(part: _Part, most_chars: int) -> _Part:
    if not is_dataclass(part) or isinstance(part, type):
        return part
    texts = {one.name: getattr(part, one.name) for one in fields(part) if one.name != "tag"}
    return replace(part, **{name: _cut(one, most_chars) for name, one in texts.items() if isinstance(one, str)})


def _cut(words: str, most_chars: int) -> str:
    return words if len(words) <= most_chars else words[: most_chars - 1] + _ELLIPSIS


def _typed(kind: type[_Part], raw: object) -> _Part:
    """Part of a report, each field of the kind that it says. Raises AttributeError, KeyError, TypeError, ValueError."""
    if not isinstance(raw, dict):
        raise TypeError("an object was expected")
    return kind(**{name: _read(name, value) for name, value in raw.items()})


def _author_fault(raw: object) -> AuthorFault:
    fault = _typed(AuthorFault, raw)
    return AuthorFault(_cut(fault.text, MAX_MESSAGE_CHARS), _cut(fault.exception, MAX_MESSAGE_CHARS))


def _read(field: str, value: Any) -> Any:  # noqa: ANN401  any JSON value
    reader: Callable[[Any], Any] = _READERS.get(field, _word)
    return reader(value)


def _word(value: Any) -> str:  # noqa: ANN401  any JSON value
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return plain(value)


def _whole(value: Any) -> int:  # noqa: ANN401  any JSON value
    if type(value) is not int or not 0 <= value <= MAX_SIZE:
        raise TypeError("a whole number within its bounds was expected")
    return value


def _line(value: Any) -> int | None:  # noqa: ANN401  any JSON value
    return None if value is None else _whole(value)


def _list(value: Any, *, most: int) -> list[Any]:  # noqa: ANN401  any JSON value
    if not isinstance(value, list) or len(value) > most:
        raise TypeError("a short list was expected")
    return value


def _names(value: Any) -> tuple[str, ...]:  # noqa: ANN401  any JSON value
    return tuple(_cut(_word(one), _MAX_NAME_CHARS) for one in _list(value, most=MAX_AXES))


def _sizes(value: Any) -> tuple[int, ...]:  # noqa: ANN401  any JSON value
    return tuple(map(_whole, _list(value, most=MAX_AXES)))


_READERS: dict[str, Callable[[Any], Any]] = {
    "status": CheckStatus,
    "line": _line,
    "dims": _names,
    "shape": _sizes,
    "expected_shape": _sizes,
}


def _untried(task: Task, verdict: Verdict, loop: str) -> list[CheckResult]:
    why = not_looked_at(verdict)
    messages = [f"{loop}{why}", *[why] * (len(task.checks) - 1)]
    return [
        CheckResult(check.id, check.title, CheckStatus.NOT_RUN, message)
        for check, message in zip(task.checks, messages, strict=False)
    ]


def _own_error(fault: dict[str, object]) -> StudentError:
    return StudentError(_word(fault["type"]), _word(fault["message"]), _line(fault["line"]), explanation="")


def text(output: PrintedOutput) -> str:
    """What was printed, made printable."""
    return shown(output.kept, cut=output.truncated)
