"""What the tutor may say without a look at the student's work: of PyTorch, and what the author lets it say."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from app.services.tutor.offline.language import Lexicon

_FILE = Path(__file__).with_name("knowledge.yaml")
_ASKED = re.compile(r"\A\s*([^?\n]{3,300}\?)\s+(?=\S)")


@dataclass(frozen=True)
class KnowledgeEntry:
    """Something that the tutor knows."""

    title: str
    """Empty for an author's fact."""
    asked: tuple[str, ...]
    """Ways to ask for it."""
    says: str
    """The answer, in Markdown."""
    then: str = ""
    """What to ask back."""
    error: re.Pattern[str] | None = None
    """Messages of exceptions that it explains."""

    @property
    def searched(self) -> str:
        """The text that a question is compared with. Ways to ask count twice: they are in students' words."""
        return " ".join((self.title, *self.asked, *self.asked, self.says))


@dataclass(frozen=True)
class Knowledge:
    """What is known of PyTorch, whatever the exercise."""

    entries: tuple[KnowledgeEntry, ...]
    lexicon: Lexicon

    def on_error(self, message: str) -> KnowledgeEntry | None:
        """Return what explains an exception."""
        return next((one for one in self.entries if one.error and one.error.search(message[:500])), None)


@cache
def general_knowledge() -> Knowledge:
    """Read the file, once."""
    raw = YAML(typ="safe").load(_FILE.read_text(encoding="utf-8"))
    return Knowledge(
        entries=tuple(
            KnowledgeEntry(
                title=one["title"],
                asked=tuple(one["asked"]),
                says=one["says"].strip(),
                then=one.get("then", ""),
                error=re.compile(one["error"]) if "error" in one else None,
            )
            for one in raw["entries"]
        ),
        lexicon=Lexicon(raw["same"]),
    )


def fact(text: str) -> KnowledgeEntry:
    """
    Read an author's fact. One that begins with a question is found by it, and says what comes after.

    `Is the order free? Any order of the lines is fine.` answers with its second sentence only.
    """
    asked = _ASKED.match(text)
    if asked is None:
        return KnowledgeEntry(title="", asked=(), says=text.strip())
    return KnowledgeEntry(title="", asked=(asked[1],), says=text[asked.end() :].strip())
