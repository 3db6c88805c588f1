"""
What an exception means, in the words of someone who teaches: rules from the most specific to the most general.

Each family of rules is a file. A rule says what happened here, with the student's own names and numbers, what the two
sides are, and asks the one question that leads on; it never gives the line that is asked for. It speaks only of what
the message, the student's text and the values in the failing expression show: what is not known is not said.
"""

from graders.judge.feedback.explanations import (
    attributes,
    autograd,
    calls,
    environment,
    names,
    numbers,
    operations,
    shapes,
    specific,
    syntax,
)
from graders.judge.feedback.explanations.general import general
from graders.judge.feedback.explanations.rules import Explained, ExplanationRule, first_that_fits
from graders.judge.feedback.explanations.scene import Scene, Setting
from graders.judge.values.decode_observation import Fault

RULES: tuple[ExplanationRule, ...] = (
    *specific.RULES,
    *syntax.RULES,
    *names.RULES,
    *attributes.RULES,
    *calls.RULES,
    *numbers.RULES,
    *shapes.RULES,
    *autograd.RULES,
    *operations.RULES,
    *environment.RULES,
)
_BY_TYPE = {kind: tuple(one for one in RULES if kind in one.types) for rule in RULES for kind in rule.types}
OWN, GENERAL = "own", "general"
_MOST_CHARS = 690


def explain(fault: Fault, setting: Setting | None = None) -> str:
    """A few sentences about a fault; `setting` is what is known beside it."""
    return recognised(fault, setting or Setting()).text


def recognised(fault: Fault, setting: Setting) -> Explained:
    """The explanation with the kind that it is by: a rule's, `own` for the student's own exceptions, or `general`."""
    scene = Scene(fault, setting)
    found = _recognised(scene)
    return found if scene.line else Explained(found.kind, _without_line(found.text, parsed=fault.parsed))


def _recognised(scene: Scene) -> Explained:
    if (own := environment.own_words(scene)) is not None:
        return Explained(OWN, _cut(own))
    found = first_that_fits(_BY_TYPE.get(scene.fault.type, ()), scene)
    return Explained(found.kind, _cut(found.text)) if found else Explained(GENERAL, _cut(general(scene)))


def _without_line(text: str, *, parsed: bool) -> str:
    """Where no line of the student's failed: a class or function of theirs could not take what it was called with."""
    what = "the call" if parsed else "the code"
    text = text.replace("on line 0", f"in {what}").replace("line 0", what)
    return text.replace("Line 0", what[:1].upper() + what[1:])


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 1] + "…"
