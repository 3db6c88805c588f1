"""Do the inputs hold, after the student's code, what the starting code put there?"""

import torch

from graders.judge.claimed import MISSING
from graders.judge.trial import Outcome, Trial, failed, passed
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Compare each input with the starting code's own, number for number."""
    for name in check.inputs:
        made = trial.claim.inputs.get(name, MISSING)
        own = trial.names[name]
        if made.tensor is None or made.tensor.shape != own.shape or not torch.equal(made.tensor, own):
            return failed(f"`{name}` was changed; it should stay as the starting code made it. {check.message}".strip())
    return passed()
