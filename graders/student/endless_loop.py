"""
Which line a program is at, looked at now and then by the process's own clock, and which loop when most time is gone.

Where memory is used up so far that Python cannot even make a traceback, the line that was seen last is the only one.
"""

import _signal  # type: ignore[import-not-found]  # without the enumerations of `signal`, looked up in Python
import ast
import contextlib
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graders.protocol.observation_schema import MAX_LOOP_NAMES, MAX_NAME_CHARS
from graders.student.main_module import FILE

_SHARE = 0.75  # of the computing time that a step may take
_EVERY_S = 0.05  # of computing; a program that takes less is never looked at
_PLAIN = (int, float, bool, str)
_LEAVES = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Loop = dict[str, object]  # as `observation_schema.check_loop` wants it


@dataclass
class Whereabouts:
    """Where a program was seen last."""

    line: int | None = None


@contextlib.contextmanager
def watched(time_s: float, tree: Callable[[], ast.Module], tell: Callable[[Loop], None]) -> Iterator[Whereabouts]:
    """
    While it holds, `tell` is called once, with the loop that is under way, when most of the time is used up.

    Args:
        time_s: of computing, that the program may take.
        tree: gives the program's tree.
        tell: called from between two instructions of the program.
    """
    seen = Whereabouts()
    until_s = time.process_time() + time_s * _SHARE
    is_told = False

    def look(_: int, frame: types.FrameType | None) -> None:
        nonlocal is_told
        with contextlib.suppress(Exception):
            seen.line = _own_line(frame) or seen.line
            if not is_told and time.process_time() >= until_s:
                is_told = True
                if (found := loop_at(tree(), frame)) is not None:
                    tell(found)

    try:
        before = _signal.signal(_signal.SIGPROF, look)
    except ValueError:  # not the main thread
        yield seen
        return
    _signal.setitimer(_signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    try:
        yield seen
    finally:
        _signal.setitimer(_signal.ITIMER_PROF, 0)
        _signal.signal(_signal.SIGPROF, before or _signal.SIG_DFL)


def _own_line(frame: types.FrameType | None) -> int | None:
    """The line of the student's text that is under way."""
    while frame is not None and frame.f_code.co_filename != FILE:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


def loop_at(tree: ast.Module, frame: types.FrameType | None) -> Loop | None:
    """The innermost loop of the student's text that a frame, or one that called it, is in; None if there is none."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While | ast.For)]
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            line = frame.f_lineno
            around = [one for one in loops if one.lineno <= line <= (one.end_lineno or one.lineno)]
            if around:
                return _described(tree, max(around, key=lambda one: one.lineno), frame)
        frame = frame.f_back
    return None


def _described(tree: ast.Module, loop: ast.While | ast.For, frame: types.FrameType) -> Loop:
    told: Loop = {"line": loop.lineno, "word": "for", "unchanged": [], "no_way_out": False}
    if not isinstance(loop, ast.While):
        return told
    told["word"] = "while"
    inside = [node for statement in loop.body for node in _own_nodes(statement)]
    if any(isinstance(node, _LEAVES) for node in inside):
        return told
    if isinstance(loop.test, ast.Constant):
        return {**told, "no_way_out": True}
    asked = [node for node in ast.walk(loop.test) if not isinstance(node, ast.expr_context)]
    simple = (ast.Name, ast.Compare, ast.Constant, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.operator, ast.cmpop)
    if not all(isinstance(node, (*simple, ast.boolop, ast.unaryop)) for node in asked):
        return told
    names = {node.id for node in asked if isinstance(node, ast.Name)}
    stored = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    elsewhere = {name for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    values = {**frame.f_globals, **frame.f_locals}
    if names & (stored | elsewhere) or not all(type(values.get(name)) in _PLAIN for name in names):
        return told
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {**told, "unchanged": [name[:MAX_NAME_CHARS] for name in sorted(names & own or names)[:MAX_LOOP_NAMES]]}


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's nodes, without those of functions that are defined in it."""
    yield node
    for child in ast.iter_child_nodes(node) if not isinstance(node, _SCOPES) else ():
        yield from _own_nodes(child)
