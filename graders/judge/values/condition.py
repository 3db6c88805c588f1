"""
How large are the terms that a number is made of?

Theory of operation
===================

Floating-point steps are not exact, and two right ways to the same number part in its last digits. How far they may part
does not follow from the number itself: the sum of 1000.1 and -1000 is 0.1, but comes out as exact as 1000 does. Nor may
it follow from the largest number of the tensor, for that would let one large number hide wrong ones beside it. It
follows from the terms of that very number: the sizes of what was added and taken away on the way to it.

They are measured. All that goes into the author's solution, the student's tables and the starting code's tensors, is
changed a little, each number by a share of its own, drawn at random; the solution runs again; and what comes out moves
by that share of the terms. For y = f(x), to first order

    (f(x (1 + h d)) - f(x)) / h = sum_j  df/dx_j x_j d_j,     d_j standard normal

whose root mean square over samples is the root of the sum of squares of the terms. So in `tok + pos` the terms of
one number are that number's two summands; in a matrix product all products of its row and column; in a softmax scores
and probability. A number that is looked up has one term, itself.

Two samples show the size to within a factor that a bound of some hundred roundings leaves room for, mostly; where a
verdict hangs on it, eight are taken (`graders.judge.values.compare`). Only numbers that are off by more than their own
size allows are looked at in this way, so for most submissions nothing is run twice.
"""

from collections.abc import Callable, Mapping

import torch

_STEP = 2.0**-10  # unitless: large beside the rounding of float32, small beside 1


class Noise:
    """Changes numbers by a small share of each; the same number gives the same changes, in the order of asking."""

    def __init__(self, sample: int) -> None:
        """`sample`: the number of this run, from 1."""
        self._generator = torch.Generator(device="cpu").manual_seed(sample)

    def on(self, tensor: torch.Tensor) -> torch.Tensor:
        """A changed copy, (...), without a graph; a tensor of whole numbers as it is."""
        if not tensor.is_floating_point():
            return tensor.clone()
        share = torch.randn(tensor.shape, generator=self._generator, dtype=torch.float32, device="cpu")
        return tensor.detach() * (1 + _STEP * share).to(tensor.dtype)

    def on_all(self, names: Mapping[str, object]) -> dict[str, torch.Tensor]:
        """Changed copies of the plain floating-point tensors among some values; one that learns goes on learning."""
        return {
            name: self.on(value).requires_grad_(value.requires_grad)
            for name, value in names.items()
            if type(value) in (torch.Tensor, torch.nn.Parameter)
            and isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and value.is_leaf
        }


def condition(changed: Callable[[int], torch.Tensor | None], samples: int) -> torch.Tensor | None:
    """
    The size of the terms of each number.

    Args:
        changed: what comes out of run number 0, exact, and of the runs from 1 on, each with all that goes in changed.
        samples: how many runs.

    Returns:
        (...), float64, as what comes out; None where it is no tensor, or not always of one shape.
    """
    exact = changed(0)
    if exact is None:
        return None
    squares = torch.zeros(exact.shape, dtype=torch.float64)
    for sample in range(1, samples + 1):
        found = changed(sample)
        if found is None or found.shape != exact.shape:
            return None
        squares += ((found.detach().double() - exact.detach().double()) / _STEP) ** 2
    return (squares / samples).sqrt()
