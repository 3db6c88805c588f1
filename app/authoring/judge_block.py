"""What a schema cannot say of the `judge` block: it compiles, its names are its own, and something asks for them."""

import ast
import builtins
from collections.abc import Iterator

from app.authoring.document import Document, SourceLocation
from app.authoring.exercise import CodeExercise
from graders.task import FACTS

_MAKES = (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def check_judge(document: Document, exercise: CodeExercise) -> None:
    """Note every fault of the block, and of texts that cannot see it; all texts have been found to be Python."""
    place: SourceLocation = ("judge",)
    try:
        compile(exercise.judge, "<judge>", "exec")
    except (SyntaxError, ValueError) as fault:  # a `return` outside a function, which can be parsed
        document.fault(place, f"This cannot be run: {fault}.")
        return
    body = ast.parse(exercise.judge).body
    made = {name: statement.lineno for statement in reversed(body) for name in _made(statement)}
    for name, line in made.items():
        for what in _shadowed(exercise, name):
            document.fault(place, f"Its line {line} takes the name `{name}`, which is {what}; choose another.")
    _check_blind_texts(document, exercise, set(made))
    for line, names in _unused(body, _asked_for(exercise)):
        document.fault(
            place, f"Nobody uses `{'`, `'.join(names)}` (its line {line}): ask for it in a check, or take it out."
        )


def _made(statement: ast.AST) -> set[str]:
    """The names that a statement makes; `*` where it imports everything."""
    if isinstance(statement, _FUNCTIONS):
        return {statement.name}
    if isinstance(statement, _SCOPES):
        return set()
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in statement.names}
    if isinstance(statement, ast.Name):
        return {statement.id} if isinstance(statement.ctx, ast.Store) else set()
    return set().union(*(_made(child) for child in ast.iter_child_nodes(statement)))


def _shadowed(exercise: CodeExercise, name: str) -> Iterator[str]:
    """What a name stands for already. Where the block could not make it, a check would be judged by that."""
    if name == "*":
        yield "not known before it is run"
    elif name in {one.name for one in exercise.outputs}:
        yield "an output"
    elif name in {made for statement in ast.parse(exercise.setup).body for made in _made(statement)}:
        yield "the starting code's"
    elif name in FACTS or name in ("holds", "learnable"):
        yield "a fact that expressions may ask"
    elif hasattr(builtins, name):
        yield "Python's own"


def _check_blind_texts(document: Document, exercise: CodeExercise, made: set[str]) -> None:
    """Some expressions are evaluated where there is no block: before it has run, or as a student's code."""
    blind: list[tuple[SourceLocation, str, str]] = [(("require",), exercise.require, "`require` is asked before")]
    blind += [
        (("inputs", number, "valid"), one.valid, "`valid` is asked before")
        for number, one in enumerate(exercise.inputs)
    ]
    for number, wrong in enumerate(exercise.wrong):
        texts = (wrong.outputs or {}).values()
        blind += [(("wrong", number, "outputs"), text, "an answer is written without") for text in texts]
    for place, text, why in blind:
        for name in sorted(_names(text) & made):
            document.fault(place, f"`{name}` is a name of the `judge` block, and {why} that.")


def _names(text: str) -> set[str]:
    """The names that a text speaks of; none if it is not Python."""
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()  # told as what it is
    return _spoken_of(tree)


def _spoken_of(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _asked_for(exercise: CodeExercise) -> set[str]:
    """The names that checks, variants and the report speak of."""
    leaves = [leaf for check in exercise.checks for leaf in check.task_check().leaves]
    texts = [exercise.report, *(one.when for one in exercise.wrong)]
    texts += [text for leaf in leaves for text in (leaf.expression, *leaf.accept)]
    return set().union(*map(_names, texts))


def _unused(body: list[ast.stmt], asked_for: set[str]) -> Iterator[tuple[int, list[str]]]:
    """
    Statements that make names which lead to nothing that is asked for.

    One that changes things in place leads to what it speaks of.
    """
    steps = [(one, _made(one), _spoken_of(one)) for one in body if not _is_plain_text(one)]
    live, before = set(asked_for), set[str]()
    while live != before:
        before = set(live)
        for statement, made, spoken_of in steps:
            if (made if made and isinstance(statement, _MAKES) else made | spoken_of) & live:
                live |= spoken_of
    for statement, made, spoken_of in steps:
        if made and not (made if isinstance(statement, _MAKES) else made | spoken_of) & live:
            yield statement.lineno, sorted(made)


def _is_plain_text(statement: ast.stmt) -> bool:
    """Is it a docstring, a `pass`, or an `assert`, which makes nothing?"""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Assert)
