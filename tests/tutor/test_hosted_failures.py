"""What a hosted model's engine does about an answer that does not come, or is not whole."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from app.clients.tutor import EngineFailed
from tests.tutor import provider as say
from tests.tutor.asking import Ask, text_of
from tests.tutor.provider import ANSWER, Provider


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (say.cut_off_after("What does"), "cut-off"),
        (say.sends(b'data: {"choices": [{"delta": {"content": "Wh"}}]}\n\n'), "cut-off"),
        (say.sends(b'data: {"choices": [{"delta": {"content": "Wh"}}]}\n\ndata: {"cho'), "cut-off"),
        (say.answers("What", finish="length"), "cut-off"),
        (say.answers("What", finish="content_filter"), "cut-off"),
        (say.plain({"choices": [{"message": {"content": "What"}, "finish_reason": "length"}]}), "cut-off"),
        (say.answers(" ", "\n"), "empty"),
        (say.answers("<think>the answer is tok = token_emb(x)"), "empty"),
        (say.plain(b""), "empty"),
        (say.plain({"choices": [{"message": {"content": None}}]}), "empty"),
        (say.sends(b"data: [DONE]\n\n"), "empty"),
        (say.sends(b"data: {not json\n\n"), "malformed"),
        (say.sends(b"data: [1, 2]\n\n"), "malformed"),
        (say.sends(b'data: {"choices": "none"}\n\n'), "malformed"),
        (say.sends(b'data: {"choices": [7]}\n\n'), "malformed"),
        (say.sends(b'data: {"choices": [{"delta": "text"}]}\n\n'), "malformed"),
        (say.sends(b'data: {"choices": [{"delta": {"content": 7}}]}\n\n'), "malformed"),
        (say.sends(b"data: " + b"[" * 100_000 + b"\n\n"), "malformed"),
        (say.sends(b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n'), "malformed"),
        (say.sends(b"just words\nand more of them\n"), "malformed"),
        (say.plain(b"<html>Sign in</html>", content_type="text/html"), "malformed"),
        (say.plain(b'{"choices": [', content_type="application/json"), "malformed"),
        (say.plain(b"\x1f\x8b compressed", content_encoding="gzip"), "malformed"),
        (say.sends(b"data: " + b"x" * 600_000), "endless"),
        (say.endless(b'data: {"choices": [{"delta": {"content": "and on "}}]}\n\n'), "endless"),
        (say.endless(b"x" * 10_000), "endless"),
        (say.endless(b": nothing yet\n" * 5_000), "endless"),
        (say.sends(b'data: {"error": {"message": "no", "code": "invalid_prompt"}}\n\n'), "refused"),
        (say.sends(b'data: {"error": "no"}\n\n'), "refused"),
        (say.sends(b'data: {"choices": [{"delta": {"refusal": "I cannot"}}]}\n\n'), "refused"),
        (say.refuses("401 Unauthorized"), "refused"),
        (say.refuses("404 Not Found"), "refused"),
        (say.refuses("400 Bad Request", {"error": {"message": "context length"}}), "refused"),
    ],
)
def test_answer_that_is_not_whole_fails_with_its_reason_at_once(
    ask: Ask, provider: Provider, behaviour: say.Behaviour, reason: str
) -> None:
    """What another try would not change is told, and the provider is asked once."""
    provider.behaviour = behaviour
    with pytest.raises(EngineFailed) as failure:
        ask()
    assert failure.value.reason == reason
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (say.refuses("429 Too Many Requests"), "busy"),
        (say.refuses("429 Too Many Requests", retry_after="0"), "busy"),
        (say.refuses("500 Internal Server Error"), "unreachable"),
        (say.refuses("502 Bad Gateway"), "unreachable"),
        (say.refuses("503 Service Unavailable"), "busy"),
        (say.refuses("504 Gateway Timeout"), "unreachable"),
        (say.slams_the_door, "unreachable"),
        (say.sends(whole=False), "cut-off"),
        (say.sends(b'data: {"error": {"message": "later", "code": 429}}\n\n'), "busy"),
        (say.sends(b'data: {"error": {"type": "overloaded_error"}}\n\n'), "busy"),
    ],
)
class TestFailureThatMayPass:
    """Before the first word, there are two more tries."""

    def test_is_tried_again(self, ask: Ask, provider: Provider, failing: say.Behaviour, reason: str) -> None:  # noqa: ARG002
        """Two failures, and then the answer, as if nothing had been."""
        provider.then([failing, failing])
        assert text_of(ask()) == ANSWER
        assert len(provider.asked) == 3

    def test_is_told_when_it_does_not_pass(
        self, ask: Ask, provider: Provider, failing: say.Behaviour, reason: str
    ) -> None:
        """After the third try there is no fourth."""
        provider.behaviour = failing
        with pytest.raises(EngineFailed) as failure:
            ask()
        assert failure.value.reason == reason
        assert len(provider.asked) == 3


@pytest.mark.parametrize(
    "behaviour",
    [
        say.cut_off_after("What "),
        say.sends(
            b'data: {"choices": [{"delta": {"content": "Wh"}}]}\n\n',
            b'data: {"error": {"code": 429, "message": ""}}\n\n',
        ),
        say.sends(b'data: {"choices": [{"delta": {"reasoning_content": "hm"}}]}\n\n', whole=False),
    ],
)
def test_after_the_first_token_there_is_no_other_try(ask: Ask, provider: Provider, behaviour: say.Behaviour) -> None:
    """What a student has begun to read, or a model to think, is not begun again."""
    provider.behaviour = behaviour
    with pytest.raises(EngineFailed):
        ask()
    assert len(provider.asked) == 1


def test_retry_after_is_honoured(ask: Ask, provider: Provider) -> None:
    """A provider that says when to come back is not asked before."""
    provider.then([say.refuses("429 Too Many Requests", retry_after="1")])
    loop = asyncio.new_event_loop()
    began_s = loop.time()
    ask()
    assert loop.time() - began_s >= 1.0
    loop.close()


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_beyond_our_patience_fails_at_once(ask: Ask, provider: Provider, form: str) -> None:
    """Nobody waits for a try that comes too late."""
    moment = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    later = {"seconds": "3600", "date": moment}[form]
    provider.behaviour = say.refuses("429 Too Many Requests", retry_after=later)
    with pytest.raises(EngineFailed, match="busy"):
        ask()
    assert len(provider.asked) == 1


@pytest.mark.parametrize("later", ["soon", "Wed, 21 Oct 2015 07:28:00", "-1"])
def test_retry_after_that_says_nothing_is_passed_over(ask: Ask, provider: Provider, later: str) -> None:
    """Then the usual pause is made."""
    provider.then([say.refuses("503 Service Unavailable", retry_after=later)])
    assert text_of(ask()) == ANSWER
