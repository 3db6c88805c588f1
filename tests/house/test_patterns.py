"""
No pattern takes longer than in proportion to the text it is used on, whoever wrote that text.

A pattern that backtracks over what it has read takes the square of the time for twice the text, or worse, and while it
does nothing else in its process runs. So every pattern of `app` and `graders` is found and measured: those that modules
and classes hold, those that a cached function of theirs makes (of a file, say), and those that stand as literals in
calls of `re`. A call whose pattern is neither is refused, because nothing could measure it.

A text that is hard for a pattern is one that it nearly matches over and over. Such texts are made of the pattern's own
parse: every beginning of it, every part that is repeated, and every alternative, each over and over and then cut off,
beside long runs of each kind of character. Time is the thread's own processor time, so a busy machine does not matter,
and growth is what counts: from 32 to 64 KiB it must stay well under the four times that a square would take.
"""

import ast
import dataclasses
import importlib
import pkgutil
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import _lru_cache_wrapper
from re import _constants as ops
from re import _parser
from types import ModuleType
from typing import Any

import pytest

import app
import graders
from app.settings import ROOT
from tests.house.parsed import tree_of

Pattern = re.Pattern[str] | re.Pattern[bytes]

HALF, WHOLE = 32 * 1024, 64 * 1024
FIRST_LOOKS = ((24, 0.02), (512, 0.02), (4 * 1024, 0.1))
"""Characters, and seconds that they may take at most: a pattern that is very slow is told before it is measured."""
LONGEST_S = 0.25
CLOSER_LOOKS = (8 * 1024, 16 * 1024)
"""What takes too long for these characters does so for more, and is told before it takes its whole time."""
TOO_SHORT_TO_MEASURE_S = 0.05
MOST_GROWTH = 3.0
MEASURED = 2
"""Of the texts for one pattern, those that took longest at the first looks."""
LONGEST_UNIT = 160
USES = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
KINDS = "aZ0 _.,;:-+*/\\|`'\"~^$%&@#!?=<>()[]{}\n\t\r\x00\x7f\u00a0éжの\u0301\U0001f600"
MIXTURES = ("a ", "a.", "1,", "1 ", "\n ", "a_", "[1", "[1, ", "`a", "`[", "<a", "</", "$a$", "```\n", "~~~\n", "| ")
MOST_MEMBERS = 6
MOST_ALTERNATIVES = 4
PARTS = 2
REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}
CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
MADE_OF_FILES = {
    "app/services/tutor/offline/intents.py",
    "app/services/tutor/offline/finding/knowledge.py",
    "graders/judge/feedback/explanations/rules.py",  # of a list of rules, over at most 500 characters
    "graders/judge/feedback/explanations/syntax.py",  # of a table, over one line
}
"""Here patterns come from a file beside them, and are held by a cached function."""


def modules() -> Iterator[ModuleType]:
    """Yield every module of ours."""
    for package in (app, graders):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns_of(value: object, deep: int = 6) -> Iterator[Pattern]:
    """Yield the patterns in a value: in its items, its fields, and what a cached function without arguments returns."""
    if isinstance(value, re.Pattern):
        yield value
    elif deep == 0 or isinstance(value, str | bytes | int | float | ModuleType):
        return
    elif isinstance(value, _lru_cache_wrapper):
        code = getattr(value.__wrapped__, "__code__", None)
        if code is not None and code.co_argcount + code.co_kwonlyargcount == 0:
            yield from patterns_of(value(), deep - 1)
    elif isinstance(value, dict):
        yield from (one for item in value.items() for one in patterns_of(item, deep - 1))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (one for item in value for one in patterns_of(item, deep - 1))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from (
            one for field in dataclasses.fields(value) for one in patterns_of(getattr(value, field.name), deep - 1)
        )


def of_modules() -> dict[str, Pattern]:
    """Return the patterns that modules and their classes hold, by where they are."""
    found: dict[str, Pattern] = {}
    for module in modules():
        owners: list[tuple[str, dict[str, Any]]] = [(module.__name__, vars(module))]
        owners += [
            (f"{module.__name__}.{one.__name__}", dict(vars(one)))
            for one in vars(module).values()
            if isinstance(one, type) and one.__module__ == module.__name__
        ]
        for owner, attributes in owners:
            for name, value in list(attributes.items()):
                mine = getattr(value, "__module__", module.__name__) in {module.__name__, None}
                if not name.startswith("__") and (mine or isinstance(value, re.Pattern)):
                    found |= {f"{owner}.{name} {number}": one for number, one in enumerate(patterns_of(value))}
    return found


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of `re` in the files of ours, with its place."""
    for path in sorted([*(ROOT / "app").rglob("*.py"), *(ROOT / "graders").rglob("*.py")]):
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=use)) if use in USES:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def literal(node: ast.expr) -> str | bytes | None:
    """Return the pattern that an expression is, if it can be read off; what is put into it stands as one letter."""
    match node:
        case ast.Constant(value=str() | bytes() as value):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "x" for one in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = literal(left), literal(right)
            return first + second if isinstance(first, str) and isinstance(second, str) else None
    return None


def of_calls() -> dict[str, Pattern]:
    """Return the patterns that stand as literals in calls, by where they are, each as the call reads it."""
    found: dict[str, Pattern] = {}
    for place, call in calls():
        flags = next((one.value for one in call.keywords if one.arg == "flags"), None)
        named = ast.dump(flags) if flags is not None else "".join(ast.dump(one) for one in call.args[1:])
        read = 0
        for flag in ("IGNORECASE", "MULTILINE", "DOTALL", "VERBOSE", "ASCII"):
            read |= getattr(re, flag) if f"'{flag}'" in named else 0
        text = literal(call.args[0])
        if text is not None:
            found[place] = re.compile(text, read)
    return found


def texts(pattern: Pattern) -> list[tuple[str, str]]:
    """Return what is hard for a pattern: pairs of what comes first, and what is then said over and over."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    tree = _parser.parse(source, flags)
    own = ((before[:LONGEST_UNIT], unit[:LONGEST_UNIT]) for before, unit in _units(tree.data, "") if unit)
    return list(dict.fromkeys([*own, *(("", one) for one in (*KINDS, *MIXTURES))]))


def _units(parts: Sequence[Any], before: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of what comes first and what is said over and over, for a sequence of a parsed pattern."""
    here = ""
    for op, value in parts:
        for inner in _inside(op, value):
            yield from _units(inner, before + here)
        if op in REPEATS:
            for body in _bodies(value[2]):
                yield before + here, body
                yield "", before + here + body
        here += _sample(op, value)
        yield "", here
        yield "", before + here


def _inside(op: Any, value: Any) -> list[Any]:  # noqa: ANN401  the parser's own
    if op in REPEATS:
        return [value[2].data]
    if op is ops.SUBPATTERN:
        return [value[3].data]
    if op is ops.BRANCH:
        return [one.data for one in value[1][:MOST_ALTERNATIVES]]
    if op is ops.ATOMIC_GROUP:
        return [value.data]
    return [value[1].data] if op in {ops.ASSERT, ops.ASSERT_NOT} else []


def _bodies(tree: Any) -> Iterable[str]:  # noqa: ANN401
    """Yield what one turn of a repetition may be: of each alternative one, and of a class several characters."""
    (op, value), *more = tree.data or [(None, None)]
    if not more and op is ops.IN:
        return _members(value)
    if not more and op is ops.SUBPATTERN:
        return _bodies(value[3])
    if not more and op is ops.BRANCH:
        return [_said(one) for one in value[1][:MOST_ALTERNATIVES]]
    return [_said(tree)]


def _members(items: Any) -> list[str]:  # noqa: ANN401
    """Return characters of a class: one of each kind that is in it."""
    is_not = items[0][0] is ops.NEGATE
    named = [chr(value if op is ops.LITERAL else value[0]) for op, value in items if op in {ops.LITERAL, ops.RANGE}]
    found = [one for one in KINDS if any(_has(item, one) for item in items) is not is_not]
    return list(dict.fromkeys([*([] if is_not else named), *found]))[:MOST_MEMBERS]


def _has(item: Any, letter: str) -> bool:  # noqa: ANN401
    op, value = item
    if op is ops.LITERAL:
        return chr(value) == letter
    if op is ops.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    return op is ops.CATEGORY and re.fullmatch(CATEGORIES[str(value)], letter) is not None


def _sample(op: Any, value: Any) -> str:  # noqa: ANN401, PLR0911  a case a line
    """Return a short text that a part of a pattern matches; empty for what matches between characters."""
    if op is ops.LITERAL:
        return chr(value)
    if op is ops.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if op is ops.ANY:
        return "x"
    if op is ops.IN:
        return next(iter(_members(value)), "")
    if op in REPEATS:
        return _said(value[2]) * min(max(int(value[0]), 1), 40)
    if op is ops.SUBPATTERN:
        return _said(value[3])
    if op is ops.ATOMIC_GROUP:
        return _said(value)
    return _said(value[1][0]) if op is ops.BRANCH else ""


def _said(tree: Any) -> str:  # noqa: ANN401
    return "".join(_sample(op, value) for op, value in tree.data)


def said(pair: tuple[str, str], size: int) -> str:
    """Return a text of a size: what comes first, what is said over and over, and what fits nowhere."""
    before, unit = pair
    return (before + unit * (size // len(unit) + 1))[: size - 1] + "\x00"


def seconds(pattern: Pattern, text: str, *, times: int = 1) -> float:
    """Return how long it takes to find everything in a text: the least of several times."""
    given: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    least = float("inf")
    for _ in range(times):
        begun_s = time.thread_time()
        deque(pattern.finditer(given), maxlen=0)
        least = min(least, time.thread_time() - begun_s)
        if least > LONGEST_S:
            break
    return least


def fault(pattern: Pattern) -> str:
    """Return on what text a pattern is too slow, and how slow; empty if there is none."""
    took: dict[tuple[str, str], float] = {}
    pairs = list(texts(pattern))
    for size, most_s in FIRST_LOOKS:
        for pair in pairs:
            took[pair] = seconds(pattern, said(pair, size))
            if took[pair] > most_s:
                return f"{pair!r} of {size} takes {took[pair]:.3f} s"
    for pair in sorted(pairs, key=lambda one: -took[one])[:MEASURED]:
        for size in CLOSER_LOOKS:
            if (once := seconds(pattern, said(pair, size))) > LONGEST_S:
                return f"{pair!r} of {size} takes {once:.3f} s"
        half, whole = (seconds(pattern, said(pair, size), times=4) for size in (HALF, WHOLE))
        if whole > LONGEST_S or (whole > TOO_SHORT_TO_MEASURE_S and whole > MOST_GROWTH * half):
            return f"{pair!r} takes {half:.3f} s for {HALF} and {whole:.3f} s for {WHOLE} characters"
    return ""


@pytest.mark.parametrize("part", range(PARTS))
def test_patterns_take_time_in_proportion(part: int) -> None:
    """Twice the text is twice the time, for every pattern and every kind of text."""
    found = sorted(
        {(one.pattern, one.flags): place for place, one in (of_modules() | of_calls()).items()}.items(), key=str
    )
    slow = {}
    for (source, flags), place in found[part::PARTS]:
        if told := fault(re.compile(source, flags)):
            slow[place] = told
    assert slow == {}


def test_every_pattern_is_found() -> None:
    """A pattern is a literal where it is used, or is held where it can be found: others could not be measured."""
    unseen = {place.partition(":")[0] for place, call in calls() if literal(call.args[0]) is None}
    assert unseen == MADE_OF_FILES


@pytest.mark.parametrize("bad", [r"`([^`\n]+)`|(\w*\[\d+(?:, \d+)*\])", r"(a+)+$", r"\s+$", r"(?:x|y)*z", "a.*b"])
def test_slow_pattern_is_told(bad: str) -> None:
    """The measure finds what it is there for: squares, and worse."""
    assert fault(re.compile(bad))
