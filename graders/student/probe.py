"""
The author's lines that run after the student's code, and what they see of it.

The lines have names of their own. What the student's code has made can be read from them and not overwritten, and the
student's functions keep their own names: they never see what the probe has made, so nothing that is forgotten there can
come from here, and a helper of the student's never stands in the way of the author's. A name is looked up

    1. among those that the probe has made;
    2. among Python's own and the functions, classes and modules of the starting code, unless the exercise is to make
       them anew: `sum = 0` in an answer does not take `sum` away from the author;
    3. among the student's, unless it is the probe that makes it: a line that was not reached is not made up for by a
       variable that happens to have that name.

The lines run wherever what they need is there: after an exception in the student's code as well, or after an early
`exit()`. Each is on its own, so that one that fails or never ends does not hide the others, and has a share of the time
of its own: a third of the limit, and after each line that was over it half of the share before, so that all together
come to their end before the limit that is kept from outside. The alarm is this process's own: a student's code can
switch it off, or hang in C where no alarm is heard, and then the limit from outside ends the run.
"""

import ast
import builtins
import contextlib
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from graders.code_cache import CodeCache
from graders.student.execution import Fault, Program, ProgramResult, assigned

_PROBE = "<probe>"
_SHARE = 1 / 3
_WALL_TIMES = 2.2  # so much longer may a line take by the clock: it may sleep, and a machine may be busy
_AGAIN_S = 0.05
FREED = "backward through the graph a second time"
Names = dict[str, object]
_SETUPS = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class ProbeTimeLimit(BaseException):
    """A line of the probe has had its share of the time."""


class ProbeNames(Names):
    """The probe's own names; what is not among them is looked up as the module's docstring says."""

    def __init__(self, student: Names, *, first: Names, hidden: frozenset[str], redefined: frozenset[str]) -> None:
        """
        Nothing is made yet.

        Args:
            student: the student's names.
            first: what stands before the student's names.
            hidden: names that are the probe's alone.
            redefined: names that the exercise is to make anew.
        """
        super().__init__(first)
        self._student, self._hidden, self._redefined = student, hidden, redefined

    def __missing__(self, name: str) -> Any:  # noqa: ANN401  a student's value
        """The student's value. Raises KeyError, at which Python looks among its own."""
        if name in self._hidden or (name in _BUILTIN_NAMES and name not in self._redefined):
            raise KeyError(name)
        return self._student[name]

    def seen(self) -> Names:
        """The student's names and, before them, the probe's."""
        return {**self._student, **self}


_BUILTIN_NAMES = frozenset(vars(builtins))


class Probe:
    """The lines, compiled; they see `raised(call)`, the name of the exception that a call raises, or an empty text."""

    adopted: frozenset[str] = frozenset()

    def __init__(self, source: str, code_cache: CodeCache | None = None) -> None:
        """Compile, unless `code_cache` has it. Raises SyntaxError: the author's fault."""
        key = ("probe", source, tuple(sorted(self.adopted)))
        steps = (code_cache or CodeCache()).compiled(key, lambda: self._compiled(source)) if source else []
        self._steps: list[tuple[list[str], list[str], types.CodeType]] = steps
        self.targets = frozenset(name for targets, _, _ in steps for name in targets)
        self._hidden = frozenset(name for _, alone, _ in steps for name in alone)

    def __bool__(self) -> bool:
        """Is there anything to run?"""
        return bool(self._steps)

    def _compiled(self, source: str) -> list[tuple[list[str], list[str], types.CodeType]]:
        """Of each line: the names it makes, those of them that nobody else has made before, and the code."""
        lines, steps = self.prepared(ast.parse(source, _PROBE)).body, []
        read, known = frozenset[str](), frozenset[str]()
        for line in lines:
            made = assigned(line)
            read |= _read(line)
            code = compile(ast.Module([line], []), _PROBE, "exec")
            steps.append((sorted(made), sorted(made - known - read), code))
            known |= made
        return steps

    def prepared(self, tree: ast.Module) -> ast.Module:
        """The lines as they are run: as written."""
        return tree

    def before(self, setup: Names, redefined: frozenset[str]) -> Callable[[Names], ProbeNames]:
        """Right after the starting code: what of it the lines will see, whatever the student's code does to it."""
        first = {
            name: value for name, value in setup.items() if isinstance(value, _SETUPS) and name not in redefined
        } | {"__builtins__": builtins, "__name__": _PROBE, "raised": _raised_name}
        hidden = self._hidden
        return lambda student: ProbeNames(student, first=first, hidden=hidden, redefined=redefined)

    def run(self, names: ProbeNames, program: Program, *, time_s: float | None) -> dict[str, Fault]:
        """
        Run the lines.

        Args:
            names: the probe's own; filled.
            program: the student's, which tells of exceptions.
            time_s: of which each line has its share, or None.

        Returns:
            The faults by the names that were to be made.
        """
        faults: dict[str, Fault] = {}
        with _Alarm(time_s) as alarm:
            for targets, _, code in self._steps:
                try:
                    with alarm.armed(), program.exits():
                        exec(code, names)  # noqa: S102
                except BaseException as fault:  # noqa: BLE001  whatever a student's class raises
                    description = program.raised(fault, sys.exc_info()[2])
                    faults |= {target: {**description, "targets": targets} for target in targets}
        return faults


def _read(node: ast.AST) -> frozenset[str]:
    """The names that are looked up when a statement runs; what functions in it look up when they are called is not."""
    if isinstance(node, _SCOPES):
        return frozenset()
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()
    return frozenset(own).union(*(_read(child) for child in ast.iter_child_nodes(node)))


def _raised_name(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as fault:  # noqa: BLE001  which one is the question
        return type(fault).__name__
    return ""


class _Alarm:
    """Raises `ProbeTimeLimit` in a line that is over its share of computing, or long over it by the clock."""

    def __init__(self, time_s: float | None) -> None:
        self._share_s = (time_s or 0) * _SHARE
        self._before: Any = None
        self._armed = False
        self._begun_s = self._begun_cpu_s = 0.0

    def __enter__(self) -> Self:
        if self._share_s:
            try:
                self._before = signal.signal(signal.SIGALRM, self._interrupt)
            except ValueError:  # not the main thread
                self._share_s = 0
        return self

    def __exit__(self, *_: object) -> None:
        if self._share_s:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        """For one line."""
        if not self._share_s:
            yield
            return
        self._begun_s, self._begun_cpu_s = time.monotonic(), time.process_time()
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, self._share_s, _AGAIN_S)
        try:
            yield
        except ProbeTimeLimit:
            self._share_s /= 2
            raise
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _interrupt(self, *_: object) -> None:
        took_s, took_cpu_s = time.monotonic() - self._begun_s, time.process_time() - self._begun_cpu_s
        if self._armed and (took_cpu_s >= self._share_s * 0.9 or took_s >= self._share_s * _WALL_TIMES):
            raise ProbeTimeLimit


def run(
    program: Program,
    probe: Probe,
    names: Names,
    *,
    redefined: frozenset[str] = frozenset(),
    time_s: float | None = None,
    shown_bytes: int = 0,
    probing: Callable[[], None] | None = None,
) -> ProgramResult:
    """
    Run the student's code in `names`, and then the author's probe in names of its own.

    Args:
        program: the student's.
        probe: the author's.
        names: as the starting code has left them.
        redefined: names of Python's or the starting code's that the exercise is to make anew.
        time_s: the limit, of which each line of the probe has its share.
        shown_bytes: how much of what is printed can be seen by anybody.
        probing: called between the two.
    """
    seen = probe.before(names, redefined) if probe else None
    fault = program.run(names, shown_bytes=shown_bytes)
    printed, exited = program.printed(), program.exited
    if seen is None or (fault is not None and not fault["parsed"]):
        return ProgramResult(fault, {}, printed, exited, names)
    if probing is not None:
        probing()
    own = seen(names)
    probed = probe.run(own, program, time_s=time_s)
    return ProgramResult(fault, probed, printed, exited, _looked_at(names, own, probe.targets))


def _looked_at(student: Mapping[str, object], own: Names, targets: frozenset[str]) -> Names:
    """What the probe makes is its own or nobody's; all else is the student's."""
    made = {name: own[name] for name in targets if name in own}
    return {name: value for name, value in student.items() if name not in targets} | made


def graph_was_freed(ended: ProgramResult) -> bool:
    """Did a line of the probe fail only because the student's code had walked the graph already?"""
    return any(one["line"] is None and FREED in str(one["message"]) for one in ended.probed.values())
