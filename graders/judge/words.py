"""Shapes and kinds as a teacher would say them."""

import torch

from graders.judge.claimed import Made


def shape(sizes: tuple[int, ...], dims: tuple[str, ...] = ()) -> str:
    """`[32, 8]`, or `[32, 8] (batch, position)` when the axes have names."""
    numbers = str(list(sizes))
    return f"{numbers} ({', '.join(dims)})" if dims and len(dims) == len(sizes) else numbers


def kind(made: Made) -> str:
    """What a value is, when it is no tensor."""
    if made.kind == "array":
        return "a numpy array"
    article = "an" if made.type[:1].lower() in "aeiou" else "a"
    return f"{article} {made.type}" if made.type else "something else"


def near_miss(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """What kind of slip explains another shape: an axis too many, copies, axes swapped; or an empty text."""
    if actual.numel() == expected.numel():
        if actual.dim() != expected.dim() and torch.allclose(
            actual.reshape(expected.shape).double(), expected.double()
        ):
            return "The numbers are right; an axis of size 1 is too many or too few."
        if actual.dim() == expected.dim() == 2 and torch.allclose(actual.double().T, expected.double()):  # noqa: PLR2004
            return "The numbers are right, but the two axes are swapped."
    return "The numbers are right, but they are repeated along an axis too many." if _repeated(actual, expected) else ""


def _repeated(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    more = actual.dim() - expected.dim()
    if more <= 0 or actual.shape[more:] != expected.shape:
        return False
    return torch.allclose(actual.double(), expected.double().expand(actual.shape))
