"""A provider on loopback, what an engine is given to answer, and a database with the courses."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.clients.tutor import Exchange, Passage, Piece, TutorContext
from app.clients.tutor.hosted import HostedEngine, Timeouts
from app.db import Database
from graders.report import CheckResult, CheckStatus, Misconception, TensorShape
from tests.reports import report_with
from tests.tutor.asking import QUICK, Finish, MakeContext, endpoint
from tests.tutor.provider import Provider
from tools.tutor_questions import imported

CONTEXT = TutorContext(
    question="Why is pos [8, 32] and not [32, 8, 32]?",
    exercise_id="token-and-position-embeddings",
    title="Token and position embeddings",
    statement="Give every character of a window its **token row** plus its **position row**.",
    setup="block_size = 8\n",
    names=("tok", "pos", "h"),
    facts=("pos has no batch axis.",),
    hints=("A table does not know what its rows stand for.",),
    hints_left=2,
    source="tok = token_emb(x)\n",
    report=report_with(
        checks=(CheckResult("pos", "`pos` holds the rows", CheckStatus.FAILED, "One axis too many."),),
        misconception=Misconception("mix-up", "You look up `x` in the position table."),
        output="printed by the student\n",
        tensors=(TensorShape("pos", ("position", "channel"), (8, 31), (8, 32), "torch.float32"),),
    ),
    lesson_title="From ids to vectors",
    passages=(Passage("Where does a character stand?", "A second table.", "/exercises/x#where"),),
    earlier=(Exchange("What is a table?", "What do you think its rows are?"),),
)


@pytest.fixture
def context() -> Callable[..., TutorContext]:
    """Return a function that makes a question with all that belongs to it, and whatever else is said."""

    def make(**facts: Any) -> TutorContext:  # noqa: ANN401
        return replace(CONTEXT, **facts)

    return make


@pytest.fixture
def provider() -> Iterator[Provider]:
    """Give a provider that answers well until it is told to do otherwise."""
    with Provider() as provider:
        yield provider


@pytest.fixture
def ask(provider: Provider, context: MakeContext, finish: Finish) -> Callable[..., list[Piece]]:
    """Give a function that asks the provider a question, and returns all pieces of the answer."""

    def asked(patience: Timeouts = QUICK, *, times: int = 1, answer_tokens: int = 800, **facts: Any) -> list[Piece]:  # noqa: ANN401
        async def story() -> list[Piece]:
            engine = HostedEngine(endpoint(provider, answer_tokens=answer_tokens), patience)
            try:
                told = [[piece async for piece in engine.answer(context(**facts))] for _ in range(times)]
            finally:
                await engine.aclose()
            return told[-1]

        found: list[Piece] = finish(story())
        return found

    return asked


@pytest.fixture(scope="session")
def courses() -> Iterator[Database]:
    """Give a database with the courses in it."""
    with imported() as database:
        yield database
