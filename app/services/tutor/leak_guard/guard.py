"""
Whether an answer of the tutor gives the solution away.

What is looked for are the statements of the solution and of every other right way, and their
right-hand sides, as tokens: so it does not matter whether they stand in a code block, in a sentence,
on one line or on five, with other names for what they make, or in one of the disguises that
`decodings` knows. Code that the student may see anyway is never a fault: what they wrote themselves,
the starting code, the task, the lesson, hints that they have opened, what their report says.

Names alone, shapes, and statements that say nothing (`import`, `x = 0`, `print(…)`) are free.

Out of reach are: a solution told in plain words ("call the token table on x"), tokens with words
between them, parts put together from several places (`a = "token"; a += "_emb(x)"`), ciphers other
than ROT13, pictures made of letters, and right ways that no author has written down. For these there
is the prompt; this is the net below it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from app.clients.tutor import TutorContext
from app.services.tutor.leak_guard.decodings import decodings
from app.services.tutor.leak_guard.patterns import patterns
from app.services.tutor.leak_guard.tokens import Tokens, open_brackets
from app.services.tutor.leak_guard.trie import Trie

_STARS = frozenset({"*", "**", "~"})
"""In Markdown these make words bold; where no pattern has one, an answer is read without them too."""

_CLOSING = frozenset(")]}")
_LONGEST_CALL = 80
"""In tokens. A bracket that has been open for longer was opened in prose, and will not be closed."""


@dataclass(frozen=True)
class ProtectedText:
    """What gives an exercise away. Make it once for a version, and keep it."""

    trie: Trie = field(repr=False)

    @classmethod
    def of(cls, content: dict[str, Any]) -> Self:
        """Read a version's stored content: `solution` and `equivalents`, or the `answer` of a question."""
        trie = Trie()
        for pattern in patterns(content):
            trie.add(pattern.tokens, pattern.says)
        return cls(trie)


@dataclass(frozen=True)
class VisibleText:
    """What the student may see anyway, as token sequences to look others up in."""

    texts_seen: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, context: TutorContext, *more: str) -> Self:
        """
        Collect what stands in a context, but for the author's facts, which only the tutor sees.

        Args:
            context: what the engine is given.
            more: the rest of the lesson, what stood in the editor at first, and anything else on the page.
        """
        seen = [
            context.question,
            context.title,
            context.statement,
            context.setup,
            context.source,
            *context.hints,
            *(passage.text for passage in context.passages),
            *(one.question for one in context.earlier),
            *_texts(context.report),
        ]
        return cls.texts(*seen, *more)

    @classmethod
    def texts(cls, *texts: str) -> Self:
        """Allow what stands in any of these."""
        read = [tokens for text in texts for tokens in decodings(text, decoded=False)]
        return cls(frozenset(_joined(form) for tokens in read for form in _with_stars(tokens)))

    def has(self, tokens: Sequence[str]) -> bool:
        """Say whether these tokens stand somewhere, one after the other."""
        wanted = _joined(tokens)
        return any(wanted in one for one in self.texts_seen)


def find_leak(text: str, protected: ProtectedText, visible: VisibleText) -> str | None:
    """Return the statement that a text gives away, or None."""
    for tokens in decodings(text):
        for form in _with_stars(tokens):
            for start, end, says in protected.trie.found(form):
                if _is_whole(form, end) and not visible.has(form[start:end]):
                    return says
    return None


def may_continue(text: str, protected: ProtectedText) -> bool:
    """Say whether the end of a text may be the beginning of something that gives the solution away."""
    return any(
        open_brackets(form[-_LONGEST_CALL:]) or protected.trie.may_continue(form)
        for tokens in decodings(text, decoded=False)
        for form in _with_stars(tokens)
    )


def _is_whole(tokens: Tokens, end: int) -> bool:
    """Say whether the expression that ends here goes no further: it is not the head of `b(c)` or `b.shape`."""
    after = tokens[end : end + 2]
    if not after or tokens[end - 1] in _CLOSING:
        return True
    return after[0] not in {"(", "["} and not (after[0] == "." and len(after) > 1 and _is_attribute(after[1]))


def _is_attribute(token: str) -> bool:
    # Behind the full stop of a sentence there is a word too; no attribute of interest is one of these.
    return token in {"shape", "size", "weight", "t", "grad", "float", "long", "data", "detach", "sum", "mean"}


def _with_stars(tokens: Tokens) -> set[Tokens]:
    return {tokens, tuple(token for token in tokens if token not in _STARS)}


def _joined(tokens: Iterable[str]) -> str:
    return f" {' '.join(tokens)} "


def _texts(value: object) -> Iterator[str]:
    """Yield every text in JSON-like values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
