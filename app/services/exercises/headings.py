"""Markdown cut at its headings, and the anchors that pages give those headings."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ANCHOR_CHARS = 80
_TAKEN_BY_PAGES = {"task-title"}
_NO_WORD = re.compile(r"[\W_]+")
_FIRST_LINE = re.compile(r"\A[ \t]*\n")


@dataclass(frozen=True)
class Section:
    """A heading with all the text below it, up to the next heading."""

    title: str
    """As plain text; empty for what stands before the first heading."""
    anchor: str
    """The `id` of the heading in the rendered page; empty where there is no heading."""
    text: str
    """Markdown, without the heading."""


def sections(markdown: str) -> list[Section]:
    """Cut a text at its headings, whatever their level. A `#` inside a block of code is no heading."""
    lines = markdown.splitlines(keepends=True)
    starts: list[tuple[int, int, str]] = [(0, 0, "")]  # (line of the heading, line below it, title)
    for index, token in enumerate(tokens := MarkdownIt("commonmark").parse(markdown)):
        if token.type == "heading_open" and token.map and token.level == 0:
            starts.append((token.map[0], token.map[1], plain(tokens[index + 1])))
    ends = [start for start, *_ in starts[1:]] + [len(lines)]
    found = zip(starts, ends, anchors(title for *_, title in starts), strict=True)
    cut = [
        Section(title, anchor if title else "", _FIRST_LINE.sub("", "".join(lines[first:end])).rstrip())
        for (_, first, title), end, anchor in found
    ]
    return [section for section in cut if section.text]


def plain(heading: Token) -> str:
    """Return the text of a heading's inline token, without the marks of emphasis and code."""
    return "".join(child.content for child in heading.children or [] if child.type in {"text", "code_inline"}).strip()


def anchors(titles: Iterable[str]) -> list[str]:
    """
    Return an `id` for each heading of one text, in order: the same title always gives the same one.

    Letters of all scripts stay, so that a lesson in Greek has anchors too. The second heading of the same
    words gets `-2`. Pages use single words for the ids of their own, so these get a word in front.
    """
    given: list[str] = []
    last: dict[str, int] = {}
    for title in titles:
        words = _NO_WORD.sub("-", unicodedata.normalize("NFKC", title).lower()).strip("-")[:_ANCHOR_CHARS].strip("-")
        if "-" not in words or words in _TAKEN_BY_PAGES:
            words = f"section-{words}".strip("-")
        given.append(_unlike(words, last))
    return given


def _unlike(words: str, last: dict[str, int]) -> str:
    """Return the words with the next number that is free, and note it: each search goes on where the last one ended."""
    number = last.get(words, 0) + 1
    anchor = words if number == 1 else f"{words}-{number}"
    while anchor in last:
        number += 1
        anchor = f"{words}-{number}"
    last[words] = number
    last.setdefault(anchor, 1)
    return anchor
