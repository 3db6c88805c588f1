"""
Which card answers a question.

Two views of a card are put together. Its *wordings*: how far the question and one way of asking cover each other, so
that a short wording inside a long question, or the other way round, counts for less than one that is nearly the same.
And all its *text*: how much of the question the card speaks of at all, with a word in a way of asking counting for
more than one in the answer. Words count by their rarity among all wordings (BM25's inverse document frequency). A word
that no card has counts more than the rarest: a question about something else covers little, whatever it shares.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.services.tutor.offline.finding.knowledge import Card
from app.services.tutor.offline.finding.language import Lexicon, says_nothing
from app.services.tutor.offline.finding.spelling import Spelling

_IN_NAME = 2.0
_IN_ANSWER = 1.2
_IN_QUESTION_BACK = 0.3
_SATURATION = 0.7
_WORDINGS = 0.25  # of the score; the rest is the text
_STRANGE = 1.5  # what a word that no card has counts
_SMALL_WORD = 0.3  # what "why" and "how" count
GOOD_ENOUGH = 0.35
"""How well a card must fit to be an answer: `benchmarks/card_search.py` prints what that costs and brings."""
SURE = 0.6
"""How well it must fit to be preferred to what the last report says."""
_LITTLE = "~"  # before a word that says little by itself
_PAIR = 0.5  # what two words in the same order count, of what they count by themselves


@dataclass(frozen=True)
class CardMatch:
    """A card that has something to do with a question."""

    index: int
    """Which card, counted from 0."""
    score: float
    """How well it fits, 0 to 1."""


class TermWeights:
    """How much each term says, by how few wordings have it."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        """Count in how many texts each term stands."""
        seen = [set(text) for text in texts]
        self._having = Counter(term for terms in seen for term in terms)
        self._all = len(seen)

    def knows(self, term: str) -> bool:
        """Does any text have it?"""
        return term in self._having

    def of(self, term: str) -> float:
        """Return a term's weight; one word that no text has weighs more than the rarest."""
        having = self._having[term] or 1
        weight = math.log(1 + (self._all - having + 0.5) / (having + 0.5))
        return weight * (_STRANGE if term not in self._having and " " not in term else 1.0)


class CardIndex:
    """Cards, ready to be found."""

    def __init__(self, cards: Sequence[Card], lexicon: Lexicon, weights: TermWeights | None = None) -> None:
        """
        Take in the cards.

        Args:
            cards: what can be found.
            lexicon: how texts become words.
            weights: of the terms; from the cards' own wordings, if they are not given.
        """
        self.cards = tuple(cards)
        self._lexicon = lexicon
        wordings = [
            (index, self._terms(lexicon.bare(asked))) for index, card in enumerate(cards) for asked in card.asked
        ]
        self.weights = weights or TermWeights(terms for _, terms in wordings)
        self._card_of = [index for index, _ in wordings]
        self._sizes = [self._weight(set(terms)) for _, terms in wordings]
        self._wordings: dict[str, list[int]] = {}
        for number, (_, terms) in enumerate(wordings):
            for term in set(terms):
                self._wordings.setdefault(term, []).append(number)
        self._cards: dict[str, dict[int, float]] = {}
        for index, card in enumerate(cards):
            for term, share in self._fields(card).items():
                self._cards.setdefault(term, {})[index] = share
        self._spelling = Spelling(
            word for card in cards for text in (*card.asked, card.says) for word in lexicon.bare(text)
        )

    def terms(self, question: str) -> list[str]:
        """Return a question's terms, with slips of the keyboard put right by the cards' words."""
        words = (self._spelling.repaired(word) for word in self._lexicon.bare(question))
        return self._terms([word for word in words if not word.isdigit() or self.weights.knows(word)])

    @staticmethod
    def is_telling(term: str) -> bool:
        """Is it one word that says what a question is about?"""
        return " " not in term and not term.startswith(_LITTLE)

    def _terms(self, words: Sequence[str]) -> list[str]:
        """Return words as they are compared, and each two of those that say something and follow each other."""
        telling = [self._lexicon.plain(word) for word in words if not says_nothing(word)]
        little = [f"{_LITTLE}{word}" for word in words if says_nothing(word)]
        return [*telling, *(f"{one} {other}" for one, other in pairwise(telling)), *little]

    def best(self, terms: Sequence[str], *, most: int = 8, without: frozenset[int] = frozenset()) -> list[CardMatch]:
        """
        Return the cards that fit best, the best first.

        Args:
            terms: of the question.
            most: how many.
            without: numbers of wordings that do not count, for measuring.
        """
        asked = set(terms)
        whole = self._weight(asked)
        if not whole:
            return []
        by_wording = self._by_wording(asked, whole, without)
        by_text = self._by_text({term for term in asked if self.is_telling(term)})
        scores = {
            index: _WORDINGS * by_wording.get(index, 0.0) + (1 - _WORDINGS) * share for index, share in by_text.items()
        }
        ranked = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:most]
        return [CardMatch(index, score) for index, score in ranked if score > 0]

    def _by_wording(self, asked: set[str], whole: float, without: frozenset[int]) -> Mapping[int, float]:
        """Return for each card how near its nearest wording is: the shared weight over both sides' mean."""
        shared: dict[int, float] = {}
        for term in asked:
            weight = self._term_weight(term)
            for number in self._wordings.get(term, ()):
                shared[number] = shared.get(number, 0.0) + weight
        best: dict[int, float] = {}
        for number, weight in shared.items():
            if number in without:
                continue
            near = 2 * weight / (whole + self._sizes[number])
            index = self._card_of[number]
            best[index] = max(best.get(index, 0.0), near)
        return best

    def _by_text(self, words: set[str]) -> Mapping[int, float]:
        """Return for each card how much of the question its text covers."""
        whole = self._weight(words)
        covered: dict[int, float] = {}
        for word in words:
            weight = self.weights.of(word) / whole
            for index, share in self._cards.get(word, {}).items():
                covered[index] = covered.get(index, 0.0) + weight * share
        return covered

    def _fields(self, card: Card) -> Mapping[str, float]:
        """Return how much each of a card's words stands for it, 0 to 1: BM25's saturation over weighted fields."""
        texts = [(card.id.replace("-", " "), _IN_NAME), (card.says, _IN_ANSWER), (card.then, _IN_QUESTION_BACK)]
        texts += [(asked, 1.0) for asked in card.asked]
        often: dict[str, float] = {}
        for text, counts in texts:
            for word in set(self._lexicon.words(text)):
                often[word] = often.get(word, 0.0) + counts
        return {word: number / (number + _SATURATION) for word, number in often.items()}

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(self._term_weight(term) for term in terms)

    def _term_weight(self, term: str) -> float:
        share = _SMALL_WORD if term.startswith(_LITTLE) else _PAIR if " " in term else 1.0
        return self.weights.of(term) * share
