"""
Disguises: what a program can do so that a wrong step does not show, put round any program.

Start values that hide a step (rows that are alike, a number that drowns all others), numbers too coarse to tell, a
gradient that raises or is changed on its way. A wrong variant stays wrong under each of them, and what only changes
what a table starts with leaves a right solution right: `kelolo check` tries both.
"""

import ast
from dataclasses import dataclass

from app.authoring.exercise import CodeExercise

_STARTS = {
    "a column of 1e5": "__t.data[..., 0] = 1e5",
    "rows nearly alike": "__t.data.copy_(__t.data[:1].clone().expand_as(__t)); __t.data[..., -1].add_(1e-7)",
    "rows of zeros": "__t.data.zero_()",
    "rows of ones": "__t.data.fill_(1.0)",
    "tiny numbers": "__t.data.mul_(1e-7)",
    "huge numbers": "__t.data.mul_(1e7)",
}
_STEPS = {
    "bfloat16": "{0} = {0}.bfloat16()",
    "float16": "{0} = {0}.half()",
    "float64": "{0} = {0}.double()",
    "a gradient that raises": "{0} = __Raising.apply({0})",
    "a gradient doubled on its way": "{0}.register_hook(lambda g: g * 2) if {0}.requires_grad else None",
}
_RAISING = """
class __Raising(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value): return value.clone()
    @staticmethod
    def backward(ctx, gradient): raise ValueError('no')
"""


@dataclass(frozen=True)
class Disguise:
    """One way to hide what a program does."""

    name: str

    @property
    def is_start(self) -> bool:
        """Does it only change what tables start with?"""
        return self.name in _STARTS

    def on(self, exercise: CodeExercise, source: str) -> str:
        """
        A program in this disguise.

        Args:
            exercise: says which names are tables and which are steps.
            source: a whole program.

        Returns:
            The program; unchanged where there is nothing that the disguise could be put on.
        """
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return source
        task = exercise.task(1)
        tables = set(task.free_tables)
        steps = {one.name for one in exercise.outputs if one.kind == "tensor" and one.dtype == "floating"}
        body = [line for statement in tree.body for line in self._with(statement, tables=tables, steps=steps)]
        head = ast.parse(_RAISING).body if self.name == "a gradient that raises" else []
        done = ast.Module([*head, *body], [])
        return source if len(body) == len(tree.body) else ast.unparse(ast.fix_missing_locations(done))

    def _with(self, statement: ast.stmt, *, tables: set[str], steps: set[str]) -> list[ast.stmt]:
        lines: list[str] = []
        if isinstance(statement, ast.ClassDef) and self.is_start:
            lines = _on_class(statement.name, _STARTS[self.name])
        made = [
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        for name in dict.fromkeys(made) if isinstance(statement, ast.Assign) else []:
            if self.is_start and name in tables:
                lines += [f"__t = getattr({name}, 'weight', {name})", _STARTS[self.name]]
            if not self.is_start and name in steps:
                lines.append(
                    f"if torch.is_tensor({name}) and {name}.is_floating_point(): " + _STEPS[self.name].format(name)
                )
        return [statement, *(one for line in lines for one in ast.parse(line).body)]


def _on_class(name: str, start: str) -> list[str]:
    """Every object of a student's class starts so, where it holds tables at all."""
    action = f"[exec({start!r}, {{'__t': __p}}) for __p in self.parameters() if __p.dim() > 1]"
    after = f"lambda self, *given, __init=__init, **named: (__init(self, *given, **named), {action})[0]"
    return [
        f"__init = {name}.__init__",
        f"{name}.__init__ = {after} if issubclass({name}, torch.nn.Module) else __init",
    ]


DISGUISES = tuple(Disguise(name) for name in (*_STARTS, *_STEPS))
