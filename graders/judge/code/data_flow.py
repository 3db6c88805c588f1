"""
What each output of a solution is made from, as far as its text says so plainly.

Started from more of the student's outputs than a check asks for, a solution gives the same for an output that is not
made from the others. So one run can serve several checks. Only the plainest texts are believed: lines `name = …`, each
name made once, with nothing called but layers made above and functions that look at their arguments and nothing else.
Of any other text nothing is said, and it is run anew for each check.
"""

import ast
import itertools
from collections.abc import Mapping

from graders.code_cache import CodeCache
from graders.judge.code.constructs import dotted, imports
from graders.student.execution import assigned

_LAYERS = {"torch.nn.Embedding", "torch.nn.Linear"}  # with two sizes: they draw numbers, but how many is known ahead
_FUNCTIONS = {"torch.arange"}
_PLAIN = (ast.Name, ast.Constant, ast.Load, ast.operator)
_SIZES = 2


def made_from(solution: str, setup: str, code_cache: CodeCache) -> Mapping[str, frozenset[str]]:
    """
    By output: the names of the solution that it is made from, however far back. Empty where the text is not plain.

    Args:
        solution: the author's.
        setup: the starting code, whose imports say what `nn` stands for.
        code_cache: those that are read already.
    """
    found: dict[str, frozenset[str]] = code_cache.compiled(
        ("made from", solution, setup), lambda: _read(solution, setup)
    )
    return found


def _read(solution: str, setup: str) -> dict[str, frozenset[str]]:
    try:
        body, before = ast.parse(solution).body, ast.parse(setup)
    except SyntaxError:
        return {}
    reader = _Reader(imports(before))
    taken = frozenset().union(*map(assigned, before.body)) & reader.known.keys()
    plain = not taken and all(map(reader.take, body))
    return reader.made if plain else {}


def serves(made: Mapping[str, frozenset[str]], of: str, *, given: frozenset[str], wider: frozenset[str]) -> bool:
    """
    Does a start from `wider` give for an output what one from `given` gives, if it gives it at all?

    Not where a line before it takes from both: started from `given` alone, it may stop there.
    """
    more = wider - given
    if of not in made or of in wider or not given < wider or made[of] & more:
        return False
    before = itertools.takewhile(lambda name: name != of, made)
    return not any(made[name] & more and made[name] & given for name in before)


class _Reader:
    """Goes through a text statement by statement."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known
        self.made: dict[str, frozenset[str]] = {}
        self._layers: set[str] = set()

    def take(self, statement: ast.stmt) -> bool:
        """Note what a statement makes; False if it is not a plain one."""
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target, value = statement.targets[0], statement.value
        # a second name for the same thing would be changed along with it
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call | ast.BinOp):
            return False
        if target.id in self.made or target.id in self.known or not self._plain(value):
            return False
        names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        if isinstance(value, ast.Call) and dotted(value.func, self.known) in _LAYERS:
            if names & self.made.keys():
                return False  # its size, and so how many numbers are drawn, may follow from the student's
            self._layers.add(target.id)
        self.made[target.id] = frozenset(names).union(*(self.made.get(name, frozenset()) for name in names))
        return True

    def _plain(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp):
            return self._plain(node.left) and self._plain(node.right)
        if not isinstance(node, ast.Call):
            return isinstance(node, _PLAIN)
        name = dotted(node.func, self.known)
        layer = isinstance(node.func, ast.Name) and node.func.id in self._layers
        if node.keywords or not all(map(self._plain, node.args)):
            return False
        return layer or name in _FUNCTIONS or (name in _LAYERS and len(node.args) == _SIZES)
