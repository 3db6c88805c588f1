"""What is said where no rule fits: the failing expression, what is in it, and what the message says in short."""

import re
from collections.abc import Mapping

from graders.judge.feedback.explanations.scene import Scene, an

_MEANS: Mapping[str, str] = {
    "SyntaxError": "Python cannot read it",
    "IndentationError": "the spaces at its beginning do not fit the lines around it",
    "KeyError": "there is no such key",
    "ValueError": "a value is of the right kind, but cannot be used",
    "TypeError": "something is of a kind that cannot be used there",
    "IndexError": "an index is outside of what it indexes",
    "RuntimeError": "it could not be carried out",
    "AssertionError": "something that a library demands does not hold",
    "ImportError": "the import did not work",
}
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_MOST_CHARS = 140
_CAME = re.compile(r"\b(?:got|found|received|but is|was given)\b:? ?")
_WANTED = re.compile(r"(?:[Ee]xpect(?:ed|s|ing)|must|should|has to|have to|needs|requires)(?: to)?(?: be| have| get)? ")


def general(scene: Scene) -> str:
    """Where it happened, what the message says in short, and what the names there stood for."""
    kind = scene.fault.type.replace("`", "'")
    where = f"on line {scene.line}" if scene.line else "in your code"
    if kind in _SYNTAX and not scene.fault.parsed:
        return (
            f"Python cannot read line {scene.line}: `{scene.code[:80].replace('`', chr(39))}`. Are its brackets, "
            f"quotes and commas in pairs and in place, and does the line above end as it should?"
        )
    what = f"{scene.here} {where}" if scene.here.startswith("`") else f"The code {where}"
    means = f": {_MEANS[kind]}" if kind in _MEANS and scene.fault.builtin else ""
    return f"{what} stops with {an(kind)}{means}. {_gist(scene.message)}{scene.details()} {_question(scene)}".replace(
        ".  ", ". "
    )


def _gist(message: str) -> str:
    """What was wanted and what came, where the message says both; else its first sentence."""
    line = message.partition("\n")[0]
    came = _CAME.search(line)
    wanted = _WANTED.search(line[: came.start()]) if came else None
    if came and wanted:
        first = _plain(_without_link(line[wanted.end() : came.start()]))
        second = _plain(re.split(r"[;)]|\. ", line[came.end() :], maxsplit=1)[0])
        if first and second and max(len(first), len(second)) <= _MOST_CHARS:
            return f"Wanted is “{first}”, and what came is “{second}”."
    first = _plain(re.split(r"\. |; ", line, maxsplit=1)[0])
    return f"In its own words: “{first[:_MOST_CHARS]}{'…' if len(first) > _MOST_CHARS else ''}”." if first else ""


def _without_link(text: str) -> str:
    """What is wanted, without the word that leads on to what came."""
    text = text.rstrip(" ,;(")
    for word in (" but", " and", " yet", " instead"):
        text = text.removesuffix(word)
    return text.rstrip(" ,;(")


def _plain(text: str) -> str:
    """A part of a message without the spellings of torch that say nothing to a reader."""
    text = re.sub(r"torch\.Size\((\[[\d, ]{0,60}\])\)", r"\1", text)
    text = re.sub(r"<class '([\w.]{1,80})'>", r"\1", text)
    return " ".join(text.replace("`", "'").split()).strip(" .,:;")


def _question(scene: Scene) -> str:
    if scene.called:
        return f"Which of the things that {scene.called} is given is not what you thought?"
    return "Which value there is not what you thought?"
