"""The engine in front of a model elsewhere, against a provider that misbehaves, over real sockets."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from app.clients.tutor import EngineFailed
from app.clients.tutor.hosted import HostedEngine, hosted_engine
from app.settings import Settings
from tests.tutor import provider as say
from tests.tutor.asking import HASTY, KEY, QUICK, Ask, Finish, MakeContext, endpoint, text_of
from tests.tutor.provider import ANSWER, Provider


def test_answer_arrives_in_the_pieces_in_which_it_was_sent(ask: Ask, provider: Provider) -> None:
    """A student reads along, and what was used is told at the end."""
    provider.behaviour = say.answers("What ", "is ", "`pos`?")
    pieces = ask()
    assert [piece.text for piece in pieces] == ["What ", "is ", "`pos`?", ""]
    assert pieces[-1].usage is not None
    assert pieces[-1].usage.tokens == 42


def test_request_is_what_the_protocol_asks_for(ask: Ask, provider: Provider) -> None:
    """Address, key, model, limit, and the wish for a stream with its usage."""
    ask(answer_tokens=500)
    (asked,) = provider.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "some-model"
    assert asked.body["max_tokens"] == 500
    assert asked.body["stream"] is True
    assert asked.body["stream_options"] == {"include_usage": True}


def test_server_without_a_key_gets_none(provider: Provider, context: MakeContext, finish: Finish) -> None:
    """A model on one's own machine needs no key."""

    async def story() -> None:
        engine = HostedEngine(endpoint(provider, api_key=None), QUICK)
        async for _ in engine.answer(context()):
            pass
        await engine.aclose()

    finish(story())
    assert "authorization" not in provider.asked[0].headers


def test_connection_is_used_again(ask: Ask, provider: Provider) -> None:
    """Five answers need one connection."""
    ask(times=5)
    assert (len(provider.asked), provider.connections) == (5, 1)


@pytest.mark.parametrize("how", ["no usage", "zeros", "nonsense"])
def test_without_believable_usage_the_bound_is_charged(
    ask: Ask, provider: Provider, context: MakeContext, how: str
) -> None:
    """A server that does not count, or counts nothing, is charged for as much as it may have cost."""
    usage: dict[str, Any] = {"no usage": {}, "zeros": {"total_tokens": 0}, "nonsense": {"total_tokens": -3}}
    provider.behaviour = say.answers(usage=usage[how])
    told = ask()[-1].usage
    assert told is not None
    assert told.tokens == HostedEngine(endpoint(provider)).most_tokens(context())


def test_bound_is_above_what_was_sent(ask: Ask, provider: Provider, context: MakeContext) -> None:
    """A token is at least one byte: no prompt has more tokens than the bound says."""
    facts = {"question": "Warum? " + "🙂ﷺ" * 500, "source": "x = 1\n" * 900}
    ask(**facts)
    sent = sum(len(one["content"].encode()) for one in provider.asked[0].body["messages"])
    assert HostedEngine(endpoint(provider, answer_tokens=100)).most_tokens(context(**facts)) > sent + 100


def test_nobody_listens(context: MakeContext, finish: Finish) -> None:
    """A port that refuses connections is told as unreachable."""
    with Provider() as gone:
        address = endpoint(gone)

    async def story() -> None:
        engine = HostedEngine(address, QUICK)
        with pytest.raises(EngineFailed, match="unreachable"):
            await anext(engine.answer(context()))
        await engine.aclose()

    finish(story())


@pytest.mark.parametrize(
    "behaviour", [say.hangs(), say.hangs(comments=True), say.hangs("What "), say.hangs("What ", comments=True)]
)
def test_silence_ends_in_a_timeout_and_is_not_tried_again(
    ask: Ask, provider: Provider, behaviour: say.Behaviour
) -> None:
    """Whether before the first word or between two; comments that keep a connection open are no words."""
    provider.behaviour = behaviour
    with pytest.raises(EngineFailed, match="timeout"):
        ask(HASTY)
    assert len(provider.asked) == 1
    assert provider.asked[0].gone.wait(5)


def test_slow_drip_ends_at_the_limit_over_the_whole(ask: Ask, provider: Provider) -> None:
    """A word now and then, for ever, meets the last of the clocks."""

    async def drips(asked: say.Asked) -> None:
        await asked.head()
        while True:
            await asked.event(say.delta("and "))
            await asyncio.sleep(0.05)

    provider.behaviour = drips
    with pytest.raises(EngineFailed, match="timeout"):
        ask(replace(QUICK, total_s=0.5))


def test_reader_who_is_slow_is_not_taken_for_a_slow_model(
    provider: Provider, context: MakeContext, finish: Finish
) -> None:
    """The clock between tokens stands still while nobody asks for the next one."""
    provider.behaviour = say.answers("one ", "two ", "three")

    async def story() -> str:
        engine, text = HostedEngine(endpoint(provider), HASTY), ""
        async for piece in engine.answer(context()):
            text += piece.text
            await asyncio.sleep(HASTY.between_tokens_s + 0.1)
        await engine.aclose()
        return text

    assert finish(story()) == "one two three"


def test_model_stops_when_the_student_goes_away(provider: Provider, context: MakeContext, finish: Finish) -> None:
    """Closing the answer closes the connection, while the model is in the middle of it."""
    provider.behaviour = say.hangs("What ")

    async def story() -> bool:
        engine = HostedEngine(endpoint(provider), QUICK)
        async with aclosing(engine.answer(context())) as pieces:
            assert (await anext(pieces)).text == "What "
        gone = await asyncio.to_thread(provider.asked[0].gone.wait, 5)
        await engine.aclose()
        return gone

    assert finish(story())


def test_model_stops_when_the_request_is_cancelled(provider: Provider, context: MakeContext, finish: Finish) -> None:
    """The same while the first word is still awaited."""
    provider.behaviour = say.hangs()

    async def story() -> bool:
        engine = HostedEngine(endpoint(provider), QUICK)
        task = asyncio.ensure_future(anext(engine.answer(context())))
        await asyncio.to_thread(provider.first.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gone = await asyncio.to_thread(provider.asked[0].gone.wait, 5)
        await engine.aclose()
        return gone

    assert finish(story())


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
def test_redirect_does_not_carry_the_key_away(ask: Ask, provider: Provider, status: str) -> None:
    """Another host that the provider points to hears nothing of us."""
    with Provider() as other:
        provider.behaviour = say.refuses(status, location=f"{other.base_url}/chat/completions")
        with pytest.raises(EngineFailed, match="refused"):
            ask()
        assert other.asked == []


@pytest.mark.parametrize(
    "behaviour",
    [
        say.plain({"choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]}),
        say.plain(
            {"choices": [{"message": {"content": [{"type": "text", "text": ANSWER}]}}]}, content_type="text/plain"
        ),
        say.answers(ANSWER, done=False),
        say.answers(ANSWER, finish=None),
        say.answers(f"<think>tok = token_emb(x)</think>\n\n{ANSWER}"),
        say.letter_by_letter(f"\n<think>so, tok = token_emb(x)</think>{ANSWER}"),
        say.sends(*(bytes([byte]) for byte in f"data: {json.dumps(say.delta(ANSWER))}\r\n\r\ndata: [DONE]".encode())),
        say.sends(
            b": hello\r", b"\n\xef\xbb\xbf\r\n", f"data: {json.dumps(say.delta(ANSWER))}\r\rdata:[DONE]\r\r".encode()
        ),
    ],
)
def test_every_way_in_which_servers_answer_is_understood(
    ask: Ask, provider: Provider, behaviour: say.Behaviour
) -> None:
    """Plain JSON, streams without an end mark or a finish reason, thoughts in front, any line ends, single bytes."""
    provider.behaviour = behaviour
    assert text_of(ask()) == ANSWER


def test_server_that_keeps_the_stream_open_after_its_end_is_not_waited_for(ask: Ask, provider: Provider) -> None:
    """The answer is whole once the model says that this was all."""

    async def lingers(asked: say.Asked) -> None:
        await asked.head()
        await asked.event(say.delta(ANSWER, finish_reason="stop"))
        await asked.closed.wait()

    provider.behaviour = lingers
    assert text_of(ask()) == ANSWER


@pytest.mark.parametrize(
    ("unknown", "left"), [("max_completion_tokens", {"stream_options"}), ("stream_options", {"max_tokens"})]
)
def test_provider_that_does_not_know_a_word_is_asked_in_its_own(
    ask: Ask, provider: Provider, unknown: str, left: set[str]
) -> None:
    """Some call the limit otherwise, and some refuse to be asked for the usage; that is learnt once."""
    provider.then([say.refuses("400 Bad Request", {"error": {"message": f"About '{unknown}': …"}})])
    ask(times=2)
    assert len(provider.asked) == 3
    known = {"max_tokens", "max_completion_tokens", "stream_options"}
    wanted = left | ({unknown} if unknown == "max_completion_tokens" else set())
    assert [known & asked.body.keys() for asked in provider.asked[1:]] == [wanted, wanted]


def test_emoji_in_two_halves_is_put_together(ask: Ask, provider: Provider) -> None:
    """Half a pair of surrogates is no text, and what is left alone at the end is replaced."""
    provider.behaviour = say.answers("a \ud83d", "\ude42 b \0", " c \ud83d")
    assert text_of(ask()) == "a 🙂 b \ufffd c \ufffd"


def test_nothing_private_is_logged(ask: Ask, provider: Provider) -> None:
    """Neither the key nor the question nor the code nor what the provider says is in the log."""
    provider.behaviour = say.refuses("401 Unauthorized", {"error": {"message": f"wrong key {KEY}: token_emb"}})
    with capture_logs() as logs, pytest.raises(EngineFailed):
        ask(question="my secret question")
    told = repr(logs)
    assert "refused" in told
    assert all(word not in told for word in (KEY, "secret question", "token_emb"))


def test_proxies_of_the_environment_are_not_used(ask: Ask, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a proxy that was set for this purpose sees what students ask."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert text_of(ask()) == ANSWER


def test_proxy_of_the_settings_is_used(provider: Provider, context: MakeContext, finish: Finish) -> None:
    """It is asked for the whole address."""
    proxy = SecretStr(provider.base_url.removesuffix("/v1"))

    async def story() -> None:
        engine = HostedEngine(endpoint(provider, base_url="http://models.invalid/v1", proxy=proxy), QUICK)
        async for _ in engine.answer(context()):
            pass
        await engine.aclose()

    finish(story())
    assert provider.asked[0].path == "http://models.invalid/v1/chat/completions"


def test_settings_make_the_engine() -> None:
    """Without an address there is none."""
    assert hosted_engine(Settings()) is None
    engine = hosted_engine(Settings(tutor_base_url="http://127.0.0.1:11434/v1/", tutor_model="llama"))
    assert engine is not None
    assert engine.name == "hosted"


def test_a_share_of_the_answers_can_be_made_to_fail(provider: Provider, ask: Ask) -> None:
    """The provider of these tests fails as often as it is told to, always the same requests."""
    provider.failing = say.Share(30)
    outcomes = []
    for _ in range(10):
        try:
            outcomes.append(bool(text_of(ask())))
        except EngineFailed:
            outcomes.append(False)
    assert outcomes.count(False) == 3
    assert [n in say.Share(30) for n in range(1, 11)] == [not done for done in outcomes]
