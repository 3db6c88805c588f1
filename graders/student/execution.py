"""
Running the student's text and describing how it ended.

Names are bound here, at import, before any student's code: what it replaces in `builtins` or in a
module later does not matter to these functions.
"""

import ast
import builtins
import contextlib
import errno
import functools
import gc
import inspect
import linecache
import os
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from graders.student.endless_loop import Loop, Whereabouts, watched
from graders.student.failing_expression import parts_of, span_of, span_of_syntax
from graders.student.main_module import FILE
from graders.student.memory_reserve import MemoryReserve
from graders.student.streams import OutputStreams

_RESERVE = MemoryReserve()
_LINE_END = re.compile(r"\r\n|\r|\n")  # as Python counts lines; str.splitlines knows more ends than that
_MESSAGE_CHARS = 2000
_LINE_CHARS = 200
Fault = dict[str, object]
Exit = dict[str, object]  # line and text of the statement that ended the code early


@dataclass(frozen=True)
class ProgramResult:
    """How a program and the probe after it ended."""

    fault: Fault | None  # of the student's code
    probed: dict[str, Fault]  # by the name that a line of the probe was to make
    printed: str
    exited: Exit | None = None  # the `exit()` at which the student's code ended
    values: dict[str, object] | None = None  # what the outputs are taken from, if not the student's names
    calls: tuple[str, ...] = ()  # operations that ran, where they were asked for


class Program:
    """The student's text, compiled once, run on every trial."""

    def __init__(
        self,
        source: str,
        *,
        leaving: Callable[[int], None] = lambda _: None,
        looping: Callable[[Loop], None] = lambda _: None,
        time_s: float = 0,
    ) -> None:
        """
        Parse and compile; a text that does not parse is kept as its fault.

        Args:
            source: the text.
            leaving: told of the line that ends the whole process at once.
            looping: told of the loop that is under way when most of the time is used up.
            time_s: that the program may compute, or 0 if nobody asks.
        """
        self._looping, self._time_s = looping, time_s
        self._leaving = leaving
        self._code: types.CodeType | None = None
        self._fault: Fault | None = None
        self.streams = OutputStreams(shown_bytes=0)
        self.exited: Exit | None = None
        source = source.removeprefix("\ufeff")  # some editors begin a file with a byte-order mark
        self.source = source
        self._lines = _LINE_END.split(source)
        linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                self._code = self.compiled(source)
        except BaseException as fault:  # noqa: BLE001  SyntaxError, but also ValueError, RecursionError, MemoryError
            self._fault = self._unparsed(fault)

    def compiled(self, source: str) -> types.CodeType:
        """The program as it is run: as written. Raises whatever `compile` does."""
        return compile(source, FILE, "exec")

    def run(self, names: dict[str, object], *, shown_bytes: int = 0) -> Fault | None:
        """
        Execute in `names`; how it failed, or None. `SystemExit` ends a program, it is not a fault.

        Args:
            names: filled.
            shown_bytes: how much of what is printed can be seen by anybody; 0 prints nothing.
        """
        self.exited = None
        if self._code is None:
            return self._fault
        self.streams = OutputStreams(shown_bytes=shown_bytes)
        self.streams.install()
        _RESERVE.hold()
        seen = Whereabouts()
        try:
            with self.exits(), self._watched(shown_bytes) as seen:
                exec(self._code, names)  # noqa: S102  this is what the walls are for
        except SystemExit as end:
            _RESERVE.release()
            self._exit(end, sys.exc_info()[2])
        except BaseException as fault:  # noqa: BLE001  everything else a student can raise is told
            _RESERVE.release()
            return self._with_line(self.raised(fault, sys.exc_info()[2]), seen.line)
        _RESERVE.release()
        return None

    def printed(self) -> str:
        """The beginning of what the last run printed to stdout."""
        return self.streams.printed()

    @contextlib.contextmanager
    def exits(self) -> Iterator[None]:
        """While it holds, `os._exit` loses no words, and says which line called it unless another thread did."""
        exit_, main, streams, leaving = os._exit, threading.get_ident(), self.streams, self._leaving

        def leave(status: int) -> NoReturn:
            streams.flush()
            frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001  no other way to the caller's line
            while frame is not None and frame.f_code.co_filename != FILE:
                frame = frame.f_back
            if frame is not None and threading.get_ident() == main:
                leaving(frame.f_lineno)
            exit_(status)

        os._exit = leave
        try:
            yield
        finally:
            os._exit = exit_

    def _with_line(self, fault: Fault, seen: int | None) -> Fault:
        """Without memory for a traceback, the line that was seen last is the one that is told."""
        if fault["line"] is not None or not fault["memory"]:
            return fault
        return {**fault, "line": seen, "code": self._line(seen)}

    def _watched(self, shown_bytes: int) -> contextlib.AbstractContextManager[Whereabouts]:
        """On the lesson's data, of which anybody may see what is printed, an endless loop is found."""
        if not self._time_s or not shown_bytes:
            return contextlib.nullcontext(Whereabouts())
        return watched(self._time_s, lambda: self._tree, self._looping)

    def _unparsed(self, fault: BaseException) -> Fault:
        line = fault.lineno if isinstance(fault, SyntaxError) else None
        text = fault.msg if isinstance(fault, SyntaxError) else text_of(fault)
        description: Fault = {"line": line, "parsed": False, "targets": [], "code": self._line(line), "on_self": False}
        return {**_described(fault, text), **description, "span": span_of_syntax(fault), "parts": {}}

    def _exit(self, end: SystemExit, trace: types.TracebackType | None) -> None:
        """`exit()` is the end of the program; a text or a number other than 0 is still only a message."""
        if isinstance(end.code, str):
            with contextlib.suppress(Exception):
                sys.stderr.write(f"{end.code[:_MESSAGE_CHARS]}\n")
        line = next((number for _, number in _own_frames(trace)[::-1]), None)
        self.exited = {"line": line, "code": self._line(line)}

    def raised(self, fault: BaseException, trace: types.TracebackType | None) -> Fault:
        """An exception by its type, message and the student's own line that led to it."""
        own = _own_frames(trace)
        line = own[-1][1] if own else None
        operands: dict[str, torch.Tensor] = {}
        on_self = bool(own) and isinstance(fault, NameError) and _is_attribute_of_self(own[-1][0].tb_frame, fault)
        while trace is not None:
            operands = _operands(trace.tb_frame) or operands
            trace = trace.tb_next
        targets = self._targets(own[0][0] if own else None)
        description = {"line": line, "parsed": True, "targets": targets, "code": self._line(line), "on_self": on_self}
        return {**_described(fault, text_of(fault)), **description, **self._expression(own), "operands": operands}

    @functools.cached_property
    def _tree(self) -> ast.Module:
        """The text's tree; an empty one if Python, after a recursion that was too deep, cannot make it."""
        try:
            return ast.parse(self.source)
        except (SystemError, RecursionError, MemoryError):
            return ast.Module([], [])

    def _expression(self, own: list[tuple[types.TracebackType, int]]) -> Fault:
        """The span of the expression that failed, and what its names stood for."""
        if not own:
            return {"span": None, "parts": {}}
        span = span_of(own[-1][0])
        try:
            return {"span": span, "parts": parts_of(self._tree, span, own[-1][0].tb_frame)}
        except Exception:  # noqa: BLE001  whatever a student has made of types and tensors: the rest is told without it
            return {"span": span, "parts": {}}

    def _line(self, number: int | None) -> str:
        known = number is not None and 0 < number <= len(self._lines)
        return self._lines[number - 1].strip()[:_LINE_CHARS] if known and number else ""

    def _targets(self, trace: types.TracebackType | None) -> list[str]:
        """The names that the failing statement was about to make."""
        if trace is None:
            return []
        positions = list(trace.tb_frame.f_code.co_positions())
        line, _, column, _ = positions[trace.tb_lasti // 2] if trace.tb_lasti >= 0 else (None, None, None, None)
        return targets_at(self._tree, line or trace.tb_lineno, column)


def _own_frames(trace: types.TracebackType | None) -> list[tuple[types.TracebackType, int]]:
    """The frames of the student's own text on the way to an exception, from the outermost, each with its line."""
    found = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            found.append((trace, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _is_attribute_of_self(frame: types.FrameType, fault: NameError) -> bool:
    """Is what was looked for a thing that `self` holds?"""
    try:
        attributes = vars(frame.f_locals["self"])
        parts = [attributes, *(attributes.get(part) or {} for part in ("_parameters", "_buffers", "_modules"))]
        return any(fault.name in part for part in parts)
    except Exception:  # noqa: BLE001  no `self`, or a student's own idea of one
        return False


def assigned(statement: ast.AST) -> frozenset[str]:
    """The module's names that a statement, or one nested in it, stores into; what is local elsewhere does not count."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({statement.name})
    if isinstance(statement, _SCOPES):
        return frozenset()
    if isinstance(statement, ast.Name):
        return frozenset({statement.id}) if isinstance(statement.ctx, ast.Store) else frozenset()
    return frozenset().union(*(assigned(child) for child in ast.iter_child_nodes(statement)))


_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def targets_at(tree: ast.Module, line: int, column: int | None) -> list[str]:
    """
    The names assigned by the innermost statement at a source location; of `a, b = f(), g()` only the one concerned.

    Args:
        tree: the program.
        line: counted from 1.
        column: counted from 0, or None if unknown.
    """
    found: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or not _covers(node, line, column):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found = _names(list(targets))
        pair = targets[0]
        if isinstance(pair, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(pair.elts) == len(node.value.elts):
            inner = [
                target for target, value in zip(pair.elts, node.value.elts, strict=True) if _covers(value, line, column)
            ]
            found = _names(inner) or found
    return found


def _covers(node: ast.stmt | ast.expr, line: int, column: int | None) -> bool:
    last_line, last_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    if not node.lineno <= line <= last_line:
        return False
    if column is None:
        return True
    return (node.lineno, node.col_offset) <= (line, column) <= (last_line, last_column)


def _names(targets: list[ast.expr]) -> list[str]:
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _operands(frame: types.FrameType) -> dict[str, torch.Tensor]:
    """The tensors that a failing function of torch was given: for `F.embedding`, ids and table."""
    if not frame.f_code.co_filename.endswith("/torch/nn/functional.py"):
        return {}
    operands = {name: value for name, value in frame.f_locals.items() if type(value) in _TENSORS}
    return dict(list(operands.items())[:4])


_TENSORS = (torch.Tensor, torch.nn.Parameter)
_SIGNATURES = {name: inspect.signature(getattr(torch.autograd, name)) for name in ("backward", "grad")}


# As torch's allocator says it, and as C++ does where another part of torch asks for memory.
# The last is the first's beginning: all of it that there was memory for.
_NO_MEMORY = re.compile(r"can't allocate memory|std::bad_alloc|\[enforce fail a\Z")


def _described(fault: BaseException, text: str) -> Fault:
    kind = type(fault)
    name = str(kind.__name__)
    known = getattr(builtins, name, None) is kind
    refused = kind is OSError and getattr(fault, "errno", None) == errno.ENOMEM
    memory = kind is MemoryError or refused or (kind is RuntimeError and _NO_MEMORY.search(text) is not None)
    return {"type": name[:100], "builtin": known, "message": text, "memory": memory}


def text_of(fault: BaseException) -> str:
    """What an exception says; asking may itself raise, or return anything."""
    try:
        text = str(fault)
    except BaseException:  # noqa: BLE001  a student's __str__
        return "(its message cannot be read)"
    return str.__str__(text)[:_MESSAGE_CHARS]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Work in peace: no warning turned into an error, no tracing, gradients on."""
    sys.settrace(None)
    sys.setprofile(None)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def collecting() -> Iterator[None]:
    """While it holds, cycles of objects that nothing refers to are freed, as in any Python."""
    before = gc.isenabled()
    gc.enable()
    try:
        yield
    finally:
        if not before:
            gc.disable()


@contextlib.contextmanager
def graphs_kept(wanted: bool) -> Iterator[None]:  # noqa: FBT001
    """While it holds, `backward()` and `autograd.grad` keep the graph, so that it can be walked again."""
    if not wanted:
        yield
        return
    kept = {name: getattr(torch.autograd, name) for name in _SIGNATURES}
    for name, function in kept.items():
        setattr(torch.autograd, name, _keeping(function, _SIGNATURES[name]))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(torch.autograd, name, function)


def _keeping(function: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    @functools.wraps(function)
    def keeping(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        call = signature.bind(*given, **named)
        call.arguments["retain_graph"] = True
        return function(*call.args, **call.kwargs)

    return keeping
