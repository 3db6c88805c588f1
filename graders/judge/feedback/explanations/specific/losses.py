"""What losses demand of predictions and targets."""

import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene
from graders.judge.feedback.explanations.source import arguments, called, with_operands

_R, _V = "RuntimeError", "ValueError"


def _target(scene: Scene, match: re.Match[str]) -> str:
    classes = _classes(scene)
    many = (
        f"there are {classes} classes, numbered 0 to {classes - 1}" if classes else "there are fewer classes than that"
    )
    below = match[1].startswith("-")
    return (
        f"A target of {called(scene)} is {match[1]}: classes are numbered from 0, "
        f"and {'none is below it' if below else many}. "
        f"The number of classes is axis 1 of the predictions (or the last one, if there is no "
        f"batch).{scene.details()} Where does that "
        f"{'negative ' if below else ''}number come from?"
    )


def _classes(scene: Scene) -> int | None:
    given = arguments(scene.node)
    part = scene.part(given[0]) if given else None
    shape = part.shape if part is not None else None
    return shape[min(1, len(shape) - 1)] if shape else None


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("target-range", "IndexError", r"^Target (-?\d+) is out of bounds", _target),
    ExplanationRule(
        "target-axes",
        _R,
        r"^0D or 1D target tensor expected, multi-target not supported",
        with_operands(
            "{called} wants one class for each example, so a target with one axis, and got one with more.",
            "Which axis of the target is too many, or are examples spread over two axes that should be one?",
        ),
    ),
    ExplanationRule(
        "target-size",
        _R,
        r"^Expected target size \[([\d, ]{1,60})\], got \[([\d, ]{1,60})\]",
        with_operands(
            "{called} takes axis 1 of the predictions as the classes, so with these predictions the target "
            "should have the shape [{0}]; it has [{1}].",
            "Which axis of the predictions holds the classes, and where must it stand?",
        ),
    ),
    ExplanationRule(
        "target-shares",
        _R,
        r"^Expected floating point type for target with class probabilities, got (\w+)",
        with_operands(
            "Predictions and target of {called} have the same shape, so the target is read as shares of the "
            "classes (numbers with a point), and its numbers are {0}.",
            "Should the target hold the number of a class instead, or do the predictions lack an axis for the classes?",
        ),
    ),
    ExplanationRule(
        "class-weights",
        _R,
        r"^weight tensor should be defined either for all (\d+) classes or no classes but got weight tensor of "
        r"shape: (\[[\d, ]{1,40}\])",
        with_operands(
            "`weight` of {called} has one number for each of the {0} classes, and got the shape {1}.",
            "For which classes is there a number?",
        ),
    ),
    ExplanationRule(
        "share-range",
        _R,
        r"^all elements of (input|target) should be between 0 and 1",
        with_operands(
            "The {0} of {called} must be shares between 0 and 1, and at least one number is outside.",
            "What turns any number into one between 0 and 1, and was it left out?",
        ),
    ),
    ExplanationRule(
        "loss-dtype",
        _R,
        r"^Found dtype (\w+) but expected (\w+)",
        with_operands(
            "Predictions and targets of {called} must be numbers of one kind: it found {0} and expected {1}.",
            "Which of the two should be converted?",
        ),
    ),
    ExplanationRule(
        "logits-shape",
        _V,
        r"^Target size \(torch\.Size\((\[[\d, ]{0,60}\])\)\) must be the same as input size "
        r"\(torch\.Size\((\[[\d, ]{0,60}\])\)\)",
        with_operands(
            "{called} compares number with number: the predictions have the shape {1} and the targets {0}.",
            "Which axis is too many or missing?",
        ),
    ),
)
