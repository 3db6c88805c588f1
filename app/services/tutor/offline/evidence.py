"""What the facts, the general knowledge and the lesson have to say on a question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.clients.tutor.port import Passage, TutorContext
from app.services.tutor.offline.knowledge import KnowledgeEntry, fact, general_knowledge
from app.services.tutor.offline.ranking import RankedText, Ranking

KNOWN = 0.42  # of a question that something must cover for it to be an answer
_SURE = 0.75
_OWN_COUNTS = 1.15  # an author's fact before what holds everywhere
_SUPPORTS = 0.22  # of an answer that a passage must cover to be named as its source
_SENTENCES = 3
_FENCE = re.compile(r"^(```|~~~).*?^\1|^\$\$.*?\$\$|^(?: {4}|\|)[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*`])")
_SENTENCE = re.compile(r"(?<![.?!;])[.?!;]+(?:\s+|$)|\n")
_FEWEST_WORDS = 2  # of a sentence that is looked up by itself
_SPACE_BEFORE_LIST = re.compile(r"^[^\S\n]*(?:[-*]|\d+\.)\s+", re.MULTILINE)


@dataclass(frozen=True)
class Topic:
    """What answers a question."""

    entry: KnowledgeEntry
    score: float
    """How much of the question it covers, 0 to about 1."""
    is_own: bool
    """Is it of this exercise or its lesson, not of PyTorch in general?"""

    @property
    def sure(self) -> bool:
        """Does it fit so well that it can stand alone?"""
        return self.score >= _SURE


class Evidence:
    """All that may be said about one question, ranked."""

    def __init__(self, context: TutorContext, question: str) -> None:
        """Read the question's words, with slips put right by the words that are known here."""
        self._context = context
        self._knowledge = general_knowledge()
        self.question = self._repaired(question)
        parts = (self._repaired(part) for part in _SENTENCE.split(question))
        self._parts = [self.question, *(part for part in parts if len(part) >= _FEWEST_WORDS)]

    @cached_property
    def topics(self) -> list[Topic]:
        """Return what answers the question, the best first; what was answered before is left out."""
        already_said = [one.answer for one in self._context.earlier]
        best: dict[int, Topic] = {}
        for one in (match for part in self._parts for match in self._ranking.best(part)):
            if one.index not in best or best[one.index].score < one.score:
                best[one.index] = self._topic(one)
        found = best.values()
        known = (one for one in found if one.score >= KNOWN and one.entry.says)
        fresh = [one for one in known if not any(one.entry.says in answer for answer in already_said)]
        return sorted(fresh, key=lambda one: -one.score)

    def sources(self, answer: str) -> tuple[Passage, ...]:
        """Return the section that an answer rests on, if there is one: it has to share the answer's words."""
        words = [*self.question, *self.question, *self._knowledge.lexicon.words(answer)]
        found = self._passage_ranking.best(words)
        return (self._context.passages[found[0].index],) if found and found[0].score >= _SUPPORTS else ()

    def relevance(self, text: str) -> float:
        """Say how much of the question a text covers, 0 to about 1."""
        words = self._knowledge.lexicon.words(text)
        found = [one for one in Ranking([words, *self._texts]).best(self.question) if one.index == 0]
        return found[0].score if found else 0.0

    @cached_property
    def _entries(self) -> Sequence[KnowledgeEntry]:
        return [*self._own, *self._knowledge.entries, *self._read]

    @cached_property
    def _own(self) -> Sequence[KnowledgeEntry]:
        return [fact(text) for text in self._context.facts]

    @cached_property
    def _read(self) -> Sequence[KnowledgeEntry]:
        """Paragraphs of the lesson, as if they were known."""
        return [
            KnowledgeEntry(title="", asked=(one.title,), says=text)
            for one in self._context.passages
            if not one.address.endswith("#task-title")
            for text in paragraphs(one.text)
        ]

    @cached_property
    def _texts(self) -> list[tuple[str, ...]]:
        return [self._knowledge.lexicon.words(one.searched) for one in self._entries]

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self._texts)

    @cached_property
    def _passage_ranking(self) -> Ranking:
        words = self._knowledge.lexicon.words
        return Ranking([words(f"{one.title} {one.title} {one.text}") for one in self._context.passages])

    def _repaired(self, question: str) -> list[str]:
        return self._knowledge.lexicon.repaired(question, self._ranking.known)

    def _topic(self, match: RankedText) -> Topic:
        entry = self._entries[match.index]
        is_fact = match.index < len(self._own)
        return Topic(entry, match.score * (_OWN_COUNTS if is_fact else 1.0), is_own=is_fact or not entry.then)


def paragraphs(markdown: str) -> Iterator[str]:
    """Yield the paragraphs of prose in a section: no code, tables or formulas, and not more than some sentences."""
    for block in re.split(r"\n\s*\n", _FENCE.sub("", markdown)):
        flat = " ".join(_SPACE_BEFORE_LIST.sub("", block).split())
        if flat and flat[-1] in ".!?":
            yield " ".join(_SENTENCE_END.split(flat)[:_SENTENCES])
