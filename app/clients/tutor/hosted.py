"""
A tutor's engine at any endpoint that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, or a hosted one.

An answer is streamed. Until its first word it is tried up to three times, where another try is worth while; after
it never, for the student has begun to read. Four clocks run: to connect, to the first word (with all tries), from
word to word, and over the whole. An answer counts as whole only if its end was told; whatever else happens is an
`EngineFailed` with its reason. Closing the generator closes the connection, so a model stops for a student who has
gone.

Nothing here logs the key, the question, the student's code or the answer, nor what a provider says of an error,
which may quote any of them. No redirect is followed: it could carry the key to another host.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx2
import structlog
from pydantic import SecretStr

from app.clients.tutor.answers import StreamedAnswer
from app.clients.tutor.chat import MAY_PASS, ProviderError
from app.clients.tutor.port import EngineFailed, Piece, TutorContext, Usage
from app.clients.tutor.prompt import Message, messages, most_prompt_tokens
from app.clock import Clock, utc_now
from app.settings import Settings

_CONNECTIONS = 32
_MOST_ERROR_BYTES = 16 * 1024

log = structlog.get_logger()


@dataclass(frozen=True)
class Endpoint:
    """Whom to ask, and for how much."""

    base_url: str
    """With the version, such as `http://127.0.0.1:11434/v1`."""
    model: str
    api_key: SecretStr | None = None
    proxy: SecretStr | None = None
    """The only one that is used: those of the environment are not."""
    answer_tokens: int = 800


@dataclass(frozen=True)
class Timeouts:
    """How long to wait for what, in seconds."""

    connect_s: float = 5.0
    first_token_s: float = 20.0
    """From the question to the first word, all tries and pauses included."""
    between_tokens_s: float = 15.0
    total_s: float = 90.0
    pause_s: float = 0.4
    """Before the second try, on average; twice that before the third."""
    tries: int = 3


class _TryAgain(EngineFailed):
    """A failure before the first word that may pass."""

    def __init__(self, reason: str, *, after_s: float | None = None, what: object = None) -> None:
        """`after_s` is how long to wait, where the provider says so; `what` has happened is for the log."""
        super().__init__(reason)
        self.after_s, self.what = after_s, what


class _Clocks:
    """The moments, on the event loop's clock, at which patience ends."""

    def __init__(self, patience: Timeouts) -> None:
        self._patience = patience
        self._now = asyncio.get_running_loop().time
        self._first = self._now() + patience.first_token_s
        self._total = self._now() + patience.total_s
        self._next: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the model has made its first token."""
        return self._next is not None

    @property
    def deadline(self) -> float:
        """Until when the next token must be there."""
        return min(self._total, self._first if self._next is None else self._next)

    @property
    def left_s(self) -> float:
        """How long that is from now."""
        return self.deadline - self._now()

    def token(self) -> None:
        """Begin to wait for the next one."""
        self._next = self._now() + self._patience.between_tokens_s


class HostedEngine:
    """Answers with a model behind an HTTP endpoint. Keep one, for its connections, and close it at the end."""

    name = "hosted"

    def __init__(self, endpoint: Endpoint, patience: Timeouts | None = None, *, clock: Clock = utc_now) -> None:
        """Prepare; nothing is asked yet."""
        self._endpoint, self._patience, self._clock = endpoint, patience or Timeouts(), clock
        self._limit_name = "max_tokens"
        self._asks_for_usage = True
        waits = self._patience
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(connect=waits.connect_s, write=waits.connect_s, read=None, pool=waits.first_token_s),
            limits=httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS // 4),
            proxy=endpoint.proxy.get_secret_value() if endpoint.proxy else None,
            trust_env=False,
            follow_redirects=False,
        )

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._client.aclose()

    def most_tokens(self, context: TutorContext) -> int:
        """Return a bound on what an answer costs: see `most_prompt_tokens`, and the limit on the answer."""
        return self._most_tokens(messages(context, nonce=_nonce()))

    async def answer(self, context: TutorContext) -> AsyncGenerator[Piece]:
        """
        Answer piece by piece; the last piece says what was used.

        Raises:
            EngineFailed: with any of its reasons.
        """
        sent, clocks = messages(context, nonce=_nonce()), _Clocks(self._patience)
        for number in range(1, self._patience.tries + 1):
            try:
                async with aclosing(self._try(sent, clocks)) as pieces:
                    async for piece in pieces:
                        yield piece
            except _TryAgain as failure:
                log.warning("hosted model failed", reason=failure.reason, what=failure.what, attempt=number)
                await self._pause(failure, number, clocks)
            except EngineFailed as failure:
                log.warning("hosted model failed", reason=failure.reason, attempt=number, begun=clocks.has_begun)
                raise
            else:
                return

    async def _pause(self, failure: _TryAgain, number: int, clocks: _Clocks) -> None:
        """Wait until the next try; raise the failure if there is none, or no time for it."""
        # Spread, so that those who were refused together do not come back together.
        spread = 0.5 + secrets.SystemRandom().random()
        wait_s = self._patience.pause_s * 2 ** (number - 1) * spread if failure.after_s is None else failure.after_s
        if clocks.has_begun or number == self._patience.tries or wait_s >= clocks.left_s:
            raise failure
        await asyncio.sleep(wait_s)

    async def _try(self, sent: list[Message], clocks: _Clocks) -> AsyncGenerator[Piece]:
        async with self._response(sent, clocks) as response:
            answer = StreamedAnswer(response.aiter_raw(), most_tokens=self._endpoint.answer_tokens)
            async with aclosing(answer.texts(lambda: clocks.deadline, on_token=clocks.token)) as texts:
                async for text in texts:
                    yield Piece(text)
            tokens = self._most_tokens(sent) if answer.tokens is None else answer.tokens
            yield Piece(answer.rest(), usage=Usage(tokens))
            await answer.drain()

    @asynccontextmanager
    async def _response(self, sent: list[Message], clocks: _Clocks) -> AsyncIterator[httpx2.Response]:
        """Ask, and give the answer if it is one. What goes wrong on the way is told in our own terms."""
        response: httpx2.Response | None = None
        try:
            async with asyncio.timeout_at(clocks.deadline):
                response = await self._client.send(self._request(sent), stream=True)
                await self._check(response)
            yield response
        except TimeoutError:
            raise EngineFailed("timeout") from None
        except httpx2.PoolTimeout:
            raise EngineFailed("busy") from None
        except httpx2.HTTPError as error:
            raise _TryAgain("cut-off" if response else "unreachable", what=type(error).__name__) from None
        except ProviderError as error:
            if clocks.has_begun or error.status not in MAY_PASS:
                raise
            raise _TryAgain(error.reason, what=error.status) from None
        finally:
            if response is not None:
                await response.aclose()

    def _request(self, sent: list[Message]) -> httpx2.Request:
        body: dict[str, object] = {
            "model": self._endpoint.model,
            "messages": sent,
            "stream": True,
            self._limit_name: self._endpoint.answer_tokens,
        }
        if self._asks_for_usage:
            body["stream_options"] = {"include_usage": True}
        # A compressed stream comes late, and a small one may grow without bounds.
        headers = {"Accept": "text/event-stream, application/json", "Accept-Encoding": "identity"}
        if self._endpoint.api_key:
            headers["Authorization"] = f"Bearer {self._endpoint.api_key.get_secret_value()}"
        address = f"{self._endpoint.base_url.rstrip('/')}/chat/completions"
        return self._client.build_request("POST", address, json=body, headers=headers)

    async def _check(self, response: httpx2.Response) -> None:
        """Raise what a status says; the body is read only to find a word that the provider does not know."""
        status = response.status_code
        if response.is_success:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise EngineFailed("malformed")
            return
        if status in MAY_PASS:
            after_s = _after_s(response.headers.get("retry-after"), self._clock)
            raise _TryAgain(ProviderError(status).reason, after_s=after_s, what=status)
        if status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY} and await self._adapts(response):
            raise _TryAgain("refused", after_s=0, what=status)
        log.error("hosted model refuses: look at its address, key and name", status=status)
        raise EngineFailed("refused")

    async def _adapts(self, response: httpx2.Response) -> bool:
        """Put a request right for a provider that calls the limit otherwise, or tells no usage; say if that helps."""
        said = b""
        async for piece in response.aiter_raw():
            said += piece
            if len(said) > _MOST_ERROR_BYTES:
                break
        if self._limit_name == "max_tokens" and b"max_completion_tokens" in said:
            self._limit_name = "max_completion_tokens"
            return True
        if self._asks_for_usage and b"stream_options" in said:
            self._asks_for_usage = False
            return True
        return False

    def _most_tokens(self, sent: list[Message]) -> int:
        return most_prompt_tokens(sent) + self._endpoint.answer_tokens


def hosted_engine(settings: Settings) -> HostedEngine | None:
    """Return the engine that the settings describe; None if they name no endpoint."""
    if settings.tutor_base_url is None:
        return None
    endpoint = Endpoint(
        base_url=settings.tutor_base_url,
        model=settings.tutor_model,
        api_key=settings.tutor_api_key,
        proxy=settings.tutor_proxy,
        answer_tokens=settings.tutor_answer_tokens,
    )
    first_token_s = settings.tutor_first_token_s
    patience = Timeouts(
        connect_s=min(Timeouts.connect_s, first_token_s),
        first_token_s=first_token_s,
        between_tokens_s=min(Timeouts.between_tokens_s, first_token_s),
        total_s=settings.tutor_total_s,
    )
    return HostedEngine(endpoint, patience)


def _nonce() -> str:
    return secrets.token_hex(16)


def _after_s(sent: str | None, clock: Clock) -> float | None:
    """Return how long a Retry-After asks to wait: seconds, or a date. None if it says neither."""
    if sent is None:
        return None
    if sent.strip().isdecimal():
        return float(sent)
    try:
        return max(0.0, (parsedate_to_datetime(sent) - clock()).total_seconds())
    except (ValueError, TypeError):  # no date, or one that does not say in which zone
        return None
