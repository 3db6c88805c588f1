"""
The trusted parent: from a source text to a Report, through two warm processes.

    draw trials -> fork student; a judge that was kept for the exercise, or else fork one, at once
    student: execute -> claim -> probe -> gradients, trial by trial, each step bounded from outside
    judge:   meanwhile starting code and reference; then the claims -> outcomes
    parent:  how the run ended + outcomes -> verdict
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from graders.briefs import Briefs
from graders.faults import GraderFault
from graders.judges import JUDGE_BUDGET, JUDGE_TIME_S, Judges
from graders.places import Budget, Places
from graders.report import CheckResult, CheckStatus, Misconception, Report, StudentError, TensorShape, Timing, Verdict
from graders.runs import START_TIME_S, Ended, Output, Run
from graders.task import Limits, Task
from graders.trials import TrialOrder, draw_trials
from graders.verdicts import sentence, verdict_of
from graders.warm import JUDGE_PIPE_BYTES
from graders.wire import Frame, FrameType

_KIB = 1024
_AT_ONCE_BYTES = JUDGE_PIPE_BYTES // 4
_Part = TypeVar("_Part")


@dataclass
class Handed:
    """
    What a student's run hands over, on its way to the judge, and how the run ended.

    Small claims are passed on at once, so that judging goes on beside the run; from the first that might not fit
    into the pipe on, all wait until the run is over, so that a slow judge never costs a student time.
    """

    judge: Run | None = None
    claims: list[tuple[Frame, Frame | None]] = field(default_factory=list)  # claim, gradients
    ended: Ended | None = None
    waiting: list[Frame] = field(default_factory=list)

    def complete(self, claim: Frame, gradients: Frame | None) -> None:
        """One trial is done, or as far as it came."""
        self.claims.append((claim, gradients))
        body = {
            "claim": claim.body,
            "claim_bytes": len(claim.tensors),
            "gradients": gradients.body if gradients else None,
        }
        frame = Frame(FrameType.TRIAL_CLAIM, body, claim.tensors + (gradients.tensors if gradients else b""))
        self.waiting.append(frame)
        if self.judge is not None and len(self.waiting) == 1 and len(frame.tensors) < _AT_ONCE_BYTES:
            self.hurry()

    def hurry(self) -> None:
        """Pass on what waits. Raises GraderFault."""
        assert self.judge is not None  # noqa: S101  only called where there is one
        try:
            for frame in self.waiting:
                self.judge.send(frame, deadline=time.monotonic() + JUDGE_TIME_S)
        except Ended as ended:
            raise GraderFault(f"the judge ended before the claims ({ended.how})") from ended
        self.waiting.clear()


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
        output = _output(task)
        brief = self._briefs.of(task)
        trials = draw_trials(task, seed)
        with self._places.take("student", _budget(task.limits)) as run:
            run.give(brief.for_student(source, _data(trials[0])))
            submission = {"source": source, "trials": [asdict(trial) for trial in trials]}
            with self._judges.take(brief, submission) as judging:
                handed = _converse(run, task, trials, output=output, judge=judging.run)
                ran = time.perf_counter()
                outcome = _judge(judging.run, handed) if handed.claims else {}
                judging.well = handed.ended is None and "checks" in outcome
        self._after(handed)
        judged = time.perf_counter()
        timing = Timing(run=_ms(ran - begun), judge=_ms(judged - ran), total=_ms(judged - begun))
        return _report(task, handed, outcome, output=output, timing=timing, seed=seed)

    def run(self, task: Task, source: str) -> Report:
        """Execute on the lesson's data only and show what is printed; nothing is judged. Raises GraderFault."""
        begun = time.perf_counter()
        output = _output(task)
        trials = draw_trials(task, "run")[:1]
        with self._places.take("student", _budget(task.limits)) as run:
            run.give(self._briefs.of(task).for_student(source, _data(trials[0])))
            handed = _converse(run, task, trials, output=output)
        self._after(handed)
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
        self._judges.prepare()
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
    return Budget(limits.memory_mib, limits.wall_time_s)


def _output(task: Task) -> Output:
    return Output(keep_bytes=task.limits.output_kib * _KIB, abort_bytes=task.limits.output_abort_kib * _KIB)


def _converse(run: Run, task: Task, trials: list[TrialOrder], *, output: Output, judge: Run | None = None) -> Handed:
    """Lead a student's run, which has its order, through its trials; what it handed over until it ended."""
    handed = Handed(judge)
    _begin(run, output=output)
    deadline = time.monotonic() + task.limits.wall_time_s
    claim: Frame | None = None
    order = Frame(FrameType.TRIAL, {})
    try:
        for number, trial in enumerate(trials):
            made = (
                run.listen(deadline=deadline, output=output) if number == 0 else run.converse(order, deadline=deadline)
            )
            claim = _expect(made, FrameType.CLAIM)
            output.check()
            probe = Frame(FrameType.PROBE, {"seed": trial.seed})
            gradients = _expect(run.converse(probe, deadline=deadline), FrameType.GRADIENTS)
            handed.complete(claim, gradients)
            claim = None
            if number + 1 < len(trials):
                order = Frame(FrameType.TRIAL, {"trial": _data(trials[number + 1])})
    except Ended as ended:
        handed.ended = ended
        if claim is not None:
            handed.complete(claim, None)
    return handed


def _begin(run: Run, *, output: Output) -> None:
    """
    Until the walls are up and the starting code has run, whatever happens is ours or the author's.

    The output is the student's from the first byte: by the time the frame is read here, their code may have printed.
    """
    try:
        _expect(run.listen(deadline=time.monotonic() + START_TIME_S, output=output), FrameType.READY)
    except Ended as ended:
        raise GraderFault(f"a run ended before the student's code began ({ended.how}): {_text(output)}") from ended


def _data(trial: TrialOrder) -> dict[str, Any]:
    """What the student's process is told of a trial before its code has run on it: not the probe's seed."""
    return {"draw": trial.draw}


def _expect(frame: Frame, kind: FrameType) -> Frame:
    if frame.type is not kind:
        raise Ended("garbled")
    return frame


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
        note=sentence(verdict, ended, task.limits),
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
        type=_plain(str(fault.get("type", "Exception")))[:100],
        message=_plain(str(fault.get("message", "")))[:2000],
        line=line if isinstance(line, int) and not isinstance(line, bool) else None,
        explanation="",
    )


def _cleaned(value: Any) -> Any:  # noqa: ANN401  any JSON value
    """With every text in it made printable: what a student's exception says is quoted in many places."""
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return {name: _cleaned(one) for name, one in value.items()} if isinstance(value, dict) else value


def _text(output: Output) -> str:
    return _plain(bytes(output.kept).decode("utf-8", "replace"))


def _plain(text: str) -> str:
    """Hostile text made printable: no NUL, no control characters but newline and tab, no lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    visible = (one if one >= " " or one in "\n\t" else "�" for one in text.replace("\r\n", "\n"))
    return "".join(visible).encode("utf-8", "replace").decode("utf-8")
