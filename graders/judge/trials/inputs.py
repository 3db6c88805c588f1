"""The inputs: may a student's own value stand where the starting code put another?"""

import torch

from graders.judge.trials.reference import Names
from graders.judge.values.decode_observation import MISSING, Observation, Observed
from graders.task import Task


def spoilt_input(task: Task, names: Names, observation: Observation, name: str) -> bool:
    """Has the student put something under an input's name that nothing can be computed from?"""
    made = observation.inputs.get(name, MISSING)
    own = names[name]
    if _same_values(made, own):
        return False
    rule = next(one.valid for one in task.inputs if one.name == name)
    return made.tensor is None or not rule or not _holds(rule, {**names, "was": own, name: made.tensor})


def _same_values(made: Observed, own: torch.Tensor) -> bool:
    """The same numbers, perhaps of another type: then the starting code's own are as good."""
    return made.tensor is not None and made.tensor.shape == own.shape and torch.equal(made.tensor.to(own.dtype), own)


def _holds(rule: str, names: Names) -> bool:
    try:
        return bool(eval(rule, names))  # noqa: S307  the author's expression, in the judge's own process
    except Exception:  # noqa: BLE001  a value that the rule cannot even be asked about is not valid
        return False


def changed_inputs(task: Task, names: Names, observation: Observation) -> Names:
    """The inputs that the student has changed in a way that is allowed, as the student left them."""
    return {
        one.name: observation.inputs[one.name].tensor
        for one in task.inputs
        if one.name in observation.inputs
        and not _same_values(observation.inputs[one.name], names[one.name])
        and not spoilt_input(task, names, observation, one.name)
    }
