"""Judging a sample of our own ahead, for the reason that `graders.student.warmup` gives."""

import functools

from graders.judge.compilation import CompiledExercise, for_judge
from graders.judge.session import Judge
from graders.protocol.frames import Frame, FrameType
from graders.student import warmup as sample
from graders.task import Check, Input, Output, Task
from graders.trials import TrialRequest

_TASK = Task(
    exercise="warm-up",
    version=0,
    setup=sample.SETUP,
    require=sample.STUDENT_PART.require,
    solution=sample.SOURCE,
    params=sample.STUDENT_PART.params,
    outputs=tuple(Output(name, kind) for name, kind in sample.STUDENT_PART.outputs),
    inputs=(Input("x"),),
    checks=(
        Check("table", "", "table", of="table"),
        Check("places", "", "table", of="places"),
        Check("found", "", "equal", of="found", given=(("table",),), inputs=("x",), learns=("table",)),
        Check("h", "", "equal", of="h", given=(("table", "places"),), inputs=("x",)),
        Check("kind", "", "holds", expression="type_of('table') != 'Linear'", needs=("table",)),
        Check("count", "", "learnable_count", names=("table", "places")),
        Check("learns", "", "gradient", of="h", to="table"),
        Check("sizes", "", "other_sizes"),
    ),
    report="print(f'{list(h.shape)} {learnable} {holds(\"learns\")}')",
    free_tables=sample.STUDENT_PART.free_tables,
    fresh_trials=1,
)


@functools.cache
def _frames() -> tuple[Frame, ...]:
    """What a student's run of the sample hands over."""
    return tuple(frame for observation, gradients in sample.run_sample() for frame in _pair(observation, gradients))


@functools.cache
def _packed() -> bytes:
    """The sample's exercise, compiled."""
    return for_judge(_TASK)


def _pair(observation: Frame, gradients: Frame) -> tuple[Frame, Frame]:
    made = {"again": False, "observation": observation.body}
    return (
        Frame(FrameType.TRIAL_OBSERVATION, made, observation.tensors),
        Frame(FrameType.TRIAL_GRADIENTS, {"gradients": gradients.body}, gradients.tensors),
    )


def run_sample() -> dict[str, object]:
    """Judge the sample; what is said of it."""
    frames = iter(_frames())
    with sample.untouched():
        judge = Judge(CompiledExercise.unpacked(_packed()))
        judge.begin(sample.SOURCE)
        for draw in sample.DRAWS:
            judge.prepare(TrialRequest(draw, sample.SEED))
        for observation in frames:
            judge.take(sample.arrived(observation), lambda: sample.arrived(next(frames)))
        return sample.arrived(Frame(FrameType.OUTCOME, judge.outcome())).body
