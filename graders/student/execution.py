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
import io
import linecache
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from graders.texts import Texts

FILE = "your code"  # stands in tracebacks that a student prints
_LINE_END = re.compile(r"\r\n|\r|\n")  # as Python counts lines; str.splitlines knows more ends than that
_MESSAGE_CHARS = 2000
_LINE_CHARS = 200
_PRINTED_BYTES = 8192
_PROBE = "<probe>"
Fault = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a program and the probe after it ended."""

    fault: Fault | None  # of the student's code
    probed: dict[str, Fault]  # by the name that a line of the probe was to make
    printed: str


def run(program: "Program", probe: "Probe", names: dict[str, Any]) -> Ended:
    """Run the student's code in `names`, and then, if it came to its end, the author's probe."""
    fault = program.run(names)
    printed = program.printed()
    return Ended(fault, probe.run(names, program) if fault is None else {}, printed)


class Program:
    """The student's text, compiled once, run on every trial."""

    def __init__(self, source: str) -> None:
        """Parse and compile; a text that does not parse is kept as its fault."""
        self._code: types.CodeType | None = None
        self._fault: Fault | None = None
        self._out = _Tee(1)
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

    def run(self, names: dict[str, Any]) -> Fault | None:
        """Execute in `names`; how it failed, or None. `SystemExit` ends a program, it is not a fault."""
        if self._code is None:
            return self._fault
        self._out = _Tee(1)
        sys.stdout, sys.stderr = _writer(self._out), _writer(_Tee(2))
        try:
            exec(self._code, names)  # noqa: S102  this is what the walls are for
        except SystemExit as end:
            return self._exit(end)
        except BaseException as fault:  # noqa: BLE001  everything else a student can raise is told
            return self.raised(fault, sys.exc_info()[2])
        return None

    def printed(self) -> str:
        """The beginning of what the last run printed to stdout."""
        return bytes(self._out.kept).decode("utf-8", "replace")

    def _unparsed(self, fault: BaseException) -> Fault:
        line = fault.lineno if isinstance(fault, SyntaxError) else None
        text = fault.msg if isinstance(fault, SyntaxError) else text_of(fault)
        return {**_described(fault, text), "line": line, "parsed": False, "targets": [], "code": self._line(line)}

    def _exit(self, end: SystemExit) -> Fault | None:
        """`exit()` is the end of the program; a text or a number other than 0 is still only a message."""
        if isinstance(end.code, str):
            with contextlib.suppress(Exception):
                sys.stderr.write(f"{end.code[:_MESSAGE_CHARS]}\n")
        return None

    def raised(self, fault: BaseException, trace: types.TracebackType | None) -> Fault:
        """An exception by its type, message and the student's own line that led to it."""
        module_frame: types.TracebackType | None = None
        line: int | None = None
        operands: dict[str, torch.Tensor] = {}
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILE:
                module_frame = module_frame or trace
                line = trace.tb_lineno
            operands = _operands(trace.tb_frame) or operands
            trace = trace.tb_next
        told = {"line": line, "parsed": True, "targets": self._targets(module_frame), "code": self._line(line)}
        return {**_described(fault, text_of(fault)), **told, "operands": operands}

    def _line(self, number: int | None) -> str:
        known = number is not None and 0 < number <= len(self._lines)
        return self._lines[number - 1].strip()[:_LINE_CHARS] if known and number else ""

    def _targets(self, trace: types.TracebackType | None) -> list[str]:
        """The names that the failing statement was about to make."""
        if trace is None:
            return []
        positions = list(trace.tb_frame.f_code.co_positions())
        line, _, column, _ = positions[trace.tb_lasti // 2] if trace.tb_lasti >= 0 else (None, None, None, None)
        return targets_at(ast.parse(self.source), line or trace.tb_lineno, column)


class Probe:
    """
    The author's lines that run after the student's: each on its own, so that one that fails does not hide the others.

    They see `raised(call)`, which gives the name of the exception that a call raises, or an empty text.
    """

    adopted: frozenset[str] = frozenset()

    def __init__(self, source: str, texts: Texts | None = None) -> None:
        """Compile, unless `texts` has it. Raises SyntaxError: the author's fault."""
        key = ("probe", source, tuple(sorted(self.adopted)))
        steps = (texts or Texts()).compiled(key, lambda: self._compiled(source)) if source else []
        self._steps: list[tuple[list[str], types.CodeType]] = steps

    def _compiled(self, source: str) -> list[tuple[list[str], types.CodeType]]:
        lines = self.prepared(ast.parse(source, _PROBE)).body
        return [(sorted(assigned(one)), compile(ast.Module([one], []), _PROBE, "exec")) for one in lines]

    def prepared(self, tree: ast.Module) -> ast.Module:
        """The lines as they are run: as written."""
        return tree

    def run(self, names: dict[str, Any], program: Program) -> dict[str, Fault]:
        """Run in `names`; the faults by the names that were to be made."""
        if not self._steps:
            return {}
        names["raised"] = _raised_name
        faults: dict[str, Fault] = {}
        for targets, code in self._steps:
            try:
                exec(code, names)  # noqa: S102
            except BaseException as fault:  # noqa: BLE001  whatever a student's class raises
                told = program.raised(fault, sys.exc_info()[2])
                faults |= {target: {**told, "targets": targets} for target in targets}
        return faults


def _raised_name(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as fault:  # noqa: BLE001  which one is the question
        return type(fault).__name__
    return ""


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
    The names assigned by the innermost statement at a place; of `a, b = f(), g()` only the one concerned.

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
    held = {name: value for name, value in frame.f_locals.items() if type(value) in _TENSORS}
    return dict(list(held.items())[:4])


_TENSORS = (torch.Tensor, torch.nn.Parameter)
_SIGNATURES = {name: inspect.signature(getattr(torch.autograd, name)) for name in ("backward", "grad")}


def _described(fault: BaseException, text: str) -> Fault:
    kind = type(fault)
    name = str(kind.__name__)
    known = getattr(builtins, name, None) is kind
    refused = kind is OSError and getattr(fault, "errno", None) == errno.ENOMEM
    memory = kind is MemoryError or refused or (kind is RuntimeError and "can't allocate memory" in text)
    return {"type": name[:100], "builtin": known, "message": text, "memory": memory}


def text_of(fault: BaseException) -> str:
    """What an exception says; asking may itself raise, or return anything."""
    try:
        text = str(fault)
    except BaseException:  # noqa: BLE001  a student's __str__
        return "(its message cannot be read)"
    return str.__str__(text)[:_MESSAGE_CHARS]


class _Tee(io.RawIOBase):
    """Writes to a descriptor and keeps the beginning."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self.kept = bytearray()
        self.name = f"<output {descriptor}>"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, part: Any) -> int:  # noqa: ANN401  any buffer
        written = os.write(self._descriptor, part)
        self.kept += bytes(part[: min(written, max(0, _PRINTED_BYTES - len(self.kept)))])
        return written


def _writer(tee: _Tee) -> io.TextIOWrapper:
    return io.TextIOWrapper(tee, encoding="utf-8", errors="backslashreplace", write_through=True)


def flush() -> None:
    """Get the last words out; the student may have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()


def silence() -> None:
    """From now on what is printed goes nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)


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
