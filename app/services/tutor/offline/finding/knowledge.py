"""What the tutor may say without a look at the student's work: the cards, and what the author lets it say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from app.services.tutor.offline.finding.language import Lexicon

CARDS = Path(__file__).with_name("cards")
_TRANSLATIONS = CARDS / "translations"
_SYNONYMS = Path(__file__).with_name("synonyms.yaml")
_FEWEST_WORDS = 2  # of a wording
_ASKED = re.compile(r"\A\s*([^?\n]{3,300}\?)\s+(?=\S)")


@dataclass(frozen=True)
class Card:
    """A question in many wordings, its answer, and what to ask back."""

    id: str
    """Empty for an author's fact and for a paragraph of the lesson."""
    asked: tuple[str, ...]
    """Ways to ask for it, in students' words."""
    says: str
    """The answer, in Markdown."""
    then: str = ""
    """What to ask back."""
    error: re.Pattern[str] | None = None
    """Messages of exceptions that it explains."""
    in_other_languages: Mapping[str, "Translation"] = field(default_factory=dict, compare=False)
    """By language code, for the cards that are asked for most."""


@dataclass(frozen=True)
class Translation:
    """A card in another language."""

    asked: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Knowledge:
    """What is known of PyTorch and of this course, whatever the exercise."""

    cards: tuple[Card, ...]
    lexicon: Lexicon

    def on_error(self, message: str) -> Card | None:
        """Return what explains an exception."""
        return next((one for one in self.cards if one.error and one.error.search(message[:500])), None)


def card_from(raw: Mapping[str, Any], translated: Mapping[str, Translation] | None = None) -> Card:
    """Read a card as YAML has it. Raises KeyError or re.error if it is none."""
    return Card(
        id=raw["id"],
        asked=tuple(raw["ask"]),
        says=raw["say"].strip(),
        then=raw.get("then", ""),
        error=re.compile(raw["error"]) if "error" in raw else None,
        in_other_languages=translated or {},
    )


@cache
def general_knowledge() -> Knowledge:
    """Read the files, once. A message's explanation is looked for in their order."""
    read = YAML(typ="safe").load
    by_language = {path.stem: read(path.read_text(encoding="utf-8")) for path in sorted(_TRANSLATIONS.glob("*.yaml"))}
    cards = (raw for path in sorted(CARDS.glob("*.yaml")) for raw in read(path.read_text(encoding="utf-8")))
    return Knowledge(
        cards=tuple(card_from(raw, _translations_of(raw["id"], by_language)) for raw in cards),
        lexicon=Lexicon(read(_SYNONYMS.read_text(encoding="utf-8"))),
    )


def _translations_of(card_id: str, by_language: Mapping[str, Any]) -> Mapping[str, Translation]:
    raw = {code: texts[card_id] for code, texts in by_language.items() if card_id in texts}
    return {code: Translation(tuple(one["ask"]), one["say"].strip()) for code, one in raw.items()}


def fact(text: str) -> Card:
    """
    Read an author's fact. One that begins with a question is found by it, and says what comes after.

    `Is the order free? Any order of the lines is fine.` answers with its second sentence only. A question may hold
    several wordings, set apart by commas.
    """
    asked = _ASKED.match(text)
    if asked is None:
        return Card(id="", asked=(), says=text.strip())
    wordings = tuple(one.strip() for one in asked[1].split(",") if len(one.split()) >= _FEWEST_WORDS)
    return Card(id="", asked=wordings or (asked[1],), says=text[asked.end() :].strip())
