"""Is a construct used, or left out, in the code as parsed?"""

from graders.judge.code.constructs import constructs
from graders.judge.trials.trial import Outcome, Trial, failed, not_run, passed
from graders.reporting import vocabulary
from graders.task import Check

_NOT = "not "


def judge(trial: Trial, check: Check) -> Outcome:
    """Look for each of `names`: `torch.nn.Embedding`, `for`, `while` …; after `not `, for its absence."""
    try:
        used = constructs(trial.source, trial.task.setup)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return not_run(vocabulary.NOT_READABLE)
    for name in check.names:
        ruled_out = name.startswith(_NOT)
        wanted = name.removeprefix(_NOT)
        if (wanted in used) == ruled_out:
            said = f"This exercise is to be done without `{wanted}`." if ruled_out else f"Use `{wanted}` here."
            return failed(f"{said} {check.message}".strip())
    return passed()
