"""
What runs get of an exercise: worked out and compiled once, sent along with every submission to it.

The code is made by a judge's run of its own that sees the exercise and nothing else (`graders.judge.compilation`); here
it is bytes that nobody opens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from graders.protocol.ending import Ended
from graders.protocol.frames import Frame, FrameType
from graders.protocol.observation_schema import ObservationSchema
from graders.task import StudentPart, Task

_KEPT = 32  # exercises, of some hundred KiB each


@dataclass(frozen=True)
class ExercisePayload:
    """One exercise, ready to be sent."""

    task: Task
    student: StudentPart
    student_code: bytes = b""  # empty, as the next one, where compiling went wrong: each run does it itself
    judge_code: bytes = b""

    def for_student(self, source: str, trial: dict[str, object]) -> Frame:
        """A student's job: `source`, and the first trial."""
        return Frame(FrameType.JOB, {**self.student.to_json(), "source": source, "trial": trial}, self.student_code)

    def for_judge(self) -> Frame:
        """The exercise, for a judge to open."""
        return Frame(FrameType.JOB, {} if self.judge_code else {"task": self.task.as_json}, self.judge_code)

    @cached_property
    def schema(self) -> ObservationSchema:
        """What a student's run of it may hand over."""
        return ObservationSchema(self.student)

    @property
    def key(self) -> tuple[str, int]:
        """Exercise and version; a draft changes without a new number, and has then another payload."""
        return self.task.exercise, self.task.version


class ExercisePayloads:
    """Those of the exercises that were graded last. Not thread-safe."""

    def __init__(self, compile_: Callable[[Frame], Frame]) -> None:
        """`compile_`: sends a request to a judge's run of its own and gives its answer. Raises Ended."""
        self._compile = compile_
        self._known: dict[tuple[str, int], ExercisePayload] = {}

    def of(self, task: Task) -> ExercisePayload:
        """The payload of an exercise, compiled at its first submission. Raises GraderFault."""
        key = (task.exercise, task.version)
        payload = self._known.pop(key, None)
        if payload is None or payload.task != task:  # a draft changes without a new number
            payload = self._compiled(task)
        self._known[key] = payload
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return payload

    def _compiled(self, task: Task) -> ExercisePayload:
        try:
            made = self._compile(Frame(FrameType.COMPILE, {"task": task.as_json}))
        except Ended:
            return ExercisePayload(task, task.student_part())  # what cannot be compiled is told where it is run
        size = made.body.get("judge_bytes")
        if made.type is not FrameType.COMPILED or not isinstance(size, int):
            return ExercisePayload(task, task.student_part())
        return ExercisePayload(task, task.student_part(), made.tensors[size:], made.tensors[:size])
