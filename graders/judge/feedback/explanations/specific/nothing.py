"""None that arrives inside a larger expression, and calls that lead back to themselves."""

import ast
import re

from graders.judge.feedback.explanations.attributes import none_from
from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, quoted, walk
from graders.judge.feedback.explanations.source import Function, arguments
from graders.student.failing_expression import dotted_name

_ALSO_FORWARD = ("forward", "__call__")
_ASKED_BY = {
    "__getattr__": ("getattr",), "__getattribute__": ("getattr",), "__setattr__": ("setattr",), "__len__": ("len",),
    "__repr__": ("repr", "str", "print"), "__str__": ("str", "print"),
}  # fmt: skip


def _argument(scene: Scene, match: re.Match[str]) -> str | None:
    """`sorted([1].extend([2]))`: a call was given None."""
    if not isinstance(scene.node, ast.Call):
        return None
    for one in arguments(scene.node):
        part = scene.part(one)
        # What `grad` holds is not handed over; where the message speaks of None, it is what is None.
        is_grad = isinstance(one, ast.Attribute) and one.attr == "grad"
        is_none = part.type == "NoneType" if part is not None else is_grad
        why = none_from(scene, one) if is_none or (part is None and isinstance(one, ast.Call)) else ""
        if is_none or why:
            grad = " No gradient has arrived there: `backward()` fills it." if is_grad else ""
            return (
                f"{scene.called} on line {scene.line} works on what it is given, and {quoted(one)} is None.{why}{grad} "
                f"Which line should have given it a value?"
            )
    return None


def _loop(scene: Scene, match: re.Match[str]) -> str | None:
    """`for a in b.sort():`."""
    node = scene.node.iter if isinstance(scene.node, ast.For) else scene.node
    if isinstance(scene.node, ast.Call) and (found := _argument(scene, match)):
        return found
    why = none_from(scene, node) if isinstance(node, ast.expr) else ""
    if not why:
        return None
    return (
        f"{quoted(node)} on line {scene.line} is None, and there is nothing in it to go through.{why} Which "
        f"name holds the values themselves?"
        if node
        else None
    )


def _recursion(scene: Scene, _: re.Match[str]) -> str | None:
    """A function of the student's that calls itself, with the line of that call."""
    function = scene.function
    if function is None or (call := _own_call(scene, function)) is None:
        return None
    cases = [one for one in walk(function) if isinstance(one, ast.If | ast.IfExp | ast.While | ast.For | ast.Try)]
    stops = "a case that stops it is there, but is never come to" if cases else "nothing in it stops that"
    runs = (
        f", which runs `{function.name}` again"
        if function.name in _ALSO_FORWARD or not isinstance(call, ast.Call)
        else ""
    )
    return (
        f"`{function.name}` (line {function.lineno}) calls itself: {quoted(call)} on line {call.lineno}{runs}. It goes "
        f"on without end (recursion) until Python gives up; {stops}. What did you want to be called or looked up "
        f"there, or what should change from one call to the next?"
    )


def _own_call(scene: Scene, function: Function) -> ast.expr | None:
    """Where a function calls itself: by its name, on `self`, as the layer it belongs to, or as a property."""
    owner = next((one for one in scene.classes() if function in one.body), None)
    if owner is None:
        names = {function.name}
    else:
        names = {f"self.{function.name}"} | ({"self"} if function.name in _ALSO_FORWARD else set())
        names |= {owner.name} if function.name == "__init__" else set()
    is_property = any(getattr(one, "id", "") == "property" for one in function.decorator_list)
    for node in walk(function):
        if isinstance(node, ast.Call) and (dotted_name(node.func) in names or _asks_self(function, node)):
            return node
        if is_property and isinstance(node, ast.Attribute) and dotted_name(node) == f"self.{function.name}":
            return node
    return None


def _asks_self(function: Function, call: ast.Call) -> bool:
    """`len(self)` inside `__len__`, and the like."""
    special = _ASKED_BY.get(function.name, ())
    return bool(call.args) and dotted_name(call.func) in special and dotted_name(call.args[0]) == "self"


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("none-gone-through", "TypeError", r"^'NoneType' object is not (?:iterable|an iterator)", _loop),
    ExplanationRule(
        "none-given",
        "TypeError AttributeError",
        r"NoneType",
        lambda s, m: None if _is_about_owner(s) else _argument(s, m),
    ),
    ExplanationRule("recursion", "RecursionError", r"", _recursion),
)


def _is_about_owner(scene: Scene) -> bool:
    """Is what is None the thing before a dot or the thing that is called, and no argument?"""
    found = re.search(r"has no attribute '(\w{1,80})'|object is not callable", scene.message)
    if found is None:
        return False
    func = scene.node.func if isinstance(scene.node, ast.Call) else None
    return found[1] is None or (isinstance(func, ast.Attribute) and func.attr == found[1])
