"""Do exactly those rows of a table learn that the reference looks up, whatever the numbers?"""

import torch

from graders.judge.checks.gradient import silent_rows, why_cut
from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.reporting import vocabulary
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Look at which rows a random cotangent reaches in the student's process and in the reference."""
    of, to = trial.made(check.of), trial.made(check.to)
    if of.kind != "tensor" or to.kind != "table":
        lacking = check.of if of.kind != "tensor" else check.to
        return trial.needed(lacking, f"to see which rows of `{check.to}` learn")
    found = trial.observation.gradients.get(f"{check.of}>{check.to}", "error")
    if isinstance(found, str) and found == "none":  # torch is slow to tell a tensor from a text
        return failed(why_cut(trial, check, of, to))
    expected = trial.reference.gradient(check.of, check.to, trial.seed)
    if not isinstance(found, torch.Tensor) or expected is None or found.shape[:1] != expected.shape[:1]:
        return not_run(vocabulary.rows_need(check.to, trial.called(check.of)))
    if silent_rows(found, expected):
        return failed(f"A row of `{check.to}` was looked up, but no gradient reaches it. {check.message}".strip())
    extra = silent_rows(expected, found)
    if extra:
        counted = f"{len(extra)} rows" if trial.lesson else "Rows"
        count = counted if len(extra) > 1 else "A row"
        return failed(f"{count} of `{check.to}` would change without having been looked up. {check.message}".strip())
    return passed()
