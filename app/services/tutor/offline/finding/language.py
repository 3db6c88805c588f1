"""Words as they are compared: small letters, without endings, and with slips of the keyboard put right."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from app.services.exercises.stop_words import STOP_WORDS

QUESTION_CHARS = 2_000  # what is read of a question; patterns over more could be made slow
_ASK_SOMETHING = frozenset(
    ["t", "difference", "different", "between", "happen", "happens", "exist", "line", "work", "works", "long"]
)
_SAY_NOTHING = STOP_WORDS - _ASK_SOMETHING
_WORD = re.compile(r"[^\W_]+(?:[_'’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SIGNS = {
    "==": "signequals",
    "+=": "signaddto",
    "**": "signpower",
    "//": "signwholedivision",
    ">>>": "signprompt",
    "->": "signarrow",
    "[]": "signempty",
    "@": "signat",
    "#": "signhash",
    "*": "signstar",
    "^": "signcaret",
    "/": "signslash",
    "%": "signpercent",
    "=": "signassign",
}
"""Signs that are asked about, as words; the longer ones first."""
_SIGN = re.compile(r"(?<![^\s\w])(?:==|\+=|\*\*|//|>>>|->|\[\]|[@#*^/%=])(?![^\s\w])")
_ASIAN = re.compile(r"[\u4e00-\u9fff]")
_LOOK_UP = re.compile(r"\blook(?:s|ed|ing)?[ -]?ups?\b")
_HUMPED = re.compile(r"\b\w*[a-z][A-Z]\w*")
_ENDINGS = ("ingly", "ings", "ing", "edly", "ied", "ed", "ies", "es", "ly", "s", "e", "y")
_SHORTEST_STEM = 3
_MOST_WORDS = 60  # of a question


def folded(text: str) -> str:
    """Return a text for patterns: small letters, one kind of quote and blank, no accents; cut if it is long."""
    simple = unicodedata.normalize("NFKD", text[:QUESTION_CHARS]).lower()
    bare = "".join(c for c in simple if not unicodedata.combining(c) and (c.isprintable() or c.isspace()))
    return " ".join(bare.replace("’", "'").replace("‘", "'").replace("ß", "ss").split())


def stem(word: str) -> str:
    """Cut an ending off, so that `learns` meets `learning`. Crude, but the same on both sides."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


class Lexicon:
    """Turns texts into the words that are compared, with words of the same meaning made the same."""

    def __init__(self, same: Mapping[str, Iterable[str]]) -> None:
        """`same` has, for a word, others that mean the same to a student."""
        self._same = {str(other): word for word, others in same.items() for other in others}
        # Facts, cards and lessons are read again for every question, and there are only so many.
        self.words = lru_cache(maxsize=4096)(self._stems)

    def _stems(self, text: str) -> tuple[str, ...]:
        """Return the words that say what a text is about, as they are compared; `pos_emb` is `pos` and `emb` too."""
        humps = " ".join(_CAMEL.sub(" ", word) for word in _HUMPED.findall(text))
        return tuple(self.plain(word) for word in _parts(f"{text} {humps}") if word not in _SAY_NOTHING)

    def bare(self, text: str) -> list[str]:
        """Return the first words of a text before they are made the same, those that say little too."""
        return list(_parts(text[:QUESTION_CHARS]))[:_MOST_WORDS]

    def plain(self, word: str) -> str:
        """Return a word as it is compared."""
        return stem(self._same.get(word, word))


def says_nothing(word: str) -> bool:
    """Is it a word of questions rather than of what they are about?"""
    return word in _SAY_NOTHING


def _parts(text: str) -> Iterator[str]:
    signed = _SIGN.sub(lambda sign: f" {_SIGNS[sign[0]]} ", text)
    for word in _WORD.findall(folded_words(signed)):
        if _ASIAN.search(word):
            yield from (word[index : index + 2] for index in range(len(word) - 1))  # no blanks between words
            continue
        yield word
        if "_" in word:
            yield from (part for part in word.split("_") if len(part) > 1)


def folded_words(text: str) -> str:
    """Return a text of any length in small letters and without accents, for the cutting of words."""
    simple = unicodedata.normalize("NFKD", text).lower()
    bare = "".join(c for c in simple if not unicodedata.combining(c)).replace("’", "'")
    return _LOOK_UP.sub("lookup", bare)
