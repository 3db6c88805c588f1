"""
Did an operation really run, or not, however it was called?

`graders.judge.checks.uses` looks at the text; here it is what the student's process has recorded in each trial. Where a
list asks for an operation and rules out one of its names, that name is looked for as it was called.
"""

from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.operations import operation, operations
from graders.reporting import vocabulary
from graders.task import Check

_NOT = "not "


def judge(trial: Trial, check: Check) -> Outcome:
    """Look for each of `names`: `torch.softmax`, `torch.nn.functional.linear` …; after `not `, for its absence."""
    if not trial.parsed:
        return not_run(vocabulary.NOT_PARSED)
    ran = frozenset(one for name in trial.observation.calls for one in operations(name))
    wanted = [name for name in check.names if not name.startswith(_NOT)]
    asked_for = {operation(name) for name in wanted}
    for name in (one.removeprefix(_NOT) for one in check.names if one.startswith(_NOT)):
        if name in trial.observation.calls if operation(name) in asked_for else operation(name) in ran:
            return failed(f"This exercise is to be done without `{name}`, and it was run. {check.message}".strip())
    missing = next((name for name in wanted if operation(name) not in ran), None)
    if missing is None:
        return passed()
    if trial.observation.fault is not None:
        return not_run(vocabulary.stopped_before(missing, "run"))
    return failed(f"`{missing}` was not run. {check.message}".strip())
