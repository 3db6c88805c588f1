"""What is said where no rule fits: the failing expression, and what is in it."""

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


def general(scene: Scene) -> str:
    """Where it happened, and what the names there stood for."""
    kind = scene.fault.type.replace("`", "'")
    where = f"on line {scene.line}" if scene.line else "in your code"
    if kind in _SYNTAX and not scene.fault.parsed:
        return (
            f"Python cannot read line {scene.line}: `{scene.code[:80].replace('`', chr(39))}`. "
            "Are its brackets, quotes and commas in pairs and in place, and does the line above end as it should?"
        )
    means = f": {_MEANS[kind]}" if kind in _MEANS and scene.fault.builtin else ""
    here = f" In {scene.here}" if scene.here.startswith("`") else " There"
    described = scene.details() or ""
    return (
        f"Python raised {an(kind)} {where}{means}.{here} is the part to look at.{described} "
        "Read what the message says of it: which value is not what you thought?"
    ).replace(" There is the part to look at.", "")
