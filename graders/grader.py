"""
The trusted parent: from a source text to a Report, through two warm processes.

    draw trials -> fork student; a judge that was kept for the exercise, or else fork one, at once
    student: execute -> claim -> probe -> gradients, trial by trial, each step bounded from outside
    judge:   meanwhile starting code and reference; then the claims -> outcomes
    parent:  how the run ended + outcomes -> verdict

One process runs all trials of a submission, which is cheap, and what a trial leaves behind there is mostly undone
(`graders.student.process_state`) but not all of it can be. So a fresh trial that is not in order where the lesson's is
gets a second hearing: it runs again in a process in which nothing ran before, and what comes of that is judged in the
place of the first, of which nothing shows. A pass beside others is a pass. Only what looks like sizes that are typed in
pays for it.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from graders.briefs import Brief, Briefs
from graders.faults import GraderFault
from graders.judges import JUDGE_BUDGET, JUDGE_TIME_S, Judges
from graders.places import Budget, Places
from graders.plain_text import plain, shown
from graders.report import CheckResult, CheckStatus, Misconception, Report, StudentError, TensorShape, Timing, Verdict
from graders.runs import Ended, Output, Run
from graders.student_session import Handed, converse, data
from graders.task import Limits, Task
from graders.trials import TrialOrder, draw_trials
from graders.verdicts import sentence, verdict_of
from graders.wire import Frame, FrameType

_KIB = 1024
_NET_TIMES = 20  # of the limit of a step: what the kernel itself stops, should nobody else
_STARVED = "this machine was too busy to run the student's code: nothing of it could be judged"
_Part = TypeVar("_Part")


@dataclass
class _Attempt:
    """One submission on its way."""

    brief: Brief
    source: str
    trials: list[TrialOrder]
    output: Output

    @property
    def submission(self) -> dict[str, Any]:
        """As the judge is told of it."""
        return {"source": self.source, "trials": [asdict(trial) for trial in self.trials]}


class Grader:
    """
    One slot: two warm processes and the way through them. Not thread-safe.

    `prepare`, called when there is time, forks the next runs ahead, so that a submission finds them waiting behind
    their walls.
    """

    def __init__(self, *, scratch: Path, namespaces: bool | None = None, unsafe: bool = False) -> None:
        """
        Nothing is started yet.

        Args:
            scratch: where each run's own folder is made; created if missing.
            namespaces: put the warm processes into worlds of their own (bubblewrap); None where that is possible.
            unsafe: run code even without walls that this machine lacks. For a machine of one's own only.
        """
        self._places = Places(scratch, namespaces=namespaces, unsafe=unsafe)
        self._judges = Judges(self._places)
        self._briefs = Briefs(self._compiled)

    def __enter__(self) -> Self:
        """Start the warm processes: some seconds. Raises GraderFault."""
        self._places.open()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._judges.close()
        self._places.close()

    def grade(self, task: Task, source: str, *, seed: str) -> Report:
        """
        Run and judge one submission.

        Args:
            task: the exercise.
            source: the student's text, already found to be text of at most MAX_SOURCE_BYTES.
            seed: of the fresh trials; the same seed gives the same trials.

        Raises:
            GraderFault: ours, or the exercise's: nothing is said about the student.
        """
        begun = time.perf_counter()
        brief, trials = self._briefs.of(task), draw_trials(task, seed)
        attempt = _Attempt(brief, source, trials, _output(task))
        handed, outcome, ran = self._fed(attempt)
        if again := _to_repeat(outcome, len(trials)):
            handed, outcome, ran = self._heard_again(attempt, handed, again)
        judged = time.perf_counter()
        timing = Timing(run=_ms(ran - begun), judge=_ms(judged - ran), total=_ms(judged - begun))
        return _report(task, handed, outcome, output=attempt.output, timing=timing, seed=seed)

    def _fed(self, attempt: "_Attempt") -> tuple[Handed, dict[str, Any], float]:
        """Run all trials in one process, and judge them; what was handed over and found, and when the run was over."""
        brief, trials = attempt.brief, attempt.trials
        for _ in range(2):
            attempt.output = _output(brief.task)
            with self._places.take("student", _budget(brief.task.limits)) as run:
                run.give(brief.for_student(attempt.source, data(trials[0])))
                with self._judges.take(brief, attempt.submission) as judging:
                    handed = converse(run, brief.task, trials, output=attempt.output, judge=judging.run)
                    ran = time.perf_counter()
                    outcome = _judge(judging.run, handed) if handed.claims and not _starved(handed) else {}
                    judging.well = handed.ended is None and "checks" in outcome
            self._after(handed)
            if not _starved(handed):
                return handed, outcome, ran
        raise GraderFault(_STARVED)

    def _heard_again(
        self, attempt: "_Attempt", first: Handed, again: list[int]
    ) -> tuple[Handed, dict[str, Any], float]:
        """The same, with some of the trials each run in a process of its own."""
        handed = Handed()
        made: list[tuple[Frame, Frame | None]] = []
        for number in range(len(attempt.trials)):
            alone = self._alone(attempt, number) if number in again else None
            made += first.claims[number : number + 1] if alone is None else alone.claims
            if alone is not None and alone.ended is not None:
                handed.ended, handed.trial = alone.ended, number
                break
        ran = time.perf_counter()
        with self._judges.take(attempt.brief, attempt.submission) as judging:
            handed.judge = judging.run
            for claim, gradients in made:
                handed.complete(claim, gradients)
            outcome = _judge(judging.run, handed)
            judging.well = handed.ended is None and "checks" in outcome
        return handed, outcome, ran

    def _alone(self, attempt: "_Attempt", number: int) -> Handed:
        """One fresh trial in a process of its own; what it prints is nobody's to see."""
        brief, trial = attempt.brief, attempt.trials[number]
        for _ in range(2):
            output = Output(keep_bytes=0, abort_bytes=attempt.output.abort_bytes)
            with self._places.take("student", _budget(brief.task.limits)) as run:
                run.give(brief.for_student(attempt.source, data(trial, silent=True)))
                handed = converse(run, brief.task, [trial], output=output)
            self._after(handed)
            if not _starved(handed):
                return handed
        raise GraderFault(_STARVED)

    def run(self, task: Task, source: str) -> Report:
        """Execute on the lesson's data only and show what is printed; nothing is judged. Raises GraderFault."""
        begun = time.perf_counter()
        trials = draw_trials(task, "run")[:1]
        for _ in range(2):
            output = _output(task)
            with self._places.take("student", _budget(task.limits)) as run:
                run.give(self._briefs.of(task).for_student(source, data(trials[0])))
                handed = converse(run, task, trials, output=output)
            self._after(handed)
            if not _starved(handed):
                break
        else:
            raise GraderFault(_STARVED)
        took = _ms(time.perf_counter() - begun)
        return _run_report(task, handed, output=output, timing=Timing(run=took, total=took))

    def prepare(self, limits: Limits | None = None) -> None:
        """
        Between two submissions: fork the next runs ahead, and remove what the last ones left.

        Args:
            limits: those that the next submission will most likely have.
        """
        self._places.prepare("student", _budget(limits or Limits()))
        self._places.prepare("judge", JUDGE_BUDGET)
        self._places.tidy()

    @property
    def restarts(self) -> int:
        """How many warm processes were started in the place of another."""
        return self._places.restarts

    @property
    def judges_begun(self) -> int:
        """How many judges were started; the others had been kept."""
        return self._judges.begun

    @property
    def in_namespaces(self) -> bool:
        """Are the warm processes in worlds of their own?"""
        return self._places.namespaces

    def _compiled(self, order: Frame) -> Frame:
        """What a judge's run of its own answers, which sees no submission. Raises Ended, GraderFault."""
        with self._places.take("judge", JUDGE_BUDGET) as run:
            return run.converse(order, deadline=time.monotonic() + JUDGE_TIME_S)

    def _after(self, handed: Handed) -> None:
        if handed.ended is not None:
            self._places.look_after("student")


def _budget(limits: Limits) -> Budget:
    return Budget(limits.memory_mib, limits.wall_time_s * _NET_TIMES)


def _output(task: Task) -> Output:
    return Output(keep_bytes=task.limits.output_kib * _KIB, abort_bytes=task.limits.output_abort_kib * _KIB)


def _starved(handed: Handed) -> bool:
    return handed.ended is not None and handed.ended.how == "starved"


def _to_repeat(outcome: dict[str, Any], trials: int) -> list[int]:
    """The trials that are to be run in a process of their own. Raises GraderFault."""
    again = outcome.get("again", [])
    if not isinstance(again, list) or not all(type(one) is int and 0 < one < trials for one in again):
        raise GraderFault("the judge's outcome is not of the form agreed on")
    return again


def _judge(judge: Run, handed: Handed) -> dict[str, Any]:
    words = Output(keep_bytes=8 * _KIB, abort_bytes=1024 * _KIB)
    handed.hurry()
    try:
        frame = judge.converse(Frame(FrameType.END, {}), deadline=time.monotonic() + JUDGE_TIME_S, output=words)
    except Ended as ended:
        told = f"the judge ended without an outcome ({ended.how}, status {ended.status}): {_text(words)}"
        raise GraderFault(told) from ended
    if "fault" in frame.body:
        raise GraderFault(str(frame.body["fault"]))
    cleaned: dict[str, Any] = _cleaned(frame.body)
    return cleaned


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _report(
    task: Task, handed: Handed, outcome: dict[str, Any], *, output: Output, timing: Timing, seed: str
) -> Report:
    """The trusted half of the verdict: the judge's findings are read strictly, the word for them is found here."""
    try:
        checks = [_typed(CheckResult, one) for one in outcome.get("checks", [])]
        misconception = _typed(Misconception, outcome["misconception"]) if outcome.get("misconception") else None
        error = _typed(StudentError, outcome["error"]) if outcome.get("error") else None
        shapes = tuple(_typed(TensorShape, one) for one in outcome.get("tensors", []))
    except (TypeError, ValueError, KeyError, AttributeError) as fault:
        raise GraderFault("the judge's outcome is not of the form agreed on") from fault
    refused = bool(outcome.get("refused"))
    ended = Ended("garbled") if refused else handed.ended
    verdict = verdict_of(ended, error=bool(outcome.get("raised")), memory=bool(outcome.get("memory")), checks=checks)
    return Report(
        exercise=task.exercise,
        version=task.version,
        verdict=verdict,
        checks=tuple(checks or _untried(task, verdict)),
        misconception=misconception,
        error=error,
        report=str(outcome.get("report", "")),
        output=_text(output),
        output_truncated=output.truncated,
        tensors=shapes,
        timing_ms=timing,
        seed=seed,
        note=sentence(verdict, ended, task.limits, trial=handed.trial),
    )


def _typed(kind: type[_Part], raw: dict[str, Any]) -> _Part:
    """Part of a report, each field of the kind that it says. Raises AttributeError, KeyError, TypeError, ValueError."""
    return kind(**{name: _read(name, value) for name, value in raw.items()})


def _read(field_: str, value: Any) -> Any:  # noqa: ANN401  any JSON value
    reader: Callable[[Any], Any] = _READERS.get(field_, _word)
    return reader(value)


def _word(value: Any) -> str:  # noqa: ANN401  any JSON value
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _whole(value: Any) -> int:  # noqa: ANN401  any JSON value
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a whole number was expected")
    return value


def _line(value: Any) -> int | None:  # noqa: ANN401  any JSON value
    return None if value is None else _whole(value)


def _names(value: Any) -> tuple[str, ...]:  # noqa: ANN401  any JSON value
    return tuple(map(_word, value))


def _sizes(value: Any) -> tuple[int, ...]:  # noqa: ANN401  any JSON value
    return tuple(map(_whole, value))


_READERS: dict[str, Callable[[Any], Any]] = {
    "status": CheckStatus,
    "line": _line,
    "dims": _names,
    "shape": _sizes,
    "expected_shape": _sizes,
}


def _untried(task: Task, verdict: Verdict) -> list[CheckResult]:
    why = f"Not looked at: the run ended ({verdict.value.replace('_', ' ')}) before there was anything to look at."
    return [CheckResult(check.id, check.title, CheckStatus.NOT_RUN, why) for check in task.checks]


def _run_report(task: Task, handed: Handed, *, output: Output, timing: Timing) -> Report:
    """What is shown of a run that is not judged. The error is the student's own word, without a judge's explanation."""
    fault = handed.claims[0][0].body.get("fault") if handed.claims else None
    error = _own_error(fault) if isinstance(fault, dict) else None
    memory = bool(isinstance(fault, dict) and fault.get("memory") is True)
    verdict = verdict_of(handed.ended, error=error is not None, memory=memory, checks=[])
    return Report(
        exercise=task.exercise,
        version=task.version,
        verdict=verdict,
        checks=(),
        misconception=None,
        error=error,
        report="",
        output=_text(output),
        output_truncated=output.truncated,
        tensors=(),
        timing_ms=timing,
        seed="",
        note=sentence(verdict, handed.ended, task.limits),
    )


def _own_error(fault: dict[str, Any]) -> StudentError:
    line = fault.get("line")
    return StudentError(
        type=plain(str(fault.get("type", "Exception")))[:100],
        message=plain(str(fault.get("message", "")))[:2000],
        line=line if isinstance(line, int) and not isinstance(line, bool) else None,
        explanation="",
    )


def _cleaned(value: Any) -> Any:  # noqa: ANN401  any JSON value
    """With every text in it made printable: what a student's exception says is quoted in many places."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return {name: _cleaned(one) for name, one in value.items()} if isinstance(value, dict) else value


def _text(output: Output) -> str:
    return shown(output.kept, cut=output.truncated)
