"""
What a rule is: which exceptions it is about, and what it says of one.

Patterns are searched in the first characters of a message only (`scene.LOOKED_AT`), so that none can be made slow.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from graders.judge.feedback.explanations.scene import Scene

Words = Callable[[Scene, re.Match[str]], str | None]


class ExplanationRule:
    """One kind of exception."""

    def __init__(self, kind: str, types: str, pattern: str, words: str | Words) -> None:
        """
        Compile the pattern.

        Args:
            kind: its name.
            types: names of the exceptions' types, with spaces between them.
            pattern: searched in the message.
            words: the explanation, in which `{0}`, `{1}` … are the groups of the pattern, `{here}` the failing
                expression and `{line}` its line; or a function that makes it, and gives None where it does not fit.
        """
        self.kind, self.types, self.words = kind, frozenset(types.split()), words
        self._pattern = re.compile(pattern)

    def explanation(self, scene: Scene) -> str | None:
        """What it says of an exception, or None if that is not of its kind."""
        match = self._pattern.search(scene.message)
        if match is None:
            return None
        if isinstance(self.words, str):
            groups = (group or "" for group in match.groups())
            return self.words.format(*groups, here=scene.here, line=scene.line)
        return self.words(scene, match)


class Explained(NamedTuple):
    """An explanation, and the rule it is by."""

    kind: str
    text: str


def first_that_fits(rules: Iterable[ExplanationRule], scene: Scene) -> Explained | None:
    """By the first rule that has something to say."""
    for rule in rules:
        if (text := rule.explanation(scene)) is not None:
            return Explained(rule.kind, text)
    return None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant, or None: one that differs in case, or by a slip or two."""
    most = (len(name) > 2) + (len(name) > 5)  # noqa: PLR2004  the longer, the more slips
    best, least = None, most + 1
    letters = set(name)
    for other in known:
        if abs(len(other) - len(name)) >= least or not other or other == name or other.startswith("__"):
            continue
        if other.lower() == name.lower():
            return other
        ends = other[0] == name[0] or other[-1] == name[-1]
        if ends and len(letters ^ set(other)) <= 2 * most and (apart := _edits(name, other, least)) < least:
            best, least = other, apart
    return best


def _edits(one: str, other: str, most: int) -> int:
    """How many letters must be changed, put in, left out or swapped with the next; `most` if that many or more."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        if min(row) >= most:
            return most
        rows.append(row)
    return rows[-1][-1]
