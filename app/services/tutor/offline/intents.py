"""
What kind of question it is, as far as its words alone show it.

The intents are tried in order, so the earlier ones win: whoever wants the answer written is shown how to get on,
however politely it is wrapped. A question taken for the wrong intent is answered less well, but never with the
answer: no kind of reply is made from it.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from app.services.tutor.offline.finding.language import folded


class Intent(Enum):
    """What a student wants."""

    STUCK = "stuck"  # nothing but "help" or "???"
    ANSWER = "answer"  # wants it written
    PERSON = "person"  # is it a human, what is it
    COUNT = "count"  # messages left
    SIGHT = "sight"  # what it can see
    GREETING = "greeting"
    THANKS = "thanks"
    MOOD = "mood"  # tired, angry, ashamed
    ELSEWHERE = "elsewhere"  # another subject
    HINT = "hint"
    NEXT = "next"
    VERIFY = "verify"  # is this right
    CHECK = "check"  # what does a check want
    SHAPE = "shape"
    ERROR = "error"
    WRONG = "wrong"  # what is wrong with mine
    AGAIN = "again"  # did not follow the last answer
    FOREIGN = "foreign"  # another language
    IDEA = "idea"  # everything else


@dataclass(frozen=True)
class _Patterns:
    """What intents.yaml has, ready to be used."""

    demands: tuple[re.Pattern[str], ...]
    intents: tuple[tuple[Intent, re.Pattern[str]], ...]
    help: re.Pattern[str]
    other_tongues: re.Pattern[str]
    english: re.Pattern[str]


_FILE = Path(__file__).with_name("intents.yaml")
_OF_SOLUTION = re.compile(r"\b(answer|solution|code|line)s?\b")


def intent_of(question: str) -> Intent:
    """Return what kind of question it is."""
    text, known = folded(question), _patterns()
    if known.help.match(text):
        return Intent.STUCK
    first = next((kind for kind, pattern in known.intents if pattern.search(text)), None)
    demanded = any(one.search(text) for one in known.demands)
    if demanded and not (first is Intent.ELSEWHERE and not _OF_SOLUTION.search(text)):
        return Intent.ANSWER  # "write my essay" is a demand too, but not for this exercise's answer
    if first in {None, Intent.WRONG} and _is_foreign(text):
        return Intent.FOREIGN
    return first or Intent.IDEA


def _is_foreign(text: str) -> bool:
    known = _patterns()
    others, english = len(known.other_tongues.findall(text)), len(known.english.findall(text))
    return others > 2 * english or not re.search("[a-z]", text)


@cache
def _patterns() -> _Patterns:
    """Read the file, once."""
    raw = YAML(typ="safe").load(_FILE.read_text(encoding="utf-8"))
    demands = (one.replace("<give>", raw["give"]).replace("<thing>", raw["thing"]) for one in raw["demands"])
    return _Patterns(
        demands=tuple(re.compile(one) for one in demands),
        intents=tuple((Intent(name), re.compile(pattern)) for name, pattern in raw["kinds"].items()),
        help=re.compile(raw["help"]),
        other_tongues=re.compile(raw["other_tongues"]),
        english=re.compile(raw["english"]),
    )
