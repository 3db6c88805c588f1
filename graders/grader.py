"""
The trusted parent: from a source text to a Report, through two warm processes.

    draw trials -> fork student; a judge that was kept for the exercise, or else fork one, at once
    student: execute -> observation -> probe -> gradients, trial by trial, each step bounded from outside
    judge:   meanwhile starting code and reference; then the observations -> outcomes
    parent:  how the run ended + outcomes -> verdict

One process runs all trials of a submission, which is cheap, and what a trial leaves behind there is mostly undone
(`graders.student.process_state`) but not all of it can be. So a fresh trial that is not in order where the lesson's is
is rerun in a process in which nothing ran before, and what comes of that is judged in the
place of the first, of which nothing shows. A pass beside others is a pass. Only what looks like sizes that are typed in
pays for it.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from graders.faults import AuthorFault, GraderFault, MachineFault
from graders.pool.exercise_payloads import ExercisePayload, ExercisePayloads
from graders.pool.judge_pool import JUDGE_BUDGET, JUDGE_TIME_S, JudgePool
from graders.pool.process_pool import Budget, ProcessPool
from graders.pool.sandboxed_process import SandboxedProcess
from graders.pool.student_session import JudgingFailed, SessionResult, TrialFrames, converse, data
from graders.protocol.ending import Ended, PrintedOutput
from graders.protocol.frames import Frame, FrameType
from graders.report import Report, Timing
from graders.reporting import assembly
from graders.reporting.assembly import JudgeOutcome, OutcomeRefused
from graders.student.memory_reserve import RESERVE_MIB
from graders.survey import Survey
from graders.task import Limits, Task
from graders.trials import TrialRequest, draw_trials

_KIB = 1024
_KEPT = 32  # exercises of which is known that their own solution can be judged
_NET_TIMES = 20  # of the limit of a step: what the kernel itself stops, should nobody else
_STARVED = "this machine was too busy to run the student's code: nothing of it could be judged"
_Found = JudgeOutcome | JudgingFailed


@dataclass
class _Submission:
    """One submission on its way."""

    payload: ExercisePayload
    source: str
    trials: list[TrialRequest]
    output: PrintedOutput

    @property
    def for_judge(self) -> dict[str, object]:
        """What the judge is sent of it."""
        return {"source": self.source, "trials": [vars(trial) for trial in self.trials]}


class Grader:
    """
    One slot: two warm processes and the way through them. Not thread-safe, but for `abandon`.

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
        self._pool = ProcessPool(scratch, namespaces=namespaces, unsafe=unsafe)
        self._judge_pool = JudgePool(self._pool)
        self._payloads = ExercisePayloads(self._compiled)
        self._sound: dict[tuple[str, int], ExercisePayload] = {}

    def __enter__(self) -> Self:
        """Start the warm processes: some seconds. Raises GraderFault."""
        self._pool.open()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._judge_pool.close()
        self._pool.close()

    def abandon(self) -> None:
        """Kill the warm processes, from any thread: whoever is busy with this grader has a GraderFault soon."""
        self._pool.abandon()

    def grade(self, task: Task, source: str, *, seed: str) -> Report:
        """Run and judge one submission, as `examine` does; what a student is told."""
        return self.examine(task, source, seed=seed)[0]

    def examine(self, task: Task, source: str, *, seed: str) -> tuple[Report, tuple[AuthorFault, ...]]:
        """
        Run and judge one submission.

        Args:
            task: the exercise.
            source: the student's text, already found to be text of at most MAX_SOURCE_BYTES.
            seed: of the fresh trials; the same seed gives the same trials.

        Returns:
            What a student is told, and what the author's own texts raised on what the submission made.

        Raises:
            GraderFault: ours, or the exercise's: nothing is said about the student.
        """
        payload = self._payloads.of(task)
        execution, found = self._run_and_judge(payload, source, seed=seed)
        if isinstance(found, JudgingFailed):
            self._check_own_solution(payload, found, seed=seed)
            execution = replace(execution, ended=execution.ended or Ended(found.how))
            found = JudgeOutcome()
        return assembly.judged(task, execution, found, seed=seed), found.author_faults

    def _run_and_judge(self, payload: ExercisePayload, source: str, *, seed: str) -> tuple[assembly.Execution, _Found]:
        """Run and judge, and say how both ended. Raises GraderFault."""
        begun = time.perf_counter()
        submission = _Submission(payload, source, draw_trials(payload.task, seed), _output(payload.task))
        result, found, ran = self._run_together(submission)
        forged = result.ended is not None and result.ended.how == "garbled"
        if isinstance(found, JudgeOutcome) and found.again and not forged:
            result, found, ran = self._rerun_alone(submission, result, found.again)
        judged = time.perf_counter()
        timing = Timing(run=_ms(ran - begun), judge=_ms(judged - ran), total=_ms(judged - begun))
        return assembly.Execution(result.ended, submission.output, timing, result.trial), found

    def _run_together(self, submission: _Submission) -> tuple[SessionResult, _Found, float]:
        """Run all trials in one process, and judge them; what was handed over and found, and when the run was over."""
        payload, trials = submission.payload, submission.trials
        found: _Found
        for _ in range(2):
            submission.output, found = _output(payload.task), JudgeOutcome()
            with self._pool.take("student", _budget(payload.task.limits)) as process:
                process.give(payload.for_student(submission.source, data(trials[0])))
                with self._judge_pool.take(payload, submission.for_judge) as judging:
                    result = converse(process, payload, trials, output=submission.output, judge=judging.process)
                    ran = time.perf_counter()
                    if result.trials and not _starved(result):
                        found = _judge(payload.task, judging.process, result)
                    judging.well = _is_well(result, found)
            self._replace_unless_well(result)
            if not _starved(result):
                return result, found, ran
        raise MachineFault(_STARVED)

    def _rerun_alone(
        self, submission: _Submission, first: SessionResult, again: tuple[int, ...]
    ) -> tuple[SessionResult, _Found, float]:
        """The same, with some of the trials each run in a process of its own."""
        result = SessionResult()
        made: list[TrialFrames] = []
        for number in range(len(submission.trials)):
            alone = self._run_alone(submission, number) if number in again else None
            made += [
                one for trial in (first.trials[number : number + 1] if alone is None else alone.trials) for one in trial
            ]
            if alone is not None and alone.ended is not None:
                result.ended, result.trial = alone.ended, number
                break
        ran = time.perf_counter()
        with self._judge_pool.take(submission.payload, submission.for_judge) as judging:
            result.judge = judging.process
            for observed in made:
                result.add(observed)
            found = _judge(submission.payload.task, judging.process, result)
            judging.well = _is_well(result, found)
        return result, found, ran

    def _run_alone(self, submission: _Submission, number: int) -> SessionResult:
        """One fresh trial in a process of its own; what it prints is nobody's to see."""
        payload, trial = submission.payload, submission.trials[number]
        for _ in range(2):
            output = PrintedOutput(keep_bytes=0, abort_bytes=submission.output.abort_bytes)
            with self._pool.take("student", _budget(payload.task.limits)) as process:
                process.give(payload.for_student(submission.source, data(trial, silent=True)))
                result = converse(process, payload, [trial], output=output)
            self._replace_unless_well(result)
            if not _starved(result):
                return result
        raise MachineFault(_STARVED)

    def _check_own_solution(self, payload: ExercisePayload, failure: JudgingFailed, *, seed: str) -> None:
        """
        Whose is it that a judge has failed? The exercise's own solution, sent in as well with the same seed, tells.

        It passes through the same judge's code and author's texts. Where it can be judged, it is what the student
        handed over that cannot. That is found out once for each version of an exercise.

        Raises:
            GraderFault: it cannot be judged either, so the exercise or we are to blame.
        """
        if self._sound.get(payload.key) is payload:
            return
        execution, found = self._run_and_judge(payload, payload.task.solution, seed=seed)
        if execution.ended is not None or isinstance(found, JudgingFailed) or found.refused:
            raise GraderFault(f"{failure}; and the exercise's own solution cannot be judged either: {found}")
        self._sound[payload.key] = payload
        while len(self._sound) > _KEPT:
            del self._sound[next(iter(self._sound))]

    def execute(self, task: Task, source: str) -> Report:
        """Execute on the lesson's data only and show what is printed; nothing is judged. Raises GraderFault."""
        begun = time.perf_counter()
        payload, trials = self._payloads.of(task), draw_trials(task, "run")[:1]
        for _ in range(2):
            output = _output(task)
            with self._pool.take("student", _budget(task.limits)) as process:
                process.give(payload.for_student(source, data(trials[0])))
                result = converse(process, payload, trials, output=output)
            self._replace_unless_well(result)
            if not _starved(result):
                break
        else:
            raise MachineFault(_STARVED)
        took = _ms(time.perf_counter() - begun)
        fault = result.trials[0][0].observation.body["fault"] if result.trials else None
        execution = assembly.Execution(result.ended, output, Timing(run=took, total=took))
        return assembly.unjudged(task, execution, fault)

    def survey(self, task: Task) -> Survey:
        """
        What the exercise's own code does on many draws: for its author, before anything is graded.

        Raises:
            GraderFault: it does not come to its end.
        """
        request = Frame(FrameType.SURVEY, {"task": task.as_json})
        words = PrintedOutput(keep_bytes=8 * _KIB, abort_bytes=1024 * _KIB)
        with self._pool.take("judge", JUDGE_BUDGET) as process:
            try:
                frame = process.converse(request, deadline=time.monotonic() + JUDGE_TIME_S, output=words)
                return Survey.from_json(frame.body)
            except (Ended, ValueError, TypeError, KeyError) as fault:
                said = assembly.text(words).strip()[-1000:]
                raise GraderFault(
                    f"the exercise's own code does not come to its end ({fault}) {said}".strip()
                ) from fault

    def prepare(self, limits: Limits | None = None) -> None:
        """
        Between two submissions: fork the next runs ahead, and remove what the last ones left.

        Args:
            limits: those that the next submission will most likely have.
        """
        self._pool.prepare("student", _budget(limits or Limits()))
        self._pool.prepare("judge", JUDGE_BUDGET)
        self._judge_pool.prepare()
        self._pool.tidy()

    @property
    def restarts(self) -> int:
        """How many warm processes were started in the place of another."""
        return self._pool.restarts

    @property
    def judges_begun(self) -> int:
        """How many judges were started; the others had been kept."""
        return self._judge_pool.begun

    @property
    def in_namespaces(self) -> bool:
        """Are the warm processes in worlds of their own?"""
        return self._pool.namespaces

    def _compiled(self, request: Frame) -> Frame:
        """What a judge's run of its own answers, which sees no submission. Raises Ended, GraderFault."""
        with self._pool.take("judge", JUDGE_BUDGET) as process:
            return process.converse(request, deadline=time.monotonic() + JUDGE_TIME_S)

    def _replace_unless_well(self, result: SessionResult) -> None:
        if result.ended is not None:
            self._pool.look_after("student")


def _budget(limits: Limits) -> Budget:
    return Budget(limits.memory_mib + RESERVE_MIB, limits.wall_time_s * _NET_TIMES)


def _output(task: Task) -> PrintedOutput:
    return PrintedOutput(keep_bytes=task.limits.output_kib * _KIB, abort_bytes=task.limits.output_abort_kib * _KIB)


def _starved(result: SessionResult) -> bool:
    return result.ended is not None and result.ended.how == "starved"


def _is_well(result: SessionResult, found: _Found) -> bool:
    """Has all gone as it should, on both sides?"""
    return result.ended is None and isinstance(found, JudgeOutcome) and not found.refused


def _judge(task: Task, judge: SandboxedProcess, result: SessionResult) -> JudgeOutcome | JudgingFailed:
    """What the judge makes of what was handed over. Raises GraderFault: the exercise's own solution fails."""
    words = PrintedOutput(keep_bytes=8 * _KIB, abort_bytes=1024 * _KIB)
    result.hurry()
    if result.failed is not None:
        return result.failed
    try:
        frame = judge.converse(Frame(FrameType.END, {}), deadline=time.monotonic() + JUDGE_TIME_S, output=words)
    except Ended as ended:
        return JudgingFailed.by(ended, f"gave no outcome: {assembly.text(words)}")
    if "fault" in frame.body:
        raise GraderFault(str(frame.body["fault"]))
    if "failure" in frame.body:
        return JudgingFailed(str(frame.body["failure"]))
    try:
        return assembly.read_outcome(task, frame.body)
    except OutcomeRefused as refused:
        return JudgingFailed(str(refused))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
