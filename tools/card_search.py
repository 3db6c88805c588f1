"""Asking the offline tutor's index for cards: with wordings that it has never seen, and about something else."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.services.tutor.offline.finding.card_index import CardIndex
from app.services.tutor.offline.finding.knowledge import Card, general_knowledge
from app.settings import ROOT

OFF_TOPIC = ROOT / "tests/tutor/off_topic.txt"


@dataclass(frozen=True)
class HeldOutQuestion:
    """A question that was asked of the index."""

    question: str
    wanted: str
    """The card's id; empty if none."""
    found: str
    score: float
    took_ms: float


def figures(asked: Sequence[HeldOutQuestion], threshold: float) -> tuple[float, float]:
    """Return recall and precision of what scores at least the threshold."""
    answered = [one for one in asked if one.score >= threshold]
    right = sum(one.found == one.wanted for one in answered)
    return right / len(asked), right / max(1, len(answered))


def asked_of_held_out() -> Iterator[HeldOutQuestion]:
    """Ask each wording of an index that lacks it."""
    known = general_knowledge()
    for turn in range(max(len(card.asked) for card in known.cards)):
        index = CardIndex([without(card, turn) for card in known.cards], known.lexicon)
        for card in known.cards:
            if turn < len(card.asked):
                yield _ask(index, card.asked[turn], card.id)


def asked_of_all(questions: Sequence[str]) -> Iterator[HeldOutQuestion]:
    """Ask questions that no card is about."""
    known = general_knowledge()
    index = CardIndex(known.cards, known.lexicon)
    for question in questions:
        yield _ask(index, question, "")


def off_topic() -> list[str]:
    """Read the questions about something else."""
    return [line for line in OFF_TOPIC.read_text(encoding="utf-8").splitlines() if line]


def without(card: Card, turn: int) -> Card:
    """Return a card without one of its wordings."""
    return replace(card, asked=card.asked[:turn] + card.asked[turn + 1 :])


def _ask(index: CardIndex, question: str, wanted: str) -> HeldOutQuestion:
    began_s = time.perf_counter()
    found = index.best(index.terms(question))
    took_ms = 1000 * (time.perf_counter() - began_s)
    if not found:
        return HeldOutQuestion(question, wanted, "", 0.0, took_ms)
    return HeldOutQuestion(question, wanted, index.cards[found[0].index].id, found[0].score, took_ms)
