"""The cards of the offline tutor are whole, are found, and give nothing away."""

from collections import Counter
from functools import cache

import pytest

from app.services.tutor.leak_guard.guard import VisibleText, find_leak
from app.services.tutor.offline.evidence import general_index
from app.services.tutor.offline.finding.card_index import GOOD_ENOUGH
from app.services.tutor.offline.finding.knowledge import Card, general_knowledge
from app.services.tutor.offline.finding.spelling import Spelling
from benchmarks.card_search import asked_of_all, asked_of_held_out, figures, off_topic
from tests.unit.tutor.test_guard import exercises, reference
from tools.tutor_questions import exercise

WORDINGS, SENTENCES, WORDS = 5, (2, 5), 110


@cache
def cards() -> tuple[Card, ...]:
    """Return all cards."""
    return general_knowledge().cards


def test_there_are_cards_for_the_whole_course() -> None:
    """At least 250, each with a name of its own."""
    names = [card.id for card in cards()]
    assert len(names) == len(set(names)) >= 250


@pytest.mark.parametrize("card", cards(), ids=lambda card: card.id)
def test_card_is_whole(card: Card) -> None:
    """Five different wordings, an answer of a few sentences, and a question back."""
    assert len({wording.lower() for wording in card.asked}) >= WORDINGS
    assert card.then.endswith(("?", "."))
    assert "?" in card.then
    assert len(card.says.split()) <= WORDS
    assert card.says.rstrip()[-1] in ".?!"


def test_no_wording_belongs_to_two_cards() -> None:
    """Or else one of them could never be found by it."""
    often = Counter(wording.lower() for card in cards() for wording in card.asked)
    assert [wording for wording, times in often.items() if times > 1] == []


def test_questions_back_differ() -> None:
    """Not every answer ends in the same question."""
    assert Counter(card.then for card in cards()).most_common(1)[0][1] <= 2


@pytest.mark.parametrize("name", exercises())
def test_no_card_gives_an_exercise_away(name: str) -> None:
    """The leak guard reads every card, answer and question back, beside every exercise."""
    protected, visible = reference(name), VisibleText.texts()
    texts = [
        (card.id, f"{text}\n\n{card.then}")
        for card in cards()
        for text in (card.says, *(one.says for one in card.in_other_languages.values()))
    ]
    assert [card for card, text in texts if find_leak(text, protected, visible)] == []
    assert exercise(name).id == name


def test_every_wording_finds_its_card() -> None:
    """Asked as it is written, nearly every wording leads to its own card, and well enough to be answered."""
    index, missed, asked = general_index(), [], 0
    for number, card in enumerate(index.cards):
        for wording in card.asked:
            found = index.best(index.terms(wording))
            asked += 1
            if not found or found[0].index != number or found[0].score < GOOD_ENOUGH:
                missed.append(wording)
    assert len(missed) <= 0.05 * asked, missed


def test_held_out_wordings_are_found_as_well_as_they_were() -> None:
    """Half of the wordings that the index has never seen get the very card; of those answered, more than half do."""
    recall, precision = figures(list(asked_of_held_out()), GOOD_ENOUGH)
    assert recall >= 0.40
    assert precision >= 0.50


def test_questions_about_something_else_find_nothing() -> None:
    """At most three in fifty come near a card by their words alone."""
    asked = list(asked_of_all(off_topic()))
    served = [one.question for one in asked if one.score >= GOOD_ENOUGH]
    assert len(served) <= 0.06 * len(asked), served


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("brodcasting", "broadcasting"), ("embeding", "embedding"), ("gradeint", "gradient"), ("tensr", "tensor")],
)
def test_slip_of_the_keyboard_is_put_right(typed: str, meant: str) -> None:
    """A letter too few, too many, wrong or swapped."""
    assert Spelling(["broadcasting", "embedding", "gradient", "tensor"]).repaired(typed) == meant


@pytest.mark.parametrize("word", ["laptop", "pizza", "cat", "xyz"])
def test_word_that_is_no_slip_stays(word: str) -> None:
    """A word of something else does not become one of ours."""
    assert Spelling(["broadcasting", "embedding", "gradient", "tensor", "add"]).repaired(word) == word
