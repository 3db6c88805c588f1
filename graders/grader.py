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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from graders.faults import AuthorFault, GraderFault, MachineFault
from graders.pool.exercise_payloads import Brief, Briefs
from graders.pool.judge_pool import JUDGE_BUDGET, JUDGE_TIME_S, Judges
from graders.pool.process_pool import Budget, Places
from graders.pool.sandboxed_process import Run
from graders.pool.student_session import Handed, JudgingFailed, Observation, converse, data
from graders.protocol.ending import Ended, Output
from graders.protocol.frames import Frame, FrameType
from graders.report import Report, Timing
from graders.reporting import assembly
from graders.reporting.assembly import Findings, FindingsRefused
from graders.survey import Survey
from graders.task import Limits, Task
from graders.trials import TrialOrder, draw_trials

_KIB = 1024
_KEPT = 32  # exercises of which is known that their own solution can be judged
_NET_TIMES = 20  # of the limit of a step: what the kernel itself stops, should nobody else
_STARVED = "this machine was too busy to run the student's code: nothing of it could be judged"
_Found = Findings | JudgingFailed


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

    def abandon(self) -> None:
        """Kill the warm processes, from any thread: whoever is busy with this grader has a GraderFault soon."""
        self._places.abandon()

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
        brief = self._briefs.of(task)
        run, found = self._tried(brief, source, seed=seed)
        if isinstance(found, JudgingFailed):
            self._answer_for(brief, found, seed=seed)
            run = replace(run, ended=run.ended or Ended(found.how))
            found = Findings()
        return assembly.judged(task, run, found, seed=seed), found.author_faults

    def _tried(self, brief: Brief, source: str, *, seed: str) -> tuple[assembly.Run, _Found]:
        """Run and judge, and say how both ended. Raises GraderFault."""
        begun = time.perf_counter()
        attempt = _Attempt(brief, source, draw_trials(brief.task, seed), _output(brief.task))
        handed, found, ran = self._fed(attempt)
        forged = handed.ended is not None and handed.ended.how == "garbled"
        if isinstance(found, Findings) and found.again and not forged:
            handed, found, ran = self._heard_again(attempt, handed, found.again)
        judged = time.perf_counter()
        timing = Timing(run=_ms(ran - begun), judge=_ms(judged - ran), total=_ms(judged - begun))
        return assembly.Run(handed.ended, attempt.output, timing, handed.trial), found

    def _fed(self, attempt: _Attempt) -> tuple[Handed, _Found, float]:
        """Run all trials in one process, and judge them; what was handed over and found, and when the run was over."""
        brief, trials = attempt.brief, attempt.trials
        found: _Found
        for _ in range(2):
            attempt.output, found = _output(brief.task), Findings()
            with self._places.take("student", _budget(brief.task.limits)) as run:
                run.give(brief.for_student(attempt.source, data(trials[0])))
                with self._judges.take(brief, attempt.submission) as judging:
                    handed = converse(run, brief, trials, output=attempt.output, judge=judging.run)
                    ran = time.perf_counter()
                    if handed.trials and not _starved(handed):
                        found = _judge(brief.task, judging.run, handed)
                    judging.well = _is_well(handed, found)
            self._after(handed)
            if not _starved(handed):
                return handed, found, ran
        raise MachineFault(_STARVED)

    def _heard_again(self, attempt: _Attempt, first: Handed, again: tuple[int, ...]) -> tuple[Handed, _Found, float]:
        """The same, with some of the trials each run in a process of its own."""
        handed = Handed()
        made: list[Observation] = []
        for number in range(len(attempt.trials)):
            alone = self._alone(attempt, number) if number in again else None
            made += [
                one for trial in (first.trials[number : number + 1] if alone is None else alone.trials) for one in trial
            ]
            if alone is not None and alone.ended is not None:
                handed.ended, handed.trial = alone.ended, number
                break
        ran = time.perf_counter()
        with self._judges.take(attempt.brief, attempt.submission) as judging:
            handed.judge = judging.run
            for observed in made:
                handed.complete(observed)
            found = _judge(attempt.brief.task, judging.run, handed)
            judging.well = _is_well(handed, found)
        return handed, found, ran

    def _alone(self, attempt: _Attempt, number: int) -> Handed:
        """One fresh trial in a process of its own; what it prints is nobody's to see."""
        brief, trial = attempt.brief, attempt.trials[number]
        for _ in range(2):
            output = Output(keep_bytes=0, abort_bytes=attempt.output.abort_bytes)
            with self._places.take("student", _budget(brief.task.limits)) as run:
                run.give(brief.for_student(attempt.source, data(trial, silent=True)))
                handed = converse(run, brief, [trial], output=output)
            self._after(handed)
            if not _starved(handed):
                return handed
        raise MachineFault(_STARVED)

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
        brief, trials = self._briefs.of(task), draw_trials(task, "run")[:1]
        for _ in range(2):
            output = _output(task)
            with self._places.take("student", _budget(task.limits)) as run:
                run.give(brief.for_student(source, data(trials[0])))
                handed = converse(run, brief, trials, output=output)
            self._after(handed)
            if not _starved(handed):
                break
        else:
            raise MachineFault(_STARVED)
        took = _ms(time.perf_counter() - begun)
        fault = handed.trials[0][0].claim.body["fault"] if handed.trials else None
        ran = assembly.Run(handed.ended, output, Timing(run=took, total=took))
        return assembly.unjudged(task, ran, fault)

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
    return Budget(limits.memory_mib, limits.wall_time_s * _NET_TIMES)


def _output(task: Task) -> Output:
    return Output(keep_bytes=task.limits.output_kib * _KIB, abort_bytes=task.limits.output_abort_kib * _KIB)


def _starved(handed: Handed) -> bool:
    return handed.ended is not None and handed.ended.how == "starved"


def _is_well(handed: Handed, found: _Found) -> bool:
    """Has all gone as it should, on both sides?"""
    return handed.ended is None and isinstance(found, Findings) and not found.refused


def _judge(task: Task, judge: Run, handed: Handed) -> Findings | JudgingFailed:
    """What the judge makes of what was handed over. Raises GraderFault: the exercise's own solution fails."""
    words = Output(keep_bytes=8 * _KIB, abort_bytes=1024 * _KIB)
    handed.hurry()
    if handed.failed is not None:
        return handed.failed
    try:
        frame = judge.converse(Frame(FrameType.END, {}), deadline=time.monotonic() + JUDGE_TIME_S, output=words)
    except Ended as ended:
        return JudgingFailed.by(ended, f"gave no outcome: {assembly.text(words)}")
    if "fault" in frame.body:
        raise GraderFault(str(frame.body["fault"]))
    if "failure" in frame.body:
        return JudgingFailed(str(frame.body["failure"]))
    try:
        return assembly.findings(task, frame.body)
    except FindingsRefused as refused:
        return JudgingFailed(str(refused))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
