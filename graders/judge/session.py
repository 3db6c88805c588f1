"""
Submissions before the judge: of each the references of all trials, then one observation after the other.

The request comes before the student's run is over, so that the reference is ready when the observations
arrive. An observation is judged as soon as it is here, while the student's process takes its gradients and
goes on to its next trial: only the first check that asks for the gradients waits for them.
"""

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from graders.judge.compilation import CompiledExercise
from graders.judge.outcome import results as outcome
from graders.judge.outcome.misconceptions import recognise
from graders.judge.outcome.printed_check import printed
from graders.judge.trials.disclosure import sizes_of
from graders.judge.trials.inputs import changed_inputs
from graders.judge.trials.reference import Names, Programs, Reference, Start
from graders.judge.trials.second_look import look, settle
from graders.judge.trials.trial import Trial
from graders.judge.values.decode_observation import AwaitedGradients, Gradients, read_awaiting, read_gradients
from graders.protocol.frames import Frame, FrameType
from graders.starting_code import Setup
from graders.student import main_module
from graders.trials import TrialRequest, candidates


@dataclass
class _Prepared:
    """One trial's reference, before the observation is there."""

    start: Start
    pure: Names
    values: dict[str, object]
    seed: int


class Judge:
    """
    One exercise; of each submission to it, the trials one after the other.

    Opening runs nothing of the author's; what judging does to its process ends with that (`graders.pool.judge_pool`).
    """

    def __init__(self, exercise: CompiledExercise) -> None:
        """Nothing is run yet; `begin` comes next."""
        self._task, self._wrong = exercise.task, exercise.wrong
        self._code_cache = exercise.code_cache
        self._setup = Setup(self._task.setup, self._task.require, self._code_cache)
        self._programs = Programs(self._task, self._code_cache)
        self._part = self._task.student_part()
        self._randomness = random.getstate(), torch.get_rng_state()
        self._lesson: _Prepared | None = None  # before a submission is there
        self.begin("")

    def begin(self, source: str) -> None:
        """The next submission: `source` is the student's text, to be looked at only."""
        self._source = source
        self._prepared: list[_Prepared] = []
        self._trials: list[Trial] = []
        self._printed = ""
        random.setstate(self._randomness[0])
        torch.set_rng_state(self._randomness[1])

    def prepare_lesson(self) -> None:
        """
        Run starting code and solution on the lesson's data ahead: they are the same for every submission.

        What follows finds the generators of random numbers as if it had been run in its turn. Once, before `begin`.

        Raises:
            Exception: whatever an author's code raises; nothing is prepared then.
        """
        self.begin("")
        lesson = self._run(TrialRequest(None, seed=0))
        self._lesson, self._randomness = lesson, (random.getstate(), torch.get_rng_state())

    def prepare(self, request: TrialRequest) -> None:
        """Run starting code and solution on the next trial. Raises ValueError: the solution fails."""
        ahead, self._lesson = self._lesson if request.draw is None else None, None
        self._prepared.append(replace(ahead, seed=request.seed) if ahead else self._run(request))

    def _run(self, request: TrialRequest) -> _Prepared:
        names: Names = main_module.fresh()
        values = self._setup.run(candidates(self._task.params, request.draw), names)
        start = Start(names)
        ended, pure = self._programs.run(self._task.solution, frozenset(), start.fresh)
        for fault in (ended.fault, *ended.probed.values()):
            if fault is not None:
                raise ValueError(f"the exercise's own solution fails: {fault['type']}: {fault['message']}")
        return _Prepared(start, pure, values, request.seed)

    def take(self, frame: Frame, gradients: Callable[[], Frame]) -> bool:
        """
        Judge the next trial.

        Args:
            frame: its observation.
            gradients: waits for them.

        Returns:
            False if there are more observations than trials.

        Raises:
            UnreadableObservation: one of the two is not what a harness writes.
        """
        again = frame.body["again"] is True
        number = len(self._trials) - again
        if not 0 <= number < len(self._prepared) or (again and self._trials[number].again is not None):
            return False
        received = functools.cache(gradients)

        def receive() -> Gradients:
            if not again:
                look(trial)  # most are not run once more, and then this will be asked
            body, tensors = received().body["gradients"], received().tensors
            return read_gradients(self._part, None if body is None else Frame(FrameType.GRADIENTS, body, tensors))

        awaited = AwaitedGradients(receive)
        trial = self._trial(frame, number, awaited, again=again)
        outcome.judge_trial(trial)
        awaited.wait()
        if again:
            self._trials[number].again = trial
            return True
        self._trials.append(trial)
        if trial.lesson and trial.parsed:
            self._printed = printed(trial, self._task.report)
        return True

    def _trial(self, frame: Frame, number: int, gradients: Gradients, *, again: bool) -> Trial:
        made = Frame(FrameType.OBSERVATION, frame.body["observation"], frame.tensors)
        observation = read_awaiting(self._part, made, gradients)
        prepared = self._prepared[number]
        start = prepared.start.having(changed_inputs(self._task, prepared.start.names, observation))
        return Trial(
            task=self._task,
            names=start.names,
            pure=prepared.pure,
            observation=observation,
            reference=Reference(self._task, start, observation, self._programs, pure=prepared.pure),
            seed=prepared.seed,
            lesson=number == 0 and not again,
            of_lesson=number == 0,
            values=prepared.values,
            source=self._source,
            code_cache=self._code_cache,
            lesson_sizes=self._lesson_sizes() if number else frozenset(),
        )

    def _lesson_sizes(self) -> frozenset[int]:
        lesson = self._prepared[0]
        return frozenset(sizes_of(self._task, lesson.start.names, lesson.pure))

    def outcome(self) -> dict[str, Any]:
        """What is said of all trials together."""
        task, trials, lesson = self._task, self._trials, self._trials[0]
        for trial in trials:
            settle(trial)
        found = outcome.results(task, trials)
        failed = {one.id for one in found if one.status is outcome.FAILED}
        wrong = bool(failed) or lesson.observation.fault is not None
        complete = len(trials) == 1 + task.fresh_trials
        named = wrong and complete and not lesson.left_early
        error = outcome.student_error(lesson)
        return {
            "checks": [outcome.as_json(one) for one in found],
            "misconception": outcome.as_json(recognise(trials, failed, self._wrong)) if named else None,
            "error": outcome.as_json(error),
            "raised": error is not None,
            "author_faults": [outcome.as_json(one) for one in outcome.author_faults(trials)],
            "again": outcome.to_repeat(task, trials),
            "memory": any(one.observation.fault is not None and one.observation.fault.memory for one in trials),
            "report": self._printed,
            "tensors": [outcome.as_json(one) for one in outcome.shapes(lesson)],
        }
