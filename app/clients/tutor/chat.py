"""
What a chat-completions endpoint says, read with care: providers differ, and some are broken.

A chunk of a stream and a whole answer are the same but for one word (`delta`, `message`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from app.clients.tutor.port import EngineFailed

BUSY = frozenset({429, 503, 529})
"""Statuses with which a provider says that it has too much to do; 529 is one of theirs."""
MAY_PASS = frozenset({429, 500, 502, 503, 504, 529})
"""Statuses after which another try is worth while."""

_CUT_OFF = frozenset({"length", "max_tokens", "content_filter"})
_THOUGHT, _THOUGHT_END = "<think>", "</think>"


@dataclass(frozen=True)
class Chunk:
    """A step of an answer."""

    text: str = ""
    is_alive: bool = False
    """Whether the model has made something, be it a thought that is not shown."""
    is_finished: bool = False
    """Whether the model has said that this was all."""
    tokens: int | None = None
    """What prompt and answer have cost, where it is told."""


class ProviderError(EngineFailed):
    """The provider says itself that something is wrong."""

    def __init__(self, status: int | None) -> None:
        """`status` is that of the answer, or the code of an error inside a stream; None if it names none."""
        super().__init__("busy" if status in BUSY else "unreachable" if status in MAY_PASS else "refused")
        self.status = status


def read_chunk(data: str | bytes) -> Chunk:
    """
    Read one chunk, or a whole answer.

    Raises:
        EngineFailed: `malformed`, or what the chunk says of a failure (`refused`, `busy`, `cut-off`).
    """
    chunk = _object(data)
    if chunk.get("error"):
        raise ProviderError(_code(chunk["error"]))
    tokens = _tokens(chunk.get("usage"))
    choices = chunk.get("choices") or []
    if not isinstance(choices, list):
        raise EngineFailed("malformed")
    for choice in choices:
        if not isinstance(choice, dict):
            raise EngineFailed("malformed")
        if choice.get("index") in {0, None}:
            return _read_choice(choice, tokens)
    return Chunk(tokens=tokens)  # the one with the usage, or one for another answer


def _read_choice(choice: dict[str, object], tokens: int | None) -> Chunk:
    said = choice.get("delta") or choice.get("message") or {}
    if not isinstance(said, dict):
        raise EngineFailed("malformed")
    if said.get("refusal"):
        raise EngineFailed("refused")
    reason = choice.get("finish_reason")
    if reason in _CUT_OFF:
        raise EngineFailed("cut-off")
    text = _text(said.get("content"))
    thought = said.get("reasoning_content") or said.get("reasoning")
    return Chunk(text, is_alive=bool(text or thought), is_finished=bool(reason), tokens=tokens)


def _text(content: object) -> str:
    """Return the text of a message, which some providers give in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(_text(part.get("text")) for part in content if part.get("type", "text") == "text")
    raise EngineFailed("malformed")


def _object(data: str | bytes) -> dict[str, object]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise EngineFailed("malformed") from None
    if not isinstance(value, dict):
        raise EngineFailed("malformed")
    return value


def _code(error: object) -> int | None:
    """Return the status that an error object names, as a number or in words."""
    if not isinstance(error, dict):
        return None
    for key in ("code", "status", "type"):
        value = error.get(key)
        if isinstance(value, int | str) and str(value).isdecimal() and len(str(value)) == len("429"):
            return int(value)
        if isinstance(value, str) and ("rate_limit" in value or "overloaded" in value):
            return 429
    return None


def _tokens(usage: object) -> int | None:
    """Return how many tokens were used, where it is said in a way that can be believed."""
    if not isinstance(usage, dict):
        return None
    total = usage.get("total_tokens")
    if _is_count(total):
        return total or None  # an answer for nothing is a server that does not count
    prompt, answer = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return (prompt + answer) or None if _is_count(prompt) and _is_count(answer) else None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class Wording:
    """
    Makes text that can be kept and shown out of the text of chunks.

    A pair of surrogates may be told in two chunks; what is then still alone is replaced, as is NUL,
    which no database takes. And a model that thinks aloud in front of its answer, in `<think>`, is
    not listened to until it has done so.
    """

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self._half = ""
        self._withheld = ""
        self._listen: Callable[[str], str] = self._at_beginning

    def take(self, text: str) -> str:
        """Return what can be shown now."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
        withheld, self._withheld = self._withheld, ""
        return self._listen(withheld + whole)

    def rest(self) -> str:
        """Return what was still held when nothing came any more."""
        withheld = "" if self._listen == self._while_thinking else self._withheld
        return withheld + ("\ufffd" if self._half else "")

    def _at_beginning(self, text: str) -> str:
        beginning = text.lstrip()
        if beginning.startswith(_THOUGHT):
            self._listen = self._while_thinking
            return self._while_thinking(beginning)
        if _THOUGHT.startswith(beginning):  # it may become one
            self._withheld = text
            return ""
        self._listen = str
        return text

    def _while_thinking(self, text: str) -> str:
        _, end, answer = text.partition(_THOUGHT_END)
        if not end:
            self._withheld = text[1 - len(_THOUGHT_END) :]
            return ""
        self._listen = self._at_beginning
        return self._at_beginning(answer.lstrip())
