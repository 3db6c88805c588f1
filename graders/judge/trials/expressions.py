"""Authors' expressions, compiled once and evaluated in the judge's own process."""

from types import CodeType
from typing import Any

from graders.code_cache import CodeCache

FILE = "<expression>"


class ExpressionEnded(Exception):
    """An author's expression raised what is no `Exception`, such as `SystemExit`: no reason to end the judge."""


def expression(text: str, code_cache: CodeCache) -> CodeType:
    """An author's expression, compiled. Raises SyntaxError."""
    code: CodeType = code_cache.compiled(("expression", text), lambda: compile(text.lstrip(" \t"), FILE, "eval"))
    return code


def evaluated(text: str, names: dict[str, Any], code_cache: CodeCache) -> Any:  # noqa: ANN401  any value
    """The value of an author's expression. Raises Exception, whichever it raises, and nothing beside it."""
    try:
        return eval(expression(text, code_cache), names)  # noqa: S307  in the judge's own process
    except Exception:
        raise
    except BaseException as fault:
        raise ExpressionEnded(f"{type(fault).__name__}: {fault}") from fault
