"""Questions without an answer are put together by likeness, and become the beginnings of cards."""

from ruamel.yaml import YAML

from app.services.tutor.unanswered import grouped

ASKED = [
    ("how do i freeze the second table", "one"),
    ("how can i freeze my second table??", "two"),
    ("How do I freeze the second table", "one"),
    ("what is a quaternion", "one"),
]


def test_questions_that_are_alike_stand_together() -> None:
    """The most frequent first, with each wording once and the exercises beside which they were asked."""
    first, second = grouped(ASKED)
    assert (first.times, first.exercises) == (3, {"one", "two"})
    assert first.questions == [ASKED[0][0], ASKED[1][0], ASKED[2][0]]
    assert (second.times, second.questions) == (1, ["what is a quaternion"])


def test_group_becomes_the_beginning_of_a_card() -> None:
    """It is YAML of the form of the cards, whatever was asked."""
    hostile = '"]} : - #\n& *x `y` {{ 7 * 7 }} <b>'
    for group in grouped([*ASKED, (hostile, "one")]):
        (card,) = YAML(typ="safe").load(group.card)
        assert card.keys() == {"id", "ask", "say", "then"}
        assert card["ask"] == group.questions[:5]


def test_nothing_asked_is_nothing_shown() -> None:
    """Without questions there are no groups."""
    assert grouped([]) == []
