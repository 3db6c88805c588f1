"""What a schema cannot say: code parses, and names that stand for each other exist."""

import ast

from app.authoring.document import Document, Place
from app.authoring.exercise import Exercise
from graders.task import Check


def check_consistency(document: Document, exercise: Exercise) -> None:
    """Note every fault at its place in the document."""
    _check_code(document, exercise)
    _check_ids(document, exercise)
    for number, spec in enumerate(exercise.checks):
        for leaf in spec.task_check().leaves:
            _check_names(document, ("checks", number), exercise, leaf)
    if not document.faults:
        _check_params(document, exercise)


def _check_code(document: Document, exercise: Exercise) -> None:
    """Every piece of Python must parse."""
    pieces: list[tuple[Place, str]] = [(("setup",), exercise.setup), (("solution",), exercise.solution)]
    pieces += [(("report",), exercise.report), (("probe",), exercise.probe)]
    pieces += [(("equivalents", number, "code"), one.code) for number, one in enumerate(exercise.equivalents)]
    pieces += [(("wrong", number, "code"), one.code or "") for number, one in enumerate(exercise.wrong)]
    for place, code in pieces:
        _parse(document, place, code, mode="exec")
    expressions: list[tuple[Place, str]] = [(("require",), exercise.require)]
    expressions += [(("inputs", number, "valid"), one.valid) for number, one in enumerate(exercise.inputs)]
    expressions += [(("wrong", number, "when"), one.when) for number, one in enumerate(exercise.wrong)]
    for number, spec in enumerate(exercise.checks):
        for leaf in spec.task_check().leaves:
            expressions += [(("checks", number), one) for one in (leaf.expression, *leaf.accept)]
    for place, code in expressions:
        if code:
            _parse(document, place, code, mode="eval")


def _parse(document: Document, place: Place, code: str, *, mode: str) -> None:
    try:
        ast.parse(code, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        where = f" (its line {fault.lineno})" if isinstance(fault, SyntaxError) and fault.lineno else ""
        document.fault(place, f"This is not Python{where}: {fault}.")


def _check_ids(document: Document, exercise: Exercise) -> None:
    """Ids of checks are unique, and those that wrong variants name exist."""
    ids: set[str] = set()
    for number, check in enumerate(exercise.checks):
        if check.id in ids:
            document.fault(("checks", number, "id"), f"The check id `{check.id}` is used twice.")
        ids.add(check.id)
    for number, wrong in enumerate(exercise.wrong):
        for unknown in sorted(set(wrong.failing) - ids):
            document.fault(("wrong", number, "failing"), f"There is no check `{unknown}`.")
        if wrong.hint is not None and wrong.hint > len(exercise.hints):
            document.fault(("wrong", number, "hint"), f"There are only {len(exercise.hints)} hints.")


def _check_names(document: Document, place: Place, exercise: Exercise, check: Check) -> None:
    """The names that a check speaks of are outputs and inputs of the exercise."""
    outputs = {one.name for one in exercise.outputs}
    tables = {one.name for one in exercise.outputs if one.kind == "table"}
    counted = check.names if check.kind == "learnable_count" else ()
    needs_table = {check.to, *counted, *check.learns} | ({check.of} if check.kind == "table" else set())
    needs_output = {check.of, *check.needs, *(name for given in check.given for name in given)}
    for name in sorted(needs_table - tables - {""}):
        document.fault(place, f"`{name}` is not an output of kind table.")
    for name in sorted(needs_output - outputs - {""}):
        document.fault(place, f"`{name}` is not an output.")
    for name in sorted(set(check.inputs) - {one.name for one in exercise.inputs}):
        document.fault(place, f"`{name}` is not an input.")


def _check_params(document: Document, exercise: Exercise) -> None:
    """Each parameter is assigned in a line of its own in the starting code."""
    statements = [one for one in ast.parse(exercise.setup).body if isinstance(one, ast.Assign)]
    targets = {one.targets[0].id for one in statements if isinstance(one.targets[0], ast.Name)}
    for name in exercise.params:
        if name not in targets:
            document.fault(("params", name), f"The starting code has no line `{name} = …`.")
