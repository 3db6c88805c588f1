"""
The starting code of one trial: the author's text, with other values for its parameters and other seeds.

`block_size = 8` in the text becomes `block_size = 5` in a fresh trial, and `torch.manual_seed(0)` seeds with another
number: with the same one, "other data" would be the lesson's data cut to another size. Whatever a call that seeds is
given goes through one function of the trial, so equal seeds stay equal and different ones differ. Runs in the student's
and in the judge's process alike, and comes to the same in both.

`require` says which fresh data will do. Parts of it that speak of parameters alone are asked before the starting code
is run, so that even a rare case is found at little cost; the whole is asked after it. Data for which it does not hold
are never used: where none are found, it is the exercise's fault, and nobody is graded.
"""

import ast
import builtins
from collections.abc import Iterable
from random import Random
from types import CodeType

from graders.code_cache import CodeCache
from graders.faults import GraderFault
from graders.trials import Draw

MAX_RUNS = 1000
"""Of the starting code for one trial: the last hope of data that are accepted once in a hundred times."""
_FILE, _REQUIRE_FILE = "<starting code>", "<require>"
_VALUES, _SEED = "__values__", "__seed__"
_SEEDING = {"manual_seed", "manual_seed_all", "seed", "default_rng", "RandomState", "Random", "SeedSequence", "PCG64"}
_SEED_BITS = 31  # as many as every generator takes
_MAX_QUOTED_CHARS = 300
Values = dict[str, object]


class SetupFault(GraderFault):
    """The starting code or `require` cannot be run on some of the data that the exercise draws."""


class Setup:
    """The starting code, compiled once as written and once open for other values and seeds."""

    def __init__(self, text: str, require: str, code_cache: CodeCache | None = None) -> None:
        """
        Compile, as far as it is not known.

        Args:
            text: the author's starting code.
            require: an expression over its names that a fresh trial must fulfil, or empty.
            code_cache: those that are compiled already.
        """
        self._text, self._code_cache = text, code_cache or CodeCache()
        self._require_text = require
        self._as_written: CodeType = self._code_cache.compiled(("setup", text), lambda: compile(text, _FILE, "exec"))
        self._require: CodeType | None = None
        self._early: list[tuple[list[str], CodeType]] = []  # the names that a part speaks of, and the part
        if require:
            self._require = self._code_cache.compiled(
                ("require", require), lambda: compile(require.strip(), _REQUIRE_FILE, "eval")
            )
            self._early = self._code_cache.compiled(("early", require), lambda: _parts(require))

    def open(self, changed: frozenset[str]) -> CodeType:
        """The code in which these parameters and all seeds can be given other values."""
        key = ("open", self._text, tuple(sorted(changed)))
        code: CodeType = self._code_cache.compiled(key, lambda: compile(opened(self._text, changed), _FILE, "exec"))
        return code

    def run(self, candidates: Iterable[Values], names: Values) -> Values:
        """
        Run the starting code in `names`.

        Args:
            candidates: parameter values to try in turn; the first for which `require` holds is taken.
                What was not drawn, such as the lesson's, is taken as it is.
            names: an empty namespace (but for builtins); filled.

        Returns:
            The values that were taken.

        Raises:
            SetupFault: the starting code raises, or none of the candidates fulfils `require`.
        """
        empty, runs, tried = dict(names), 0, 0
        for values in candidates:
            tried += 1
            is_drawn = isinstance(values, Draw) and not values.is_lesson
            if is_drawn and not self.may_do(values):
                continue
            names.clear()
            names.update(empty)
            self.run_once(values, names)
            if not is_drawn or self.accepts(values, names):
                return values
            runs += 1
            if runs == MAX_RUNS:
                break
        asked = self._require_text.strip()[:_MAX_QUOTED_CHARS]
        raise SetupFault(f"`require: {asked}` does not hold for any of {tried} draws")

    def run_once(self, values: Values, names: Values) -> None:
        """Run with these values, whatever `require` says. Raises SetupFault: the starting code raises."""
        try:
            self._run(values, names)
        except Exception as fault:  # whatever an author's code raises
            raise SetupFault(f"the starting code {raised(fault, _FILE)}{drawn_values(values)}") from fault

    def accepts(self, values: Values, names: Values) -> bool:
        """Does `require` hold for what the starting code made? Raises SetupFault: it cannot be asked."""
        if self._require is None:
            return True
        try:
            return bool(eval(self._require, dict(names)))  # noqa: S307
        except Exception as fault:
            raise SetupFault(f"`require` {raised(fault, _REQUIRE_FILE)}{drawn_values(values)}") from fault

    def may_do(self, values: Values) -> bool:
        """Do the parts of `require` hold that can be asked before the starting code has run?"""
        for needed, part in self._early:
            if needed and all(name in values for name in needed):
                try:
                    if not eval(part, dict(values)):  # noqa: S307
                        return False
                except Exception:  # noqa: BLE001  it is asked again, and told, after the starting code
                    return True
        return True

    def _run(self, values: Values, names: Values) -> None:
        seeds = values.seeds if isinstance(values, Draw) else None
        if seeds is None and not values:
            exec(self._as_written, names)  # noqa: S102
            return
        code = self.open(frozenset(values))
        names[_VALUES] = dict(values)
        names[_SEED] = _Seeds(seeds)
        try:
            exec(code, names)  # noqa: S102
        finally:
            del names[_VALUES]
            if not _is_used_inside(code):
                del names[_SEED]


class _Seeds:
    """From the seeds of the text to a trial's own."""

    def __init__(self, seeds: str | None) -> None:
        self._seeds = seeds

    def __call__(self, seed: object) -> object:
        """The seed to use instead; what is no constant number or text stays as it is."""
        if self._seeds is None or type(seed) not in (int, float, str, bytes):
            return seed
        return Random(f"{self._seeds}:{seed!r}").getrandbits(_SEED_BITS)  # noqa: S311  no secret


def opened(text: str, names: frozenset[str]) -> ast.Module:
    """
    The starting code, parsed, open for other values.

    The right-hand side of each `name = …` in `names` is looked up instead, and what is given to a call that seeds goes
    through the trial's own function.
    """
    tree = ast.parse(text)
    for statement in tree.body:
        name = assigned_name(statement)
        if isinstance(statement, ast.Assign) and name in names:
            looked_up = ast.Subscript(ast.Name(_VALUES, ast.Load()), ast.Constant(name), ast.Load())
            statement.value = ast.fix_missing_locations(ast.copy_location(looked_up, statement.value))
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        if _name(call.func) in _SEEDING:
            _vary(call)
    return tree


def _vary(call: ast.Call) -> None:
    """Let the seed that a call is given be the trial's: its first argument, or the one called so."""
    if call.args and not isinstance(call.args[0], ast.Starred):
        call.args[0] = _varied(call.args[0])
    for keyword in call.keywords:
        if keyword.arg in ("seed", "x", "a", "entropy"):
            keyword.value = _varied(keyword.value)


def _varied(seed: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(_SEED, ast.Load()), [seed], [])
    return ast.fix_missing_locations(ast.copy_location(call, seed))


def _name(function: ast.expr) -> str:
    """The last part of a function's name."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_used_inside(code: CodeType) -> bool:
    """Does a function of the starting code seed, which may be called later?"""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return any(_SEED in one.co_names or _is_used_inside(one) for one in inner)


def _parts(require: str) -> list[tuple[list[str], CodeType]]:
    """What is joined by `and`, each part with the names that it speaks of."""
    body = ast.parse(require.strip(), _REQUIRE_FILE, "eval").body
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    found = []
    for part in parts:
        spoken_of = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)} - vars(builtins).keys()
        found.append((sorted(spoken_of), compile(ast.Expression(part), _REQUIRE_FILE, "eval")))
    return found


def raised(fault: BaseException, file: str) -> str:
    """What an author's text did, with the line of it that did so."""
    lines, trace = [], fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    where = f" on its line {lines[-1]}" if lines and file != _REQUIRE_FILE else ""
    return f"raises {type(fault).__name__}{where}: {str(fault)[:_MAX_QUOTED_CHARS]}"


def drawn_values(values: Values) -> str:
    """The values of a draw in words; nothing where they are the text's own."""
    if not values:
        return ""
    each = (f"{name} = {value!r:.60}" for name, value in values.items())
    return f" (drawn: {', '.join(each)})"


def assigned_name(statement: ast.stmt) -> str | None:
    """The name in `name = …`, if the statement is one."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None
