"""Which of a few texts fits a question best."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_SATURATION, _LENGTH_COUNTS = 0.9, 0.3  # BM25's k1 and b; the texts are short, and of like length

_UNKNOWN_COUNTS_AS = 4  # texts that have a word which none has


@dataclass(frozen=True)
class RankedText:
    """A text that fits."""

    index: int
    """Which one, counted from 0."""
    score: float
    """How much of the question it covers: 0 is nothing, about 1 is all of it, with rare words counting more."""


class Ranking:
    """
    Texts to be ranked, given as words.

    Source: BM25 (Robertson and Zaragoza, 2009), divided by what a text that has every word once would score. A word
    that no text has counts as if a few had it: a question about something else covers little, whatever it shares, and
    one of many words is not lost for a few that only fill it.
    """

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        """Count the words."""
        self._counts = [Counter(text) for text in texts]
        self._lengths = [len(text) for text in texts]
        self._mean = sum(self._lengths) / max(len(texts), 1) or 1.0
        self._having = Counter(word for counts in self._counts for word in counts)

    def best(self, question: Sequence[str]) -> list[RankedText]:
        """Return the texts that share a word with the question, the best first."""
        words = list(dict.fromkeys(question))
        whole = sum(self._weight(word) for word in words)
        scores = (RankedText(index, self._score(index, words) / whole) for index in range(len(self._counts)) if whole)
        return sorted((one for one in scores if one.score > 0), key=lambda one: (-one.score, one.index))

    def _score(self, index: int, words: Sequence[str]) -> float:
        counts = self._counts[index]
        norm = _SATURATION * (1 - _LENGTH_COUNTS + _LENGTH_COUNTS * self._lengths[index] / self._mean)
        return sum(self._weight(word) * counts[word] * (1 + norm) / (counts[word] + norm) for word in words)

    def _weight(self, word: str) -> float:
        having = self._having[word] or _UNKNOWN_COUNTS_AS
        return math.log(1 + (len(self._counts) - having + 0.5) / (having + 0.5))
