"""A hosted model that gives the solution away, over real sockets, behind the guard."""

from collections.abc import Callable

import pytest

from app.authoring import load_code_exercise
from app.clients.tutor.hosted import HostedEngine
from app.services.tutor.leak_guard.guard import ProtectedText, VisibleText
from app.services.tutor.leak_guard.stream_filter import LeakFilter, guarded
from tests.conftest import MAIN_EXERCISE
from tests.tutor import provider as say
from tests.tutor.asking import QUICK, Finish, MakeContext, endpoint
from tests.tutor.provider import ANSWER, Provider

EXERCISE = load_code_exercise(MAIN_EXERCISE)
REFERENCE = ProtectedText.of(EXERCISE.content())
REPLACEMENT = "Let us go one step back: what is a row?"
AttemptOutcome = Callable[[], tuple[str, LeakFilter]]


@pytest.fixture
def told(provider: Provider, context: MakeContext, finish: Finish) -> AttemptOutcome:
    """Give a function that asks the provider, and returns what reaches the student."""

    async def story() -> tuple[str, LeakFilter]:
        engine, asked = HostedEngine(endpoint(provider), QUICK), context(source="")
        watch = LeakFilter(REFERENCE, VisibleText.of(asked, EXERCISE.starter), REPLACEMENT)
        text = "".join([piece.text async for piece in guarded(engine.answer(asked), watch)])
        await engine.aclose()
        return text, watch

    return lambda: finish(story())


@pytest.mark.parametrize(
    "behaviour",
    [
        say.answers(f"Here you are:\n\n```python\n{EXERCISE.solution}```\n"),
        say.letter_by_letter(f"Here you are:\n\n```python\n{EXERCISE.solution}```\n"),
        say.letter_by_letter("Here you are:\n\nyou look the ids up with tok = token_emb(x), and that is it."),
        say.letter_by_letter("Here you are:\n\nWrite `a = nn.Embedding(vocab_size, n_embd)`."),
        say.letter_by_letter("Here you are:\n\nresult = pos_emb(\n  torch.arange(\n  block_size))\n"),
        say.plain({"choices": [{"message": {"content": f"Here you are:\n\n{EXERCISE.solution}"}}]}),
    ],
)
def test_solution_never_reaches_the_student(told: AttemptOutcome, provider: Provider, behaviour: say.Behaviour) -> None:
    """Whole, letter by letter, in a sentence, renamed, over several lines, or all at once."""
    provider.behaviour = behaviour
    text, watch = told()
    assert text in {f"Here you are:\n\n\n\n{REPLACEMENT}", REPLACEMENT}
    assert watch.is_replaced


def test_model_is_stopped_when_it_gives_the_solution_away(told: AttemptOutcome, provider: Provider) -> None:
    """The connection is closed, so nothing more is made and paid for."""
    provider.behaviour = say.hangs("tok = token_emb(x)\n")
    assert told()[0] == REPLACEMENT
    assert provider.asked[0].gone.wait(5)


def test_good_answer_reaches_the_student(told: AttemptOutcome) -> None:
    """To the letter."""
    text, watch = told()
    assert text == ANSWER
    assert not watch.is_replaced
