"""Looking for many sequences of tokens at once, all their beginnings shared."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.services.tutor.leak_guard.tokens import Tokens, is_word

WILD = "*name*"
"""Stands for any name; no token looks like it."""


@dataclass
class Trie:
    """What may follow a beginning. The root is the empty beginning."""

    following: dict[str, "Trie"] = field(default_factory=dict)
    says: str | None = None
    """Of a whole sequence: what was added with it."""
    is_specific: bool = False
    """Whether the beginning has a name of its own, so that it is more than punctuation between any names."""
    depth: int = 0
    """Of the root: how many tokens the longest sequence has."""

    def add(self, tokens: Tokens, says: str) -> None:
        """Take a sequence in, in which `WILD` may stand for any name."""
        self.depth = max(self.depth, len(tokens))
        node = self
        for token in tokens:
            is_specific = node.is_specific or (token != WILD and is_word(token))
            node = node.following.setdefault(token, Trie(is_specific=is_specific))
        node.says = node.says or says

    def found(self, tokens: Tokens) -> Iterator[tuple[int, int, str]]:
        """Yield where a sequence begins and ends in these tokens, and what was added with it."""
        words = [is_word(token) for token in tokens]
        for start in range(len(tokens)):
            for end, node in self._walk(tokens, start, words):
                if node.says is not None:
                    yield start, end, node.says

    def may_continue(self, tokens: Tokens) -> bool:
        """Say whether the tokens end in the midst of a sequence, behind a name of its own."""
        tokens = tokens[-self.depth :] if self.depth else ()
        words = [is_word(token) for token in tokens]
        return any(
            end == len(tokens) and node.is_specific and bool(node.following)
            for start in range(len(tokens))
            for end, node in self._walk(tokens, start, words)
        )

    def _walk(self, tokens: Tokens, start: int, words: list[bool]) -> "Iterator[tuple[int, Trie]]":
        """Yield the nodes that are reached from a start, each with the place behind it."""
        nodes: list[Trie] = [self]
        for position in range(start, len(tokens)):
            names = (tokens[position], WILD) if words[position] else (tokens[position],)
            nodes = [node.following[name] for node in nodes for name in names if name in node.following]
            if not nodes:
                return
            for node in nodes:
                yield position + 1, node
