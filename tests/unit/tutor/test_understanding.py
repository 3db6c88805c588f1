"""What a question wants is understood before anything is looked up."""

from dataclasses import replace

import pytest

from app.clients.tutor import Allowance, Exchange, QuestionOutcome, TutorContext
from app.services.tutor.offline.engine import answer_to
from app.services.tutor.offline.tongue import tongue_of
from tools.tutor_questions import with_passages

FREE = Allowance("Free", left=6, amount=30, period="for good", resets_at="")


def context(question: str, situation: str = "main-untouched") -> TutorContext:
    """Return what the engine is given, without passages of the lesson."""
    return with_passages(situation, question, ())


def said(question: str, situation: str = "main-untouched") -> str:
    """Return the whole answer."""
    return "\n\n".join(answer_to(context(question, situation)).paragraphs)


@pytest.mark.parametrize(
    ("question", "worked_out"),
    [
        ("how many numbers has nn.Embedding(1000, 64)?", "64000"),
        ("how many parameters does nn.Linear(10, 3) have", "33 in all"),
        ("number of weights in nn.Linear(10, 3, bias=False)", "30 weights"),
        ("how much memory does nn.Embedding(1000, 64) take", "256000 bytes"),
        ("what shape comes out of nn.Embedding(10, 4) for ids [3, 2]", "[3, 2, 4]"),
        ("what is [32, 8, 4] + [8, 4]", "[32, 8, 4]"),
        ("what is [2, 3] @ [3, 5]", "[2, 5]"),
        ("what happens with [2, 3] @ [4, 5]", "cannot be multiplied"),
        ("does [4, 3] + [4, 2] give something", "do not go together"),
        ("if batch=4 block=6 n_embd=10 and vocab=50 what shapes are tok pos h", "[4, 6, 10]"),
    ],
)
def test_question_that_gives_its_numbers_is_worked_out(question: str, worked_out: str) -> None:
    """Shapes, counted parameters and memory come from the numbers that were asked about."""
    assert worked_out in said(question)


@pytest.mark.parametrize(
    ("situation", "question"),
    [
        ("numbers-one-table", "how many numbers has nn.Embedding(65, 384)"),
        ("shapes-vocabulary", "what shape has nn.Embedding(30, 24) for ids [16, 12]"),
    ],
)
def test_number_that_the_task_asks_for_is_not_worked_out(situation: str, question: str) -> None:
    """Where the sizes are those of the question to be answered, the working out stays the student's."""
    answer = said(question, situation)
    assert "24960" not in answer
    assert "[16, 12, 24]" not in answer


def test_typed_in_size_is_named_by_what_it_stands_for() -> None:
    """`torch.arange(8)` is right today, and the name that will be right tomorrow is said."""
    answer = said("is torch.arange(8) ok?", "main-untouched")
    assert "8 stands for something here: `block_size`" in answer


def test_shape_that_is_asked_about_is_judged_by_the_last_report() -> None:
    """`is [32, 8, 32] ok` is answered with the tensor that has that shape."""
    assert "`tok` is `[32, 8, 32]`, as it should be" in said("my tok is [32, 8, 32], is that ok?", "main-passed")


def test_quota_is_said_with_the_accounts_own_numbers() -> None:
    """What is left, of how many, for how long, and what goes on when nothing is."""
    asked = replace(context("what happens when my 30 are gone, am i locked out?"), allowance=FREE)
    answer = "\n\n".join(answer_to(asked).paragraphs)
    assert "You have 6 of 30 messages left for good" in answer
    assert "checking your code" in answer


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("whats a good laptop under 1000", QuestionOutcome.ELSEWHERE),
        ("how does git rebase work", QuestionOutcome.UNKNOWN),
        ("who was the first emperor of china", QuestionOutcome.UNKNOWN),
        ("what is broadcasting", QuestionOutcome.ANSWERED),
    ],
)
def test_what_is_not_known_is_said_plainly(question: str, outcome: QuestionOutcome) -> None:
    """Neither a card about something else nor a charge: the outcome tells the ledger."""
    reply = answer_to(context(question))
    assert reply.outcome is outcome
    assert ("This answer cost you no message." in " ".join(reply.paragraphs)) is (
        outcome is not QuestionOutcome.ANSWERED
    )


@pytest.mark.parametrize("question", ["i feel so stupid", "this is so frustrating", "i'm just bad at this"])
def test_feeling_is_taken_seriously(question: str) -> None:
    """Before the next step comes a kind word."""
    assert "happens to everybody" in said(question)


def test_follow_up_is_read_with_the_question_before_it() -> None:
    """`and if it is larger?` is about what was asked before."""
    earlier = (Exchange("what does a low temperature do", "Something else."),)
    asked = replace(context("and if it is larger?", "softmax-untouched"), earlier=earlier)
    assert "Dividing by a number below 1" in " ".join(answer_to(asked).paragraphs)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Muss ich pos wiederholen, bevor ich addiere?", "de"),
        ("¿por qué sumar y no concatenar?", "es"),
        ("pourquoi additionner et pas concaténer", "fr"),
        ("por que somar e não concatenar", "pt"),
        ("为什么相加而不是拼接", "zh"),
        ("why add and not concatenate", ""),
        ("nn.Embedding(1000, 64)", ""),
        ("broadcasting", ""),
        ("tok pos h", ""),
    ],
)
def test_language_is_told_by_the_prose(question: str, language: str) -> None:
    """Code and single terms belong to no language, and what is not sure counts as English."""
    assert tongue_of(question) == language


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Muss ich pos mit expand bringen bevor ich addiere?", "nicht nötig"),
        ("por qué sumar y no concatenar", "Al sumar"),
        ("pourquoi additionner et pas concaténer", "En additionnant"),
        ("por que somar e não concatenar", "Somando"),
        ("为什么相加而不是拼接", "相加"),
    ],
)
def test_common_question_is_answered_in_its_language(question: str, words: str) -> None:
    """And nobody is asked to translate anything."""
    answer = said(question)
    assert words in answer
    assert "English" not in answer
