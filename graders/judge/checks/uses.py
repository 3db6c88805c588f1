"""
Is a construct used, or left out, in the code as parsed?

Names are followed through imports and simple renaming (`import torch.nn as nn`, `from torch.nn import
functional as F`, `E = nn.Embedding`), so that what counts is what is meant, not how it is spelled. The
text is parsed here, never run.
"""

import ast

from graders.judge.trial import Outcome, Trial, failed, not_run, passed
from graders.task import Check

_NOT = "not "


def judge(trial: Trial, check: Check) -> Outcome:
    """Look for each of `names`: `torch.nn.Embedding`, `for`, `while` …; after `not `, for its absence."""
    try:
        used = constructs(trial.source, trial.task.setup)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return not_run("Your code cannot be read yet.")
    for name in check.names:
        ruled_out = name.startswith(_NOT)
        wanted = name.removeprefix(_NOT)
        if (wanted in used) == ruled_out:
            said = f"This exercise is to be done without `{wanted}`." if ruled_out else f"Use `{wanted}` here."
            return failed(f"{said} {check.message}".strip())
    return passed()


def constructs(source: str, setup: str) -> set[str]:
    """
    What a text uses: full dotted names, and the statements `for`, `while`, `if`, `lambda`, `comprehension`.

    Args:
        source: the student's text.
        setup: the starting code, whose imports count.
    """
    tree = ast.parse(source.removeprefix("\ufeff"))
    known = _imports(ast.parse(setup)) | _imports(tree)
    for node in ast.walk(tree):  # E = nn.Embedding
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            full = _dotted(node.value, known)
            known |= {target.id: full for target in node.targets if isinstance(target, ast.Name) and full}
    used = {full for node in ast.walk(tree) if (full := _dotted(node, known))}
    return used | {word for node in ast.walk(tree) for kind, word in _STATEMENTS.items() if isinstance(node, kind)}


_STATEMENTS: dict[type[ast.AST], str] = {
    ast.For: "for",
    ast.While: "while",
    ast.If: "if",
    ast.Lambda: "lambda",
    ast.ListComp: "comprehension",
    ast.GeneratorExp: "comprehension",
}


def _imports(tree: ast.Module) -> dict[str, str]:
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                known[one.asname or one.name.split(".")[0]] = one.name if one.asname else one.name.split(".")[0]
        if isinstance(node, ast.ImportFrom) and node.module:
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return known


def _dotted(node: ast.AST, known: dict[str, str]) -> str:
    """The full dotted name that a name or attribute stands for, or an empty text."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, known)
        return f"{before}.{node.attr}" if before else ""
    return ""
