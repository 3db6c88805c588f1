"""
The starting code of one trial: the author's text, with other values for its parameters.

`block_size = 8` in the text becomes `block_size = 5` in a fresh trial. Runs in the student's and in
the judge's process alike, and comes to the same in both.
"""

import ast
from typing import Any

Values = dict[str, Any]


def run_setup(text: str, require: str, candidates: list[Values], names: Values) -> int:
    """
    Run the starting code in `names`.

    Args:
        text: the author's starting code.
        require: an expression over its names, or empty.
        candidates: parameter values to try in turn; the first for which `require` holds is taken, else the last.
        names: an empty namespace (but for builtins); filled.

    Returns:
        Which candidate was taken.
    """
    empty = dict(names)
    for number, values in enumerate(candidates):
        names.clear()
        names.update(empty)
        exec(compile(with_values(text, values), "<starting code>", "exec"), names)  # noqa: S102
        if not require or number == len(candidates) - 1 or eval(require, names):  # noqa: S307
            return number
    raise ValueError("a trial needs at least one candidate")


def with_values(text: str, values: Values) -> ast.Module:
    """The starting code, parsed, with the right-hand side of each `name = …` in `values` replaced."""
    tree = ast.parse(text)
    for statement in tree.body:
        name = assigned_name(statement)
        if name in values:
            assert isinstance(statement, ast.Assign)  # noqa: S101  assigned_name says so
            statement.value = ast.parse(repr(values[name]), mode="eval").body
    return ast.fix_missing_locations(tree)


def assigned_name(statement: ast.stmt) -> str | None:
    """The name in `name = …`, if the statement is one."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None
