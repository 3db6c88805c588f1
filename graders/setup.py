"""
The starting code of one trial: the author's text, with other values for its parameters.

`block_size = 8` in the text becomes `block_size = 5` in a fresh trial. Runs in the student's and in
the judge's process alike, and comes to the same in both.
"""

import ast
from collections.abc import Iterable
from types import CodeType
from typing import Any

from graders.texts import Texts

_FILE = "<starting code>"
_VALUES = "__values__"
Values = dict[str, Any]


class Setup:
    """The starting code, compiled once as written and once open for other values."""

    def __init__(self, text: str, require: str, texts: Texts | None = None) -> None:
        """
        Compile, as far as it is not known.

        Args:
            text: the author's starting code.
            require: an expression over its names that a fresh trial must fulfil, or empty.
            texts: those that are compiled already.
        """
        self._text, self._texts = text, texts or Texts()
        self._as_written: CodeType = self._texts.compiled(("setup", text), lambda: compile(text, _FILE, "exec"))
        self._require: CodeType | None = None
        if require:
            self._require = self._texts.compiled(("require", require), lambda: compile(require, "<require>", "eval"))

    def open(self, changed: frozenset[str]) -> CodeType:
        """The code in which these parameters can be given other values."""
        key = ("open", self._text, tuple(sorted(changed)))
        code: CodeType = self._texts.compiled(key, lambda: compile(opened(self._text, changed), _FILE, "exec"))
        return code

    def run(self, candidates: Iterable[Values], names: Values) -> Values:
        """
        Run the starting code in `names`.

        Args:
            candidates: parameter values to try in turn; the first for which `require` holds is taken, else the last.
            names: an empty namespace (but for builtins); filled.

        Returns:
            The values that were taken.
        """
        empty, values = dict(names), None
        for values in candidates:
            names.clear()
            names.update(empty)
            self._run(values, names)
            if self._require is None or eval(self._require, names):  # noqa: S307
                break
        if values is None:
            raise ValueError("a trial needs at least one candidate")
        return values

    def _run(self, values: Values, names: Values) -> None:
        if not values:
            exec(self._as_written, names)  # noqa: S102
            return
        code = self.open(frozenset(values))
        names[_VALUES] = values
        exec(code, names)  # noqa: S102
        del names[_VALUES]


def opened(text: str, names: frozenset[str]) -> ast.Module:
    """The starting code, parsed, with the right-hand side of each `name = …` in `names` looked up instead."""
    tree = ast.parse(text)
    for statement in tree.body:
        name = assigned_name(statement)
        if isinstance(statement, ast.Assign) and name in names:
            looked_up = ast.Subscript(ast.Name(_VALUES, ast.Load()), ast.Constant(name), ast.Load())
            statement.value = ast.fix_missing_locations(ast.copy_location(looked_up, statement.value))
    return tree


def assigned_name(statement: ast.stmt) -> str | None:
    """The name in `name = …`, if the statement is one."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None
