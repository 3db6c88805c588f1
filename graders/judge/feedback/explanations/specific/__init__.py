"""Rules about one situation each, which are tried before those of the families."""

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.specific import (
    gradients,
    indices,
    layers,
    losses,
    nothing,
    python,
    sizes,
    tensors,
    training,
    uncalled,
    unpacking,
)

RULES: tuple[ExplanationRule, ...] = (
    *indices.RULES,
    *training.RULES,
    *gradients.RULES,
    *uncalled.RULES,
    *sizes.RULES,
    *unpacking.RULES,
    *nothing.RULES,
    *layers.RULES,
    *losses.RULES,
    *tensors.RULES,
    *python.RULES,
)
