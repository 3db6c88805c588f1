"""
Letting an answer through as it comes, but nothing of it that gives the solution away.

Text is withheld until its line is complete, and with it the code block or the code in back-ticks that it
belongs to, and whatever may still become a line of the solution: `tok = token_emb(` at the end of a
line waits for the next one. So when something is found out, none of it has been seen. What went
before stays; what comes after is not asked for, and a text of our own stands in its place.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from anyio import to_thread

from app.clients.tutor import AttemptOutcome, EngineFailed, Passage, Piece, Usage
from app.services.tutor.leak_guard.guard import ProtectedText, VisibleText, find_leak, may_continue

MOST_CHARACTERS = 16_000
"""Of an answer that is still one."""

_FENCE = re.compile(r"\A[ \t>]*(`{3,}|~{3,})(.*)")
_GROWTH = 1.1
"""By so much a text that is withheld has to grow before it is looked at again."""
_SEEN_LINES = 3
"""So many of the last lines that were let through are looked at again with what follows."""


@dataclass
class LeakFilter:
    """What an answer must not give away, and whether it was about to."""

    protected: ProtectedText
    visible: VisibleText
    replacement: str
    """Markdown: what the student reads instead of a line of the solution."""
    most_characters: int = MOST_CHARACTERS
    leak: str | None = None
    """The statement that was about to be given away."""

    @property
    def is_replaced(self) -> bool:
        """Whether the answer was stopped, and the replacement stands at its end."""
        return self.leak is not None


async def guarded(pieces: AsyncGenerator[Piece], leak_filter: LeakFilter) -> AsyncGenerator[Piece]:
    """
    Yield an engine's answer in clean pieces, or its clean beginning and the replacement.

    Args:
        pieces: the engine's; closed at the end, whatever happens.
        watch: says afterwards whether the answer was replaced. One for each answer.

    Raises:
        EngineFailed: the engine's own, or `endless`.
    """
    withheld = _WithheldText(leak_filter)
    async with aclosing(pieces):
        async for piece in pieces:
            withheld.take(piece)
            # In a thread: measuring a long text takes a while, and others are waiting for the event loop.
            text = await to_thread.run_sync(withheld.clean) if withheld.has_new_line else ""
            if text or leak_filter.is_replaced:
                yield withheld.piece(text)
            if leak_filter.is_replaced:
                return
    yield withheld.piece(await to_thread.run_sync(withheld.rest))


@dataclass
class _WithheldText:
    """The part of an answer that has not been let through yet."""

    leak_filter: LeakFilter
    text: str = ""
    seen: str = ""
    """All that was let through."""
    has_new_line: bool = False
    judged: int = 0
    """How many characters of the text were looked at, and may go on to something: only more can change that."""
    size: int = 0
    sources: list[Passage] = field(default_factory=list)
    usage: Usage | None = None
    outcome: AttemptOutcome = AttemptOutcome.ANSWERED

    def take(self, piece: Piece) -> None:
        """Take a piece in."""
        self.text += piece.text
        self.has_new_line = "\n" in piece.text
        self.size += len(piece.text)
        self.sources += [one for one in piece.sources if one not in self.sources]
        self.usage = piece.usage or self.usage
        self.outcome = piece.outcome
        if self.size > self.leak_filter.most_characters:
            raise EngineFailed("endless")

    def piece(self, text: str) -> Piece:
        """Return a piece for the student with what was said besides its text."""
        sources, self.sources = tuple(self.sources), []
        return Piece(text, sources=sources, usage=self.usage, outcome=self.outcome)

    def clean(self) -> str:
        """Return what can be let through by now, or the replacement."""
        released, done = "", 0
        for cut in self._cuts():
            # Not at each line anew: a text that is withheld for long would take the cube of its length.
            if cut - done <= self.judged * _GROWTH:
                continue
            if self._may_go_on(cut - done):
                self.judged = cut - done
            else:
                released += self._let_through(cut - done)
                done, self.judged = cut, 0
            if self.leak_filter.is_replaced:
                break
        return released

    def rest(self) -> str:
        """Return what was withheld to the end, or the replacement: here the answer is looked at as a whole."""
        text, self.text = self.text, ""
        return self._judged(text, after=self.seen)

    def _let_through(self, cut: int) -> str:
        text, self.text = self.text[:cut], self.text[cut:]
        after = "".join(self.seen.splitlines(keepends=True)[-_SEEN_LINES:])
        return self._judged(text, after=after)

    def _judged(self, text: str, *, after: str) -> str:
        self.leak_filter.leak = find_leak(after + text, self.leak_filter.protected, self.leak_filter.visible)
        if self.leak_filter.is_replaced:
            return f"\n\n{self.leak_filter.replacement}" if self.seen else self.leak_filter.replacement
        self.seen += text
        return text

    def _may_go_on(self, cut: int) -> bool:
        return may_continue(self.text[:cut], self.leak_filter.protected)

    def _cuts(self) -> list[int]:
        """Return the places behind complete lines that are in no code."""
        cuts: list[int] = []
        fence, in_line, position = "", False, 0
        for line in self.text.splitlines(keepends=True):
            position += len(line)
            mark = _FENCE.match(line)
            if fence:
                fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
            elif mark:
                fence = mark[1]
            elif not line.strip():
                in_line = False  # code in back-ticks ends with its paragraph
            else:
                in_line ^= line.count("`") % 2 == 1
            if line.endswith("\n") and not fence and not in_line:
                cuts.append(position)
        return cuts
