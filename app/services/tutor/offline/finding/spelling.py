"""Slips of the keyboard: the known word that an unknown one was meant to be."""

from collections.abc import Iterable, Iterator

_SHORTEST, _LONGEST = 5, 20
_TWO_SLIPS_FROM = 8  # letters


class Spelling:
    """
    Finds known words by what is left of them when a letter or two are left out.

    Source: symmetric deletes (Garbe, 2012). Whatever two words differ by at most n edits have a text in common that
    is left of both when up to n letters are dropped, so one look into a dictionary finds the few to compare.
    """

    def __init__(self, known: Iterable[str]) -> None:
        """Take in all known words; the earlier ones win where two are equally close."""
        self._order = {word: rank for rank, word in enumerate(dict.fromkeys(known))}
        self._left: dict[str, list[str]] = {}
        for word in self._order:
            if _SHORTEST <= len(word) <= _LONGEST and word.isalpha():
                for rest in {word, *_without(word, _slips(word))}:
                    self._left.setdefault(rest, []).append(word)

    def repaired(self, word: str) -> str:
        """Return the known word nearest to an unknown one; itself if it is known, or if none is near."""
        if word in self._order or not _SHORTEST <= len(word) <= _LONGEST or not word.isalpha():
            return word
        most = _slips(word)
        near = {one for rest in {word, *_without(word, most)} for one in self._left.get(rest, ())}
        scored = ((_distance(word, one), self._order[one], one) for one in near if one[0] == word[0])
        return min((one for one in scored if one[0] <= most), default=(0, 0, word))[2]


def _slips(word: str) -> int:
    return 2 if len(word) >= _TWO_SLIPS_FROM else 1


def _without(word: str, letters: int) -> Iterator[str]:
    """Yield what is left when up to so many letters are dropped."""
    for index in range(len(word)):
        rest = word[:index] + word[index + 1 :]
        yield rest
        if letters > 1:
            yield from _without(rest, letters - 1)


def _distance(one: str, other: str) -> int:
    """Count the letters to insert, drop, replace or swap with their neighbour (optimal string alignment)."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
