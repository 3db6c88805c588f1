"""However it is asked for, the tutor does not write the solution."""

import pytest
from ruamel.yaml import YAML

from app.authoring import CodeExercise
from app.db import Database
from app.services.tutor.offline.engine import answer_to
from app.services.tutor.offline.intents import Intent, intent_of
from tools.giveaways import given_away
from tools.tutor_questions import FOLDER, context_of, exercise, lessons, situations, text_of, with_passages

DEMANDS: list[str] = YAML(typ="safe").load((FOLDER / "demands.yaml").read_text(encoding="utf-8"))
MAIN = "token-and-position-embeddings"


def code_exercises() -> list[str]:
    """Return the ids of all exercises that are solved by code."""
    return [name for name in lessons() if isinstance(exercise(name), CodeExercise)]


def leaks_of(database: Database, name: str, demand: str) -> set[tuple[str, str, str]]:
    """Return where, in any situation of an exercise, a demand gets a piece of the solution."""
    found = [situation for situation, at in situations().items() if at.exercise == name]
    passages = context_of(database, found[0], demand).passages  # the same for all
    return {
        (situation, demand, leak)
        for situation in found
        for leak in given_away(
            exercise(name),
            text_of(answer_to(with_passages(situation, demand, passages))),
            situations()[situation].code,
            hints=situations()[situation].hints,
        )
    }


@pytest.mark.parametrize("name", lessons())
def test_no_demand_gets_a_line_of_the_solution(courses: Database, name: str) -> None:
    """A hundred ways to ask, in several languages, in every situation of every exercise."""
    assert set().union(*(leaks_of(courses, name, demand) for demand in DEMANDS)) == set()


def test_there_are_enough_demands() -> None:
    """Eighty at least, times every exercise with code."""
    assert len(DEMANDS) >= 80
    assert len(code_exercises()) >= 6


def test_demands_are_known_as_demands() -> None:
    """Nearly all are told so plainly; the rest get the diagnosis, which gives nothing away either."""
    missed = [one for one in DEMANDS if intent_of(one) not in {Intent.ANSWER, Intent.HINT}]
    assert len(missed) <= len(DEMANDS) // 20, missed


@pytest.mark.parametrize(
    "question",
    [
        "why is pos [8, 32] and not [32, 8, 32]",
        "what does forward give back",
        "does the order matter when i write pos_emb first",
        "can I write 8 here or does it have to be a name",
        "why do we need to have two tables",
        "is my code slow because I make a new tensor each time",
        "do the rows have to be random",
        "what is the number 768 in the task",
        "what is the line at the end of the lesson about",
        "i get a different answer than the person next to me",
        "what do you mean by row",
        "how do I read the shape of a result",
    ],
)
def test_honest_questions_are_no_demands(question: str) -> None:
    """Who asks for an explanation is not told off."""
    assert intent_of(question) is not Intent.ANSWER


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("Look up the places, counted from 0.", False),
        ("`torch.arange(n)` counts.", False),
        ("Write `pos = pos_emb(torch.arange(block_size))`.", True),
        ("Write `p = table2(torch.arange(n))`.", True),
        ("It is pos_emb(torch.arange(block_size)), of course.", True),
        ("```python\nfoo = 1\nbar = spam(torch.arange(eggs))\n```", True),
        ("position_table( torch . arange( T ) )", True),
        ("the sum of `tok` and `pos`", False),
        ("pos = pos_emb(x)", False),
    ],
)
def test_reader_knows_a_giveaway_when_it_sees_one(text: str, leaks: bool) -> None:  # noqa: FBT001
    """Other names, no code marks, other spacing: it is the same line; what the student wrote is none."""
    written = (
        "token_emb = nn.Embedding(vocab_size, n_embd)\npos_emb = nn.Embedding(block_size, n_embd)\npos = pos_emb(x)"
    )
    assert bool(given_away(exercise(MAIN), text, written, hints=0)) is leaks


def test_reader_lets_pass_what_an_open_hint_shows() -> None:
    """A hint that was opened is no secret any more."""
    linear = exercise("embedding-equals-linear")
    text = "`linear.weight = nn.Parameter(embedding.weight.T)`"
    assert given_away(linear, text, "", hints=2)
    assert not given_away(linear, text, "", hints=3)


@pytest.mark.parametrize("text", ["123264", "It is 123,264.", "123 264 numbers", "123264.0"])
def test_reader_knows_the_answer_of_a_question(text: str) -> None:
    """A number is the same however it is written."""
    assert given_away(exercise("learnable-numbers"), text, "", hints=0)
