"""What a schema cannot say: code parses, and names that stand for each other exist."""

import ast

from app.authoring.document import Document, SourceLocation
from app.authoring.exercise import CodeExercise
from app.authoring.judge_block import check_judge
from graders.task import Check


def check_consistency(document: Document, exercise: CodeExercise) -> None:
    """Note every fault at its place in the document."""
    _check_code(document, exercise)
    _check_ids(document, exercise)
    for number, spec in enumerate(exercise.checks):
        for leaf in spec.task_check().leaves:
            _check_names(document, ("checks", number), exercise, leaf)
    if not document.faults:
        _check_params(document, exercise)
        _check_inputs(document, exercise)
        check_judge(document, exercise)


def _check_code(document: Document, exercise: CodeExercise) -> None:
    """Every piece of Python must parse."""
    pieces: list[tuple[SourceLocation, str]] = [(("setup",), exercise.setup), (("solution",), exercise.solution)]
    pieces += [(("report",), exercise.report), (("probe",), exercise.probe), (("judge",), exercise.judge)]
    pieces += [(("equivalents", number, "code"), one.code) for number, one in enumerate(exercise.equivalents)]
    pieces += [(("wrong", number, "code"), one.code or "") for number, one in enumerate(exercise.wrong)]
    for location, code in pieces:
        _parse(document, location, code, mode="exec")
    expressions: list[tuple[SourceLocation, str]] = [(("require",), exercise.require)]
    expressions += [(("inputs", number, "valid"), one.valid) for number, one in enumerate(exercise.inputs)]
    expressions += [(("wrong", number, "when"), one.when) for number, one in enumerate(exercise.wrong)]
    for number, spec in enumerate(exercise.checks):
        for leaf in spec.task_check().leaves:
            expressions += [(("checks", number), one) for one in (leaf.expression, *leaf.accept)]
    for location, code in expressions:
        if code:
            _parse(document, location, code, mode="eval")


def _parse(document: Document, location: SourceLocation, code: str, *, mode: str) -> None:
    try:
        ast.parse(code, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        where = f" (its line {fault.lineno})" if isinstance(fault, SyntaxError) and fault.lineno else ""
        document.fault(location, f"This is not Python{where}: {fault}.")


def _check_ids(document: Document, exercise: CodeExercise) -> None:
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


def _check_names(document: Document, location: SourceLocation, exercise: CodeExercise, check: Check) -> None:
    """The names that a check speaks of are outputs and inputs of the exercise."""
    outputs = {one.name for one in exercise.outputs}
    tables = {one.name for one in exercise.outputs if one.kind == "table"}
    counted = check.names if check.kind == "learnable_count" else ()
    needs_table = {check.to, *counted, *check.learns} | ({check.of} if check.kind == "table" else set())
    needs_output = {check.of, *check.needs, *(name for given in check.given for name in given)}
    for name in sorted(needs_table - tables - {""}):
        document.fault(location, f"`{name}` is not an output of kind table.")
    for name in sorted(needs_output - outputs - {""}):
        document.fault(location, f"`{name}` is not an output.")
    for name in sorted(set(check.inputs) - {one.name for one in exercise.inputs}):
        document.fault(location, f"`{name}` is not an input.")


def _check_params(document: Document, exercise: CodeExercise) -> None:
    """Each parameter is assigned in a line of its own in the starting code."""
    statements = [one for one in ast.parse(exercise.setup).body if isinstance(one, ast.Assign)]
    targets = {one.targets[0].id for one in statements if isinstance(one.targets[0], ast.Name)}
    for name in exercise.params:
        if name not in targets:
            document.fault(("params", name), f"The starting code has no line `{name} = …`.")


_NO_TENSOR_CALLS = {"len", "int", "float", "str", "bool", "list", "tuple", "dict", "set", "sorted", "range", "round"}
_NO_TENSOR_METHODS = {"item", "tolist", "numel", "size", "join"}
_NO_TENSORS = (
    ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda,
    ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp,
)  # fmt: skip


def _check_inputs(document: Document, exercise: CodeExercise) -> None:
    """Each input is made by the starting code, and is a tensor as far as can be told without running it."""
    tree = ast.parse(exercise.setup)
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assigned = {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for number, one in enumerate(exercise.inputs):
        location: SourceLocation = ("inputs", number, "name")
        if one.name in exercise.params or (one.name in assigned and _is_no_tensor(assigned[one.name])):
            document.fault(
                location,
                f"`{one.name}` is no tensor, and inputs are tensors that outputs are computed from. "
                "Take it out; a number or list that varies stands under `params`.",
            )
        elif one.name not in made:
            document.fault(location, f"The starting code makes no `{one.name}`.")


def _is_no_tensor(value: ast.expr) -> bool:
    """Is a value plainly a number, a text, a list or the like?"""
    match value:
        case ast.UnaryOp(operand=operand):
            return _is_no_tensor(operand)
        case ast.BinOp(left=left, right=right):
            return _is_no_tensor(left) and _is_no_tensor(right)
        case ast.Call(func=ast.Name(id=name)):
            return name in _NO_TENSOR_CALLS
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _NO_TENSOR_METHODS
    return isinstance(value, _NO_TENSORS)
