"""How a question is answered: which form fits it. Nothing in here knows, or tells, the right answer."""

import re
from dataclasses import dataclass
from typing import Any

from app.web.http.markdown import render_inline
from graders.question import MAX_ANSWER_CHARS

_EXAMPLES = ((2, 3), (2, 3, 5), (7, 9), (7, 9, 4))


@dataclass(frozen=True)
class Option:
    """One line of a choice."""

    key: str
    html: str
    chosen: bool


@dataclass(frozen=True)
class AnswerForm:
    """What the page asks for."""

    kind: str
    """number, choice or shape"""
    given: str
    """What was answered last."""
    unit: str
    options: tuple[Option, ...]
    several: bool
    """Whether more than one option may be chosen; never how many."""
    examples: tuple[str, ...]
    """How a shape is written."""
    limit: int = MAX_ANSWER_CHARS
    """In characters."""


def answer_form(content: dict[str, Any], *, given: str) -> AnswerForm:
    """
    Return the form that fits a question.

    Args:
        content: of the question, as it is stored: what was left at its default is not in it.
        given: the answer to fill in; an empty text at first.
    """
    answer = content["answer"]
    kind = next(kind for kind in ("number", "choice", "shape") if kind in answer)
    return AnswerForm(
        kind=kind,
        given=given,
        unit=answer.get("unit", ""),
        options=_options(answer.get("options", {}), given),
        several=len(answer.get("choice", [])) > 1,
        examples=_examples(answer.get("shape")),
    )


def _options(texts: dict[str, str], given: str) -> tuple[Option, ...]:
    chosen = set(re.split(r"[,;\s]+", given.lower()))
    return tuple(Option(key=key, html=render_inline(text), chosen=key in chosen) for key, text in texts.items())


def _examples(right: list[int] | None) -> tuple[str, ...]:
    """Two shapes that are not the right one: an example must not be the answer."""
    return tuple(str(list(one)) for one in _EXAMPLES if list(one) != right)[:2]
