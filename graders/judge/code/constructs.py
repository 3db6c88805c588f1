"""
What a text uses, as parsed: full dotted names and kinds of statements.

Names are followed through imports and simple renaming (`import torch.nn as nn`, `from torch.nn import
functional as F`, `E = nn.Embedding`), so that what counts is what is meant, not how it is spelled. The
text is parsed here, never run.
"""

import ast


def constructs(source: str, setup: str) -> set[str]:
    """
    What a text uses: full dotted names, and the statements `for`, `while`, `if`, `lambda`, `comprehension`.

    Args:
        source: the student's text.
        setup: the starting code, whose imports count.
    """
    tree = ast.parse(source.removeprefix("\ufeff"))
    known = imports(ast.parse(setup)) | imports(tree)
    for node in ast.walk(tree):  # E = nn.Embedding
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            full = dotted(node.value, known)
            known |= {target.id: full for target in node.targets if isinstance(target, ast.Name) and full}
    used = {full for node in ast.walk(tree) if (full := dotted(node, known))}
    return used | {word for node in ast.walk(tree) for kind, word in _STATEMENTS.items() if isinstance(node, kind)}


_STATEMENTS: dict[type[ast.AST], str] = {
    ast.For: "for",
    ast.While: "while",
    ast.If: "if",
    ast.Lambda: "lambda",
    ast.ListComp: "comprehension",
    ast.GeneratorExp: "comprehension",
}


def imports(tree: ast.Module) -> dict[str, str]:
    """What a text imports: by the name that it gives it, the full one."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                known[one.asname or one.name.split(".")[0]] = one.name if one.asname else one.name.split(".")[0]
        if isinstance(node, ast.ImportFrom) and node.module:
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return known


def dotted(node: ast.AST, known: dict[str, str]) -> str:
    """The full dotted name that a name or attribute stands for, or an empty text."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = dotted(node.value, known)
        return f"{before}.{node.attr}" if before else ""
    return ""
