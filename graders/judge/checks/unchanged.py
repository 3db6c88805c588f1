"""Do the inputs hold, after the student's code, what the starting code put there?"""

import torch

from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.judge.values.decode_observation import MISSING
from graders.reporting import vocabulary
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Compare each input with the starting code's own, number for number; code that has done nothing left it alone."""
    for name in check.inputs:
        made = trial.observation.inputs.get(name, MISSING)
        own = trial.names[name]
        if made.tensor is None or made.tensor.shape != own.shape or not torch.equal(made.tensor, own):
            return failed(f"`{name}` was changed; it should stay as the starting code made it. {check.message}".strip())
    if not trial.parsed or all(one.kind == "missing" for one in trial.observation.outputs.values()):
        return not_run(vocabulary.NOTHING_MADE)
    return passed()
