"""
Does an answer hold a piece of the solution?

A strict reader that knows the solution: every span and block of code in an answer, and every line that could be code,
is read as Python, its names made the same, and compared with each line and each right-hand side of the solution and of
the other right ways. What the student has written, the starting code, the task, the lesson or an opened hint shows
already, is given away by nobody.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

from app.authoring import CodeExercise, Question
from app.settings import ROOT

_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_SPAN = re.compile(r"`+([^`\n]+)`+")
_CODEISH = re.compile(r"[=(\[@]")
_LIBRARY = {"torch", "nn", "F", "self", "super", "range", "len", "int", "list", "sum", "enumerate"}
_DIGITS = re.compile(r"(?<=\d)[  ,](?=\d{3}\b)")
_BARE_ASSIGNMENT = re.compile(r"\b[A-Za-z_][\w.]*\s*=\s*[^=`\n]{3,80}")
_BARE_CALL = re.compile(
    r"[A-Za-z_][\w.]*(?:\([^()`\n]*(?:\([^()`\n]*\)[^()`\n]*)*\)|\[[^\]`\n]*\])(?:\.\w+(?:\([^()\n]*\))?)*"
)


def given_away(exercise: CodeExercise | Question, answer: str, written: str, *, hints: int) -> list[str]:
    """Return the pieces of the solution that an answer shows and that the student could not have seen."""
    if isinstance(exercise, Question):
        return _answer_in(exercise, answer, written)
    code = f"{written}\n{exercise.setup}\n{exercise.starter}"
    prose = "\n\n".join((exercise.statement, _lesson(exercise.id), *exercise.hints[:hints]))
    secret = _secret((exercise.solution, *(one.code for one in exercise.equivalents))) - _shown(code, prose)
    return [code for code in _codes(answer) if secret & set(_forms(code, whole=True))]


@cache
def _secret(sources: tuple[str, ...]) -> frozenset[str]:
    return frozenset(form for source in sources for form in _forms(source, whole=False))


@cache
def _shown(code: str, prose: str) -> frozenset[str]:
    of_prose = (form for piece in _codes(prose) for form in _forms(piece, whole=True))
    return frozenset((*_forms(code, whole=False), *of_prose))


def _answer_in(question: Question, answer: str, written: str) -> list[str]:
    """A number, a shape or the right choice, in whatever way it is written."""
    text = _DIGITS.sub("", answer)
    if question.answer.shape is not None:
        sizes = r"\s*[,x×]\s*".join(str(size) for size in question.answer.shape)
        return re.findall(sizes, text)
    if question.answer.number is None:
        return []
    number = f"{question.answer.number:.15g}"
    whole = number.partition(".")[0]
    return [whole] if re.search(rf"(?<!\d){whole}(?!\d)", text) and whole not in _DIGITS.sub("", written) else []


@cache
def _lesson(exercise: str) -> str:
    (folder,) = (one.parent for one in (ROOT / "exercises").rglob("exercise.yaml") if one.parent.name == exercise)
    return (folder.parent / "lesson.md").read_text(encoding="utf-8")


def _codes(text: str) -> Iterator[str]:
    """Yield what may be code: blocks, spans, whole lines, and what looks like it in a sentence."""
    yield from _FENCED.findall(text)
    yield from _SPAN.findall(text)
    for line in text.splitlines():
        bare = line.strip().strip("`*->0123456789. ")
        if _CODEISH.search(bare):
            yield bare
        yield from _BARE_ASSIGNMENT.findall(line)
        yield from _BARE_CALL.findall(line)


def _forms(code: str, *, whole: bool) -> Iterator[str]:
    """Yield the normal form of each statement and right-hand side; `whole`: of bare expressions, too."""
    try:
        tree = ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if "\n" in code:
            yield from (form for line in code.splitlines() for form in _forms(line, whole=whole))
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Pass):
            yield from _statement(node, whole=whole)


def _statement(node: ast.stmt, *, whole: bool) -> Iterator[str]:
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Return(value=ast.expr() as value):
            yield from _expression(value)
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return  # shows something, and solves nothing
        case ast.Expr(value=ast.Call() as call):
            yield from _expression(call)
        case ast.Expr(value=value) if whole:
            yield from _expression(value)
        case ast.With(body=body) | ast.For(body=body):
            yield from (form for one in body for form in _statement(one, whole=whole))


def _expression(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Name | ast.Constant | ast.Attribute):
        return  # a name alone is no solution
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.args and not value.keywords:
        return  # nor is calling it
    yield _normal(value)


def _normal(value: ast.expr) -> str:
    """Write an expression with its own names made `a`, `b`, `c` in the order they come; library names stay."""
    given: dict[str, str] = {}
    copy = ast.parse(ast.unparse(value), mode="eval").body
    for node in ast.walk(copy):
        if isinstance(node, ast.Name) and node.id not in _LIBRARY:
            node.id = given.setdefault(node.id, f"n{len(given)}")
        if isinstance(node, ast.Attribute) and _on_self(node):
            node.attr = given.setdefault(node.attr, f"n{len(given)}")
    return ast.unparse(copy)


def _on_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
