"""The lesson's own printed check, over the student's values."""

import ast
import contextlib
import io
from types import CodeType

from graders.code_cache import CodeCache
from graders.judge.checks.learnable_count import count_learnable
from graders.judge.trials.reference import Names
from graders.judge.trials.trial import Trial
from graders.report import CheckStatus
from graders.starting_code import raised

_MAX_CHARS = 8000
_FILE = "<printed check>"


def printed(trial: Trial, code: str, faults: list[str] | None = None) -> str:
    """
    What the author's report code prints, statement by statement; one that cannot run on these values is left out.

    The code sees the starting code's names, each output of the student as a tensor, the names of the judge block,
    `holds("check-id")` and `learnable`, the count of numbers that can learn.

    Args:
        trial: whose values.
        code: the author's.
        faults: filled with what was raised, for the author; where none are asked for, the trial notes them.
    """
    names: Names = dict(trial.names)
    own = trial.own_values()
    for output in trial.task.outputs:
        names.pop(output.name, None)  # the starting code may have one of that name
    names |= own
    tables = [trial.made(one.name) for one in trial.task.outputs if one.kind == "table"]
    names = trial.block.over(names)
    names["learnable"] = count_learnable(tables)
    names["holds"] = lambda check: trial.outcomes[check].status is CheckStatus.PASSED
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for statement in statements(code, trial.code_cache):
            try:
                exec(statement, names)  # noqa: S102
            except BaseException as fault:  # noqa: BLE001  `exit()` among them; the student's values need not fit it
                if faults is None:
                    trial.note(fault, "`report`", _FILE)
                else:
                    faults.append(raised(fault, _FILE))
    return "" if text.closed else text.getvalue()[:_MAX_CHARS]


def statements(code: str, code_cache: CodeCache) -> list[CodeType]:
    """The statements of a report, each compiled by itself; one that cannot be is left out."""
    found: list[CodeType] = code_cache.compiled(("report", code), lambda: _compiled(code))
    return found


def _compiled(code: str) -> list[CodeType]:
    found = []
    for statement in ast.parse(code).body:
        with contextlib.suppress(Exception):
            found.append(compile(ast.Module([statement], []), _FILE, "exec"))
    return found
