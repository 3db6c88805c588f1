"""Words as they are compared: small letters, without endings, and with slips of the keyboard put right."""

import difflib
import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from app.services.exercises.stop_words import STOP_WORDS

QUESTION_CHARS = 2_000  # what is read of a question; patterns over more could be made slow
_WORD = re.compile(r"[^\W_]+(?:[_'’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LOOK_UP = re.compile(r"\blook(?:s|ed|ing)?[ -]?ups?\b")
_BRACKETS = re.compile(r"\[[\d, ]*\]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")  # which one it is says less than that it is one
_HUMPED = re.compile(r"\b\w*[a-z][A-Z]\w*")
_ENDINGS = ("ingly", "ings", "ing", "edly", "ied", "ed", "ies", "es", "ly", "s", "e", "y")
_SHORTEST_STEM = 3
_SHORTEST_REPAIRED, _LONGEST_REPAIRED = 5, 20
_MOST_REPAIRED = 60  # words of a question; each is compared with all that are known
_ALIKE = 0.8


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
        self._same = {other: word for word, others in same.items() for other in others}
        # Facts, knowledge and lessons are read again for every question, and there are only so many.
        self.words = lru_cache(maxsize=4096)(self._stems)

    def _stems(self, text: str) -> tuple[str, ...]:
        """Return the words that say what a text is about, as they are compared; `pos_emb` is `pos` and `emb` too."""
        humps = " ".join(_CAMEL.sub(" ", word) for word in _HUMPED.findall(text))
        parts = (word for word in self._parts(f"{text} {humps}") if word not in STOP_WORDS and not word.isdigit())
        return tuple(self._plain(word) for word in parts)

    def repaired(self, text: str, known: Collection[str]) -> list[str]:
        """Return the words of a question; those that nobody knows become the known one they are a slip of."""
        bare = _NUMBER.sub(" number ", _BRACKETS.sub(" ", text[:QUESTION_CHARS]))
        plain = (self._plain(word) for word in _WORD.findall(folded_words(bare)) if word not in STOP_WORDS)
        return [self._repair(word, known) for word in itertools.islice(plain, _MOST_REPAIRED)]

    def _parts(self, text: str) -> Iterable[str]:
        for word in _WORD.findall(folded_words(text)):
            yield word
            if "_" in word:
                yield from (part for part in word.split("_") if len(part) > 1)

    def _plain(self, word: str) -> str:
        return stem(self._same.get(word, word))

    def _repair(self, word: str, known: Collection[str]) -> str:
        if word in known or not _SHORTEST_REPAIRED <= len(word) <= _LONGEST_REPAIRED or not word.isalpha():
            return word
        close = difflib.get_close_matches(word, [one for one in known if one[0] == word[0]], n=1, cutoff=_ALIKE)
        return close[0] if close else word


def folded_words(text: str) -> str:
    """Return a text of any length in small letters and without accents, for the cutting of words."""
    simple = unicodedata.normalize("NFKD", text).lower()
    bare = "".join(c for c in simple if not unicodedata.combining(c)).replace("’", "'")
    return _LOOK_UP.sub("lookup", bare)
