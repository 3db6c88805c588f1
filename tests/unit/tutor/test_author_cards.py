"""Authors see which questions find their facts, and which cards these stand before."""

from app.cli.check import tutor_lines
from app.services.tutor.offline.author_cards import author_cards

HAMSTER = "Why does the hamster rotate, what turns the hamster? It likes to."


def test_fact_is_found_by_its_wordings() -> None:
    """Each wording of its question leads to it."""
    (card,) = author_cards([HAMSTER])
    assert card.wordings == ("Why does the hamster rotate", "what turns the hamster?")
    assert (card.lost, card.shadows) == ((), ())
    assert tutor_lines([HAMSTER]) == ["tutor: “Why does the hamster rotate” is found by 2 of 2 wordings"]


def test_fact_that_another_fact_hides_is_named() -> None:
    """Of two facts with the same question, the second is never found, and the author is told."""
    first, second = author_cards(["What is a glorp? One thing.", "What is a glorp? Another thing."])
    assert first.lost == ()
    assert second.lost == (("What is a glorp?", "One thing."),)


def test_fact_that_stands_before_a_card_is_a_warning() -> None:
    """A fact with the words of a card takes its questions over beside this exercise."""
    (card,) = author_cards(["What is padding_idx, what does padding_idx do? Nothing here."])
    assert "embedding-padding-idx" in card.shadows
    assert any(
        "stands before" in line and "embedding-padding-idx" in line
        for line in tutor_lines(["What is padding_idx, what does padding_idx do? Nothing here."])
    )
