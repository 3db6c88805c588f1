"""
What of a student's values may stand in a message.

The lesson's data are anybody's to see, and so is whatever a student makes of them. Fresh data are nobody's: a student's
code sees them, and would only have to give something a name, a shape or a value made of them for a report to carry them
out. So on fresh trials a message speaks in the author's names, sizes that are told anyway (the trial's own, and the
lesson's, which show where they were typed in) and words of a fixed list, and of what a student has made it says only as
much as these can say.
"""

from graders.judge.feedback import descriptions
from graders.judge.trials.reference import Names
from graders.judge.trials.trial import Trial
from graders.judge.values.decode_observation import Observed
from graders.student.observation import table_of
from graders.task import Task

_KNOWN_TYPES = {
    "NoneType", "bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "dict", "set", "range", "slice",
    "function", "type", "module", "generator", "Tensor", "Parameter", "Embedding", "Linear", "Module", "Sequential",
    "ndarray", "Size", "Generator",
}  # fmt: skip
_ALWAYS = (0, 1, 2)


def shape(trial: Trial, sizes: tuple[int, ...]) -> str:
    """A student's shape; on fresh trials only where it is made of sizes that the trial or the lesson has."""
    if trial.lesson or set(sizes) <= _sizes(trial) | trial.lesson_sizes:
        return f"the shape {descriptions.shape(sizes)}"
    return "another shape"


def _sizes(trial: Trial) -> set[int]:
    shown = {*_ALWAYS, *(value for value in trial.values.values() if type(value) is int)}
    return shown | sizes_of(trial.task, trial.names, trial.pure)


def sizes_of(task: Task, names: Names, pure: Names) -> set[int]:
    """
    The sizes in the shapes of a trial's inputs and of its right outputs.

    Args:
        task: the exercise.
        names: the starting code's.
        pure: the solution's.
    """
    made = [pure.get(one.name) for one in task.outputs] + [names.get(one.name) for one in task.inputs]
    tables = [table_of(value)[0] for value in made]
    return {size for table in tables if table is not None for size in table.shape}


def kind(trial: Trial, made: Observed) -> str:
    """What a value is, when it is no tensor."""
    return descriptions.kind(made) if trial.lesson or made.type in _KNOWN_TYPES else "something else"


def refused(trial: Trial, made: Observed) -> str:
    """Why the numbers of a value were not read."""
    return made.refused if trial.lesson else "its numbers cannot be read"
