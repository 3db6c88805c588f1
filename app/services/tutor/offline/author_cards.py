"""What an author's facts for the tutor are found by, and which cards of the course they stand before."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.services.tutor.offline.evidence import OWN_COUNTS, general_index
from app.services.tutor.offline.finding.card_index import GOOD_ENOUGH, CardIndex
from app.services.tutor.offline.finding.knowledge import fact, general_knowledge


@dataclass(frozen=True)
class AuthorCard:
    """A fact as the tutor uses it."""

    says: str
    wordings: tuple[str, ...]
    """By which questions it is meant to be found; empty if it begins with none."""
    lost: tuple[tuple[str, str], ...]
    """Wordings that find something else, and what; an empty text where they find nothing."""
    shadows: tuple[str, ...]
    """Ids of the cards of which some wording finds this fact instead, beside this exercise."""


def author_cards(facts: Sequence[str]) -> list[AuthorCard]:
    """Say of each fact of an exercise what it is found by, and what it shadows."""
    cards = [fact(text) for text in facts]
    general = general_index()
    own = CardIndex(cards, general_knowledge().lexicon, general.weights)
    shadowed = _shadowed(own, general)
    return [
        AuthorCard(
            says=card.says,
            wordings=card.asked,
            lost=tuple(
                (wording, found) for wording in card.asked if (found := _found(own, general, wording)) != card.says
            ),
            shadows=tuple(sorted(shadowed.get(number, ()))),
        )
        for number, card in enumerate(cards)
    ]


def _found(own: CardIndex, general: CardIndex, question: str) -> str:
    """Return the answer to a question beside the exercise; empty if there is none."""
    terms = general.terms(question)
    candidates = [(one.score * OWN_COUNTS, own.cards[one.index].says) for one in own.best(terms, most=1)]
    candidates += [(one.score, general.cards[one.index].says) for one in general.best(terms, most=1)]
    score, says = max(candidates, default=(0.0, ""))
    return says if score >= GOOD_ENOUGH else ""


def _shadowed(own: CardIndex, general: CardIndex) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for card in general.cards:
        for wording in card.asked:
            terms = general.terms(wording)
            mine, theirs = own.best(terms, most=1), general.best(terms, most=1)
            if mine and theirs and mine[0].score * OWN_COUNTS > theirs[0].score:
                found.setdefault(mine[0].index, set()).add(card.id)
    return found
