"""Our Python files as syntax trees, each parsed once for all tests of a process."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax tree, which nobody changes. Raises SyntaxError if it is no Python."""
    return ast.parse(path.read_text(encoding="utf-8"))
