"""
Reading a number as people write it, in whatever country.

`154,389` is a hundred and fifty-four and a bit in one country and a hundred and fifty-four thousand in another. So what
is typed is read under each convention that it fits, and all readings are given; who asks for the number decides. A
separator groups digits only where groups of digits come out: three by three, or two by two before the last three.
Spaces of all kinds, apostrophes and underscores can only group. In a number with an exponent a lone point or comma is
the decimal one. All numbers of a calculation follow one convention.

What is read is worked out by rules for + - * / and small powers, and never evaluated as code.
"""

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MINUS = "\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d"
_APOSTROPHES = "\u2018\u2019\u02bc\u2032\u00b4`"
_TIMES = "\u00d7\u00b7\u22c5\u2217\u2219"
_OVER = "\u00f7\u2215\u2044"
_RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b"
_PLAIN = str.maketrans(
    {
        **dict.fromkeys(_MINUS, "-"),
        **dict.fromkeys(_APOSTROPHES, "'"),
        **dict.fromkeys(_TIMES, "*"),
        **dict.fromkeys(_OVER, "/"),
        "^": "**",
    }
)
_POWER = re.compile(f"[{_RAISED}]+")
_LITERAL = re.compile(r"([.,]?\d(?:[\d.,_' ]*\d)?)\.?(?:[eE]([+-]?\d+))?")
_X_AS_TIMES = re.compile(r"(?<=[\d) ])[xX](?=[\d( ])")
_GROUPING = "_' "
_GROUP, _SMALL_GROUP = 3, 2
_LARGEST_POWER = 64


class NotANumber(ValueError):
    """A text that cannot be read as a number under any convention."""


@dataclass(frozen=True)
class Interpretation:
    """One way to read a text."""

    value: float
    has_separators: bool  # was there anything to decide about?


def plain(text: str) -> str:
    """The same text with one sign for all minus signs, spaces, apostrophes, digits and signs of multiplication."""
    raised = _POWER.sub(lambda power: f"**{unicodedata.normalize('NFKC', power[0])}", text)
    folded = unicodedata.normalize("NFKC", raised).translate(_PLAIN)
    digits = (str(unicodedata.decimal(one)) if one.isdecimal() else " " if one.isspace() else one for one in folded)
    return "".join(digits).strip()


def interpretations(text: str) -> list[Interpretation]:
    """
    All numbers that a text can mean, each once, the likeliest first.

    Args:
        text: a number or a calculation without its unit, as `plain` gives it.

    Raises:
        NotANumber: there is none.
    """
    text = _X_AS_TIMES.sub("*", text.lstrip("=~\u2248 ").rstrip(".,;! "))
    found: dict[float, Interpretation] = {}
    for points, groups in ((".", ","), (",", "."), (".,", "")):
        try:
            value, has_separators = _read(text, points=points, groups=groups)
        except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
            continue
        if not math.isnan(value):
            found.setdefault(value, Interpretation(value, has_separators))
    if not found:
        raise NotANumber(text)
    return list(found.values())


def _read(text: str, *, points: str, groups: str) -> tuple[float, bool]:
    """The value under one convention. Raises what `ast.parse` and arithmetic do: it does not fit."""
    separated = False

    def literal(match: re.Match[str]) -> str:
        nonlocal separated
        separated = separated or any(one in f",{_GROUPING}" for one in match[1]) or match[1].count(".") > 1
        number = _literal(match[1], points=points, groups=groups, exponent=match[2] is not None)
        return f"{number}e{match[2]}" if match[2] is not None else number

    expression = _LITERAL.sub(literal, text)
    return _arithmetic(ast.parse(expression.strip(), mode="eval").body), separated


def _literal(digits: str, *, points: str, groups: str, exponent: bool) -> str:
    """One number as Python writes it. Raises ValueError: it does not fit the convention."""
    marks = [one for one in digits if one in ".,"]
    if exponent and len(marks) == 1:
        groups = ""
    whole, point, fraction = digits, "", ""
    last = max((digits.rfind(one) for one in points), default=-1)
    if last >= 0:
        whole, point, fraction = digits[:last], ".", digits[last + 1 :]
    if not fraction.isdigit() and fraction:
        raise ValueError("a separator behind the decimal point")
    return f"{_whole(whole, groups) if whole else '0'}{point}{fraction}"


def _whole(digits: str, groups: str) -> str:
    """A whole number without what groups its digits. Raises ValueError: they are no groups."""
    seen = {one for one in digits if not one.isdigit()}
    if not seen:
        return str(int(digits))
    if seen == {"_"}:  # as Python has it, anywhere between digits
        return str(int(digits))
    mark = seen.pop()
    if seen or mark not in f"{groups}{_GROUPING}":
        raise ValueError("more than one kind of separator")
    if not _are_groups(digits.split(mark)):
        raise ValueError("no groups of digits")
    return digits.replace(mark, "")


def _are_groups(parts: Sequence[str]) -> bool:
    first, *middle, last = parts
    begins = 1 <= len(first) <= _GROUP and first[0] != "0"
    by_three = all(len(one) == _GROUP for one in middle)
    by_two = bool(middle) and len(first) <= _SMALL_GROUP and all(len(one) == _SMALL_GROUP for one in middle)
    return begins and len(last) == _GROUP and (by_three or by_two)


_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _arithmetic(node: ast.AST) -> float:
    """Numbers, + - * / and small powers; nothing else is understood, so nothing else can happen."""
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("not a number")
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_arithmetic(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _arithmetic(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_arithmetic(left), _arithmetic(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_arithmetic(left), _arithmetic(right))
    raise ValueError("not arithmetic")


def _power(base: float, power: float) -> float:
    if not power.is_integer() or abs(power) > _LARGEST_POWER:
        raise ValueError("not a small power")
    return float(base ** int(power))
