"""
The trusted parent: from a source text to a Report, through two warm processes.

    draw trials -> fork student; a judge that was kept for the exercise, or else fork one, at once
    student: execute -> claim -> probe -> gradients, trial by trial, each step bounded from outside
    judge:   meanwhile starting code and reference; then the claims -> outcomes
    parent:  how the run ended + outcomes -> verdict
"""

import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from graders import report_assembly
from graders.briefs import Brief, Briefs
from graders.faults import GraderFault
from graders.judges import JUDGE_BUDGET, JUDGE_TIME_S, Judges
from graders.observation_schema import ObservationRefused, ObservationSchema
from graders.places import Budget, Places
from graders.report import Report, Timing
from graders.report_assembly import Findings, FindingsRefused
from graders.runs import START_TIME_S, Ended, Output, Run
from graders.survey import Survey
from graders.task import Limits, Task
from graders.trials import TrialOrder, draw_trials
from graders.warm import JUDGE_PIPE_BYTES
from graders.wire import Frame, FrameType

_KIB = 1024
_AT_ONCE_BYTES = JUDGE_PIPE_BYTES // 4
_KEPT = 32  # exercises of which is known that their own solution can be judged


class JudgingFailed(Exception):
    """A judge has not come to an outcome on what a student's run handed over."""

    def __init__(self, told: str, *, how: str = "unjudged") -> None:
        """`told`: for our log. `how`: unjudged | costly, as `Ended` has it."""
        super().__init__(told)
        self.how = how


@dataclass
class Handed:
    """
    What a student's run hands over, on its way to the judge, and how the run ended.

    Small claims are passed on at once, so that judging goes on beside the run; from the first that might not fit
    into the pipe on, all wait until the run is over, so that a slow judge never costs a student time.
    """

    judge: Run | None = None
    failed: JudgingFailed | None = None
    claims: list[tuple[Frame, Frame | None]] = field(default_factory=list)  # claim, gradients; of each trial
    ended: Ended | None = None
    waiting: list[Frame] = field(default_factory=list)

    def complete(self, claim: Frame, gradients: Frame | None, *, again: bool = False) -> None:
        """One trial is done, or as far as it came; `again`: it was run once more, with other numbers in the tables."""
        if not again:
            self.claims.append((claim, gradients))
        body = {
            "again": again,
            "claim": claim.body,
            "claim_bytes": len(claim.tensors),
            "gradients": gradients.body if gradients else None,
        }
        frame = Frame(FrameType.TRIAL_CLAIM, body, claim.tensors + (gradients.tensors if gradients else b""))
        self.waiting.append(frame)
        if self.judge is not None and len(self.waiting) == 1 and len(frame.tensors) < _AT_ONCE_BYTES:
            self.hurry()

    def hurry(self) -> None:
        """Pass on what waits; that the judge has not taken it is told once the student's run is over."""
        assert self.judge is not None  # noqa: S101  only called where there is one
        try:
            for frame in self.waiting:
                self.judge.send(frame, deadline=time.monotonic() + JUDGE_TIME_S)
        except Ended as ended:
            self.failed = self.failed or _failed(ended, "took no more claims")
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
        self._sound: dict[tuple[str, int], Brief] = {}

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
        brief = self._briefs.of(task)
        run, found = self._tried(brief, source, seed=seed)
        if isinstance(found, JudgingFailed):
            self._answer_for(brief, found, seed=seed)
            run = replace(run, ended=run.ended or Ended(found.how))
            found = Findings()
        return report_assembly.judged(task, run, found, seed=seed)

    def _tried(self, brief: Brief, source: str, *, seed: str) -> tuple[report_assembly.Run, Findings | JudgingFailed]:
        """Run and judge, and say how both ended. Raises GraderFault."""
        begun = time.perf_counter()
        task = brief.task
        output = _output(task)
        trials = draw_trials(task, seed)
        found: Findings | JudgingFailed = Findings()
        with self._places.take("student", _budget(task.limits)) as run:
            run.give(brief.for_student(source, _data(trials[0])))
            submission = {"source": source, "trials": [asdict(trial) for trial in trials]}
            with self._judges.take(brief, submission) as judging:
                handed = _converse(run, brief, trials, output=output, judge=judging.run)
                ran = time.perf_counter()
                if handed.claims:
                    found = _judge(task, judging.run, handed)
                judging.well = handed.ended is None and isinstance(found, Findings) and not found.refused
        self._after(handed)
        judged = time.perf_counter()
        timing = Timing(run=_ms(ran - begun), judge=_ms(judged - ran), total=_ms(judged - begun))
        return report_assembly.Run(handed.ended, output, timing), found

    def _answer_for(self, brief: Brief, failure: JudgingFailed, *, seed: str) -> None:
        """
        Whose is it that a judge has failed? The exercise's own solution, sent in as well with the same seed, tells.

        It passes through the same judge's code and author's texts. Where it can be judged, it is what the student
        handed over that cannot. That is found out once for each version of an exercise.

        Raises:
            GraderFault: it cannot be judged either, so the exercise or we are to blame.
        """
        if self._sound.get(brief.key) is brief:
            return
        run, found = self._tried(brief, brief.task.solution, seed=seed)
        if run.ended is not None or isinstance(found, JudgingFailed) or found.refused:
            raise GraderFault(f"{failure}; and the exercise's own solution cannot be judged either: {found}")
        self._sound[brief.key] = brief
        while len(self._sound) > _KEPT:
            del self._sound[next(iter(self._sound))]

    def run(self, task: Task, source: str) -> Report:
        """Execute on the lesson's data only and show what is printed; nothing is judged. Raises GraderFault."""
        begun = time.perf_counter()
        output = _output(task)
        trials = draw_trials(task, "run")[:1]
        brief = self._briefs.of(task)
        with self._places.take("student", _budget(task.limits)) as run:
            run.give(brief.for_student(source, _data(trials[0])))
            handed = _converse(run, brief, trials, output=output)
        self._after(handed)
        took = _ms(time.perf_counter() - begun)
        fault = handed.claims[0][0].body["fault"] if handed.claims else None
        ran = report_assembly.Run(handed.ended, output, Timing(run=took, total=took))
        return report_assembly.unjudged(task, ran, fault)

    def survey(self, task: Task) -> Survey:
        """
        What the exercise's own code does on many draws: for its author, before anything is graded.

        Raises:
            GraderFault: it does not come to its end.
        """
        order = Frame(FrameType.SURVEY, {"task": task.as_json})
        words = Output(keep_bytes=8 * _KIB, abort_bytes=1024 * _KIB)
        with self._places.take("judge", JUDGE_BUDGET) as run:
            try:
                frame = run.converse(order, deadline=time.monotonic() + JUDGE_TIME_S, output=words)
                return Survey.from_json(_expect(frame, FrameType.SURVEYED).body)
            except (Ended, ValueError, TypeError, KeyError) as fault:
                said = f"{report_assembly.text(words).strip()[-1000:]}"
                raise GraderFault(f"the exercise's own code does not come to its end ({fault}): {said}") from fault

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
    return Budget(limits.memory_mib, limits.wall_time_s)


def _output(task: Task) -> Output:
    return Output(keep_bytes=task.limits.output_kib * _KIB, abort_bytes=task.limits.output_abort_kib * _KIB)


def _converse(run: Run, brief: Brief, trials: list[TrialOrder], *, output: Output, judge: Run | None = None) -> Handed:
    """Lead a student's run, which has its order, through its trials; what it handed over until it ended."""
    handed, schema = Handed(judge), brief.schema
    _begin(run, output=output)
    deadline = time.monotonic() + brief.task.limits.wall_time_s
    claim: Frame | None = None
    order = Frame(FrameType.TRIAL, {})
    try:
        for number, trial in enumerate(trials):
            made = (
                run.listen(deadline=deadline, output=output) if number == 0 else run.converse(order, deadline=deadline)
            )
            claim = _claimed(made, schema)
            output.check()
            probe = Frame(FrameType.PROBE, {"seed": trial.seed})
            gradients = _gradients(run.converse(probe, deadline=deadline), schema)
            handed.complete(claim, gradients)
            claim = None
            if gradients.body["again"]:
                _once_more(run, handed, schema, deadline=deadline)
            if number + 1 < len(trials):
                order = Frame(FrameType.TRIAL, {"trial": _data(trials[number + 1])})
    except Ended as ended:
        handed.ended = ended
        if claim is not None:
            handed.complete(claim, None)
    return handed


def _once_more(run: Run, handed: Handed, schema: ObservationSchema, *, deadline: float) -> None:
    """The same trial with other numbers in the tables. Raises Ended."""
    claim = _claimed(run.listen(deadline=deadline), schema, again=True)
    gradients = _gradients(run.listen(deadline=deadline), schema, again=True)
    handed.complete(claim, gradients, again=True)


def _claimed(frame: Frame, schema: ObservationSchema, *, again: bool = False) -> Frame:
    """A claim that is one. Raises Ended."""
    try:
        schema.check_claim(_expect(frame, FrameType.CLAIM), again=again)
    except ObservationRefused as fault:
        raise Ended("garbled") from fault
    return frame


def _gradients(frame: Frame, schema: ObservationSchema, *, again: bool = False) -> Frame:
    """Gradients that are some. Raises Ended."""
    try:
        schema.check_gradients(_expect(frame, FrameType.GRADIENTS), again=again)
    except ObservationRefused as fault:
        raise Ended("garbled") from fault
    return frame


def _begin(run: Run, *, output: Output) -> None:
    """
    Until the walls are up and the starting code has run, whatever happens is ours or the author's.

    The output is the student's from the first byte: by the time the frame is read here, their code may have printed.
    """
    try:
        _expect(run.listen(deadline=time.monotonic() + START_TIME_S, output=output), FrameType.READY)
    except Ended as ended:
        raise GraderFault(
            f"a run ended before the student's code began ({ended.how}): {report_assembly.text(output)}"
        ) from ended


def _data(trial: TrialOrder) -> dict[str, Any]:
    """What the student's process is told of a trial before its code has run on it: not the probe's seed."""
    return {"draw": trial.draw}


def _expect(frame: Frame, kind: FrameType) -> Frame:
    if frame.type is not kind:
        raise Ended("garbled")
    return frame


def _judge(task: Task, judge: Run, handed: Handed) -> Findings | JudgingFailed:
    """What the judge makes of what was handed over. Raises GraderFault: the exercise's own solution fails."""
    words = Output(keep_bytes=8 * _KIB, abort_bytes=1024 * _KIB)
    handed.hurry()
    if handed.failed is not None:
        return handed.failed
    try:
        frame = judge.converse(Frame(FrameType.END, {}), deadline=time.monotonic() + JUDGE_TIME_S, output=words)
    except Ended as ended:
        return _failed(ended, f"gave no outcome: {report_assembly.text(words)}")
    if "fault" in frame.body:
        raise GraderFault(str(frame.body["fault"]))
    if "failure" in frame.body:
        return JudgingFailed(str(frame.body["failure"]))
    try:
        return report_assembly.findings(task, frame.body)
    except FindingsRefused as refused:
        return JudgingFailed(str(refused))


def _failed(ended: Ended, what: str) -> JudgingFailed:
    told = f"the judge ended ({ended.how}, status {ended.status}) and {what}"
    return JudgingFailed(told, how="costly" if ended.how == "cpu" else "unjudged")


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
