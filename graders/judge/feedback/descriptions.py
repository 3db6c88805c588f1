"""Shapes and kinds as a teacher would say them."""

import math

import torch

from graders.judge.values.decode_observation import Observed

# what torch gives back two tensors as: its type is called by the function's name
_PAIRS = {"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"}
_SPOKEN_WITH_VOWEL = set("AEFHILMNORSX")  # letters: an L, an S
_LARGE = 1e9  # from here on digits after the point say nothing


def shape(sizes: tuple[int, ...], dims: tuple[str, ...] = ()) -> str:
    """`[32, 8]`, or `[32, 8] (batch, position)` when the axes have names."""
    numbers = str(list(sizes))
    return f"{numbers} ({', '.join(dims)})" if dims and len(dims) == len(sizes) else numbers


def numbers(actual: float, expected: float, *, truth: bool = False) -> tuple[str, str]:
    """Two numbers that differ, with as many digits as it takes to see it. `truth`: they stand for False and True."""
    if truth:
        return str(bool(actual)), str(bool(expected))
    if any(_LARGE <= abs(one) < math.inf for one in (actual, expected)):
        return f"{actual:.3g}", f"{expected:.3g}"
    digits = next((n for n in (3, 6) if _rounded(actual, n) != _rounded(expected, n)), 9)
    return f"{actual:.{digits}f}", f"{expected:.{digits}f}"


def _rounded(number: float, digits: int) -> str:
    return f"{number:.{digits}f}"


def kind(made: Observed) -> str:
    """What a value is, when it is no tensor."""
    if made.kind == "array":
        return "a numpy array"
    if made.type in _PAIRS:
        return f"the pair that `{made.type}` gives (values and places)"
    return with_article(made.type) if made.type else "something else"


def with_article(noun: str) -> str:
    """
    `a list`, `an Embedding`, `an LSTM`.

    Of what begins with `u`, only `un…` takes `an`: `a uint8`, `a unit`, `an unknown`. Capitals are spelled out.
    """
    if noun[:2].isupper() and len(noun) > 1:
        return f"{'an' if noun[0] in _SPOKEN_WITH_VOWEL else 'a'} {noun}"
    is_vowel = noun[:1].lower() in set("aeio") or (noun[:2].lower() == "un" and noun[2:3].lower() != "i")
    return f"{'an' if is_vowel else 'a'} {noun}"


def near_miss(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """What kind of slip explains another shape: an axis too many, copies, axes swapped; or an empty text."""
    if actual.numel() == expected.numel():
        if actual.dim() != expected.dim() and torch.allclose(
            actual.reshape(expected.shape).double(), expected.double()
        ):
            if _longer_than_one(actual) == _longer_than_one(expected):
                return "The numbers are right; an axis of size 1 is too many or too few."
            return "The numbers are right and in the right order, but axes were run together or split."
        if actual.dim() == expected.dim() == 2 and torch.allclose(actual.double().T, expected.double()):  # noqa: PLR2004
            return "The numbers are right, but the two axes are swapped."
    return "The numbers are right, but they are repeated along an axis too many." if _repeated(actual, expected) else ""


def _longer_than_one(tensor: torch.Tensor) -> list[int]:
    return [size for size in tensor.shape if size != 1]


def _repeated(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    more = actual.dim() - expected.dim()
    if more <= 0 or actual.shape[more:] != expected.shape:
        return False
    return torch.allclose(actual.double(), expected.double().expand(actual.shape))
