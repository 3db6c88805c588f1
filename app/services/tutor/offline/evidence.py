"""What the cards, the author's facts and the lesson have to say on a question, and whether it is good enough."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from app.clients.tutor.port import Passage, TutorContext
from app.services.tutor.offline.finding.card_index import GOOD_ENOUGH, SURE, CardIndex, CardMatch
from app.services.tutor.offline.finding.knowledge import Card, fact, general_knowledge
from app.services.tutor.offline.finding.ranking import Ranking

OWN_COUNTS = 1.15
"""What an author's fact counts beside what holds everywhere."""
_READ_COUNTS = 0.8  # a paragraph of the lesson after it: it was not written as an answer
_SUPPORTS = 0.22  # of an answer that a passage must cover to be named as its source
_SENTENCES = 3
_FENCE = re.compile(r"^(```|~~~).*?^\1|^\$\$.*?\$\$|^(?: {4}|\|)[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*`])")
_SENTENCE = re.compile(r"(?<![.?!;])[.?!;]+(?:\s+|$)|\n")
_FEWEST_WORDS = 2  # of a sentence that is looked up by itself
_SPACE_BEFORE_LIST = re.compile(r"^[^\S\n]*(?:[-*]|\d+\.)\s+", re.MULTILINE)
_PART_OF_QUESTION = 0.9  # what a sentence counts that is only a part of what was asked


@dataclass(frozen=True)
class Topic:
    """What answers a question."""

    card: Card
    score: float
    """How well it fits, 0 to about 1."""
    is_own: bool
    """Is it of this exercise or its lesson, not of PyTorch in general?"""

    @property
    def sure(self) -> bool:
        """Does it fit so well that it can stand alone?"""
        return self.score >= SURE


class Evidence:
    """All that may be said about one question, ranked."""

    def __init__(self, context: TutorContext, question: str) -> None:
        """Read the question's words, with slips put right by the words that are known."""
        self._context = context
        self._index = general_index()
        self._terms = self._index.terms(question)
        self.question = [term for term in self._terms if self._index.is_telling(term)]
        """The words of it that say what it is about."""
        parts = (self._index.terms(part) for part in _SENTENCE.split(question))
        self._parts = [part for part in parts if sum(map(self._index.is_telling, part)) >= _FEWEST_WORDS]

    @cached_property
    def topics(self) -> list[Topic]:
        """Return what answers the question, the best first; what was answered before is left out."""
        already_said = [one.answer for one in self._context.earlier]
        best: dict[tuple[bool, int], Topic] = {}
        for share, terms in ((1.0, self._terms), *((_PART_OF_QUESTION, part) for part in self._parts)):
            for key, topic in self._found(terms, share):
                if key not in best or best[key].score < topic.score:
                    best[key] = topic
        good = (one for one in best.values() if one.score >= GOOD_ENOUGH and one.card.says)
        fresh = [one for one in good if not any(one.card.says in answer for answer in already_said)]
        return sorted(fresh, key=lambda one: -one.score)

    def sources(self, answer: str) -> tuple[Passage, ...]:
        """Return the section that an answer rests on, if there is one: it has to share the answer's words."""
        words = [*self.question, *self.question, *_terms(answer)]
        found = self._passage_ranking.best(words)
        return (self._context.passages[found[0].index],) if found and found[0].score >= _SUPPORTS else ()

    def nearest_section(self) -> str:
        """Return the title of the section of the lesson nearest to the question; empty if none shares a word."""
        found = self._passage_ranking.best(self.question)
        return self._context.passages[found[0].index].title if found else ""

    def relevance(self, text: str) -> float:
        """Say how much of the question a text covers, 0 to 1."""
        words, weights = set(_terms(text)), self._index.weights
        asked = {word: weights.of(word) for word in self.question}
        return sum(weight for word, weight in asked.items() if word in words) / (sum(asked.values()) or 1.0)

    def _found(self, terms: Sequence[str], share: float) -> Iterator[tuple[tuple[bool, int], Topic]]:
        for match in self._index.best(terms):
            yield (False, match.index), Topic(self._index.cards[match.index], match.score * share, is_own=False)
        own, facts = self._own, len(self._context.facts)
        for match in own.best(terms):
            yield (True, match.index), _own_topic(own, match, facts, share)

    @cached_property
    def _own(self) -> CardIndex:
        """What the author and the lesson say."""
        texts = (
            (one.title, text)
            for one in self._context.passages
            if not one.address.endswith("#task-title")
            for text in paragraphs(one.text)
        )
        return _index_of(self._context.facts, tuple(texts))

    @cached_property
    def _passage_ranking(self) -> Ranking:
        return Ranking([_terms(f"{one.title} {one.title} {one.text}") for one in self._context.passages])


@cache
def general_index() -> CardIndex:
    """Return all cards, ready to be found; made once."""
    known = general_knowledge()
    return CardIndex(known.cards, known.lexicon)


@lru_cache(maxsize=512)
def _index_of(facts: tuple[str, ...], paragraphs_read: tuple[tuple[str, str], ...]) -> CardIndex:
    cards = [fact(text) for text in facts]
    cards += [Card(id="", asked=(title,), says=text) for title, text in paragraphs_read]
    return CardIndex(cards, general_knowledge().lexicon, general_index().weights)


def _own_topic(own: CardIndex, match: CardMatch, facts: int, share: float) -> Topic:
    counts = OWN_COUNTS if match.index < facts else _READ_COUNTS
    return Topic(own.cards[match.index], match.score * counts * share, is_own=True)


def _terms(text: str) -> tuple[str, ...]:
    return general_knowledge().lexicon.words(text)


def paragraphs(markdown: str) -> Iterator[str]:
    """Yield the paragraphs of prose in a section: no code, tables or formulas, and not more than some sentences."""
    for block in re.split(r"\n\s*\n", _FENCE.sub("", markdown)):
        flat = " ".join(_SPACE_BEFORE_LIST.sub("", block).split())
        if flat and flat[-1] in ".!?":
            yield " ".join(_SENTENCE_END.split(flat)[:_SENTENCES])
