"""How the tests of the tutor's engines ask, and how long they wait."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from app.clients.tutor import Piece, TutorContext
from app.clients.tutor.hosted import Endpoint, Timeouts
from tests.tutor.provider import Provider

KEY = "sk-of-the-provider"
QUICK = Timeouts(connect_s=2.0, first_token_s=3.0, between_tokens_s=3.0, total_s=6.0, pause_s=0.01)
HASTY = replace(QUICK, first_token_s=0.3, between_tokens_s=0.3)

Ask = Callable[..., list[Piece]]
Finish = Callable[[Coroutine[Any, Any, Any]], Any]
MakeContext = Callable[..., TutorContext]


def endpoint(provider: Provider, **facts: Any) -> Endpoint:  # noqa: ANN401
    """Return the address of the provider, and whatever else is said."""
    values: dict[str, Any] = {"base_url": provider.base_url, "model": "some-model", "api_key": SecretStr(KEY)}
    return Endpoint(**(values | facts))


def text_of(pieces: list[Piece]) -> str:
    """Return an answer as a whole."""
    return "".join(piece.text for piece in pieces)
