"""Which language a question is in, and the cards whose answers are known in it."""

import re
import threading
from dataclasses import replace
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from app.services.tutor.offline.finding.card_index import CardIndex
from app.services.tutor.offline.finding.knowledge import Card, general_knowledge

LANGUAGES = ("de", "es", "fr", "pt", "zh")
_SURE, _FITS = 0.75, 0.38
_CODE = re.compile(
    r"`[^`]{0,80}`|\[[^\]\[]*\]|\([^()]*\)|\b\w*[._]\w[\w.]*|\b\w*[a-z][A-Z]\w*|\b[A-Z]\w*Error\b[^?]*|\d+"
)
_ENGLISH = re.compile(
    r"\b(the|is|what|whats|why|how|my|it|its|to|of|and|i|does|you|not|can|are|this|that|with|for|should|when)\b",
    re.IGNORECASE,
)
_FEWEST_LETTERS = 6
_ASIAN = re.compile(r"[\u4e00-\u9fff]")
_BACK = {
    "de": "Was würdest du als Nächstes ausprobieren?",
    "es": "¿Qué probarías ahora?",
    "fr": "Qu'essaierais-tu maintenant ?",
    "pt": "O que você tentaria agora?",
    "zh": "下一步你想试什么？",
}
_LOCK = threading.Lock()


def tongue_of(question: str) -> str:
    """Return the language of a question if it is one of `LANGUAGES` beyond doubt; empty for English and the rest."""
    if _ASIAN.search(question):
        return "zh"
    prose = " ".join(_CODE.sub(" ", question).split())
    if sum(c.isalpha() for c in prose) < _FEWEST_LETTERS or _ENGLISH.search(prose):
        return ""
    with _LOCK:
        language, probability = _identifier().classify(prose)
    return str(language) if language in LANGUAGES and float(probability) >= _SURE else ""


def answer_in(language: str, question: str) -> tuple[str, ...]:
    """Return a card's answer in the language of the question, and a question back; empty if no card fits."""
    index = _index_of(language)
    found = index.best(index.terms(question))
    if not found or found[0].score < _FITS:
        return ()
    return index.cards[found[0].index].says, _BACK[language]


@cache
def _identifier() -> LanguageIdentifier:
    """Read the model, once; it tells only the languages apart that matter here."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(["en", *LANGUAGES])
    return identifier


@cache
def _index_of(language: str) -> CardIndex:
    known = general_knowledge()
    return CardIndex([card for one in known.cards if (card := _translated(one, language))], known.lexicon)


def _translated(card: Card, language: str) -> Card | None:
    said = card.in_other_languages.get(language)
    return replace(card, asked=said.asked, says=said.says, then="") if said else None
