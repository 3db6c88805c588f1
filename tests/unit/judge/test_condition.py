"""The terms of a number are measured, and what is too large to work with is left out."""

from collections.abc import Callable

import pytest
import torch

from graders.judge.values.condition import Noise, condition
from graders.judge.values.decode_observation import Observed
from graders.judge.values.plausible import plausible

MANY = 400


def measured(
    made: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], *inputs: torch.Tensor, samples: int = MANY
) -> torch.Tensor:
    """Return the terms of what a function of two tensors makes."""

    def changed(number: int) -> torch.Tensor:
        if number == 0:
            return made(*inputs)
        noise = Noise(number)
        return made(*(noise.on(one) for one in inputs))

    found = condition(changed, samples)
    assert found is not None
    return found


def test_terms_of_a_small_difference_are_large() -> None:
    """A thousand less a thousand is as exact as a thousand is; of a looked-up number the only term is itself."""
    large, other = torch.full((3, 2), 1000.0), torch.full((3, 2), -999.9)
    terms = measured(torch.add, large.double(), other.double())
    assert terms.shape == (3, 2)
    assert terms.dtype is torch.float64
    assert torch.allclose(terms, torch.full((3, 2), 1414.0, dtype=torch.float64), rtol=0.15)
    alone = measured(lambda one, _: one, torch.tensor([5.0, -20.0]), other)
    assert torch.allclose(alone, torch.tensor([5.0, 20.0], dtype=torch.float64), rtol=0.15)


def test_each_number_has_terms_of_its_own() -> None:
    """A large number beside it is none of them."""
    terms = measured(torch.add, torch.tensor([1e6, 1.0]).double(), torch.tensor([1e6, 1.0]).double())
    assert float(terms[1]) < 2
    assert float(terms[0]) > 1e6


def test_size_is_the_mean_of_the_samples() -> None:
    """However many are taken: two show the size to within a factor."""
    few = measured(torch.add, torch.tensor([1000.0]), torch.tensor([-999.0]), samples=2)
    assert 100 < float(few) < 5000


def test_same_sample_changes_in_the_same_way() -> None:
    """In the order of asking; another sample changes otherwise, and nothing is changed much."""
    numbers = torch.ones(1000)
    first = Noise(1)
    once, again = first.on(numbers), first.on(numbers)
    assert torch.equal(once, Noise(1).on(numbers))
    assert not torch.equal(once, again)
    assert not torch.equal(once, Noise(2).on(numbers))
    assert float((once - 1).std()) == pytest.approx(2**-10, rel=0.1)
    assert abs(float((once - 1).mean())) < 2**-10 / 10


def test_whole_numbers_are_copied_as_they_are() -> None:
    """Ids stay ids; a changed number keeps its precision and has no graph."""
    ids = torch.tensor([1, 2, 3])
    copy = Noise(1).on(ids)
    assert torch.equal(copy, ids)
    assert copy.data_ptr() != ids.data_ptr()
    learning = torch.ones(2, dtype=torch.float64, requires_grad=True)
    changed = Noise(1).on(learning)
    assert (changed.dtype, changed.requires_grad) == (torch.float64, False)


def test_only_plain_leaves_are_changed() -> None:
    """Tables that learn go on learning; whole numbers, results of others, and whatever is no tensor stay."""
    table = torch.nn.Parameter(torch.ones(2))
    plain = torch.ones(2)
    names: dict[str, object] = {
        "table": table,
        "plain": plain,
        "ids": torch.tensor([1]),
        "made": table * 2,
        "number": 3.0,
        "layer": torch.nn.Linear(1, 1),
    }
    changed = Noise(1).on_all(names)
    assert set(changed) == {"table", "plain"}
    assert (changed["table"].requires_grad, changed["plain"].requires_grad) == (True, False)
    assert not torch.equal(changed["plain"], plain)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_terms_of_what_is_no_tensor_are_unknown(number: int) -> None:
    """In whichever run; and of what has not always one shape."""
    one = torch.ones(2)
    assert condition(lambda run: None if run == number else one, 2) is None
    if number:
        assert condition(lambda run: torch.ones(3) if run == number else one, 2) is None
    assert condition(lambda _: one, 2) is not None


def observed(*shape: int) -> Observed:
    """Return a tensor that a student has handed over."""
    return Observed("tensor", shape=shape, tensor=torch.zeros(shape))


@pytest.mark.parametrize(
    ("shape", "is_plausible"),
    [
        ((64, 2), True),
        ((65, 2), False),
        ((2, 65), False),
        ((), True),
    ],
)
def test_axes_may_be_four_times_as_long_as_the_solutions(shape: tuple[int, ...], is_plausible: bool) -> None:  # noqa: FBT001
    """And always sixty-four numbers long, for small solutions and for what is no tensor there."""
    for pure in (torch.zeros(3, 2), torch.zeros(()), 5, None):
        assert plausible(observed(*shape), pure) is is_plausible
    assert plausible(observed(400), torch.zeros(100, 2)) is True
    assert plausible(observed(401), torch.zeros(100, 2)) is False


def test_same_numbers_in_another_shape_are_plausible() -> None:
    """They are told as such; they are no more than the solution's."""
    assert plausible(observed(200), torch.zeros(20, 10)) is True
    assert plausible(observed(201), torch.zeros(20, 10)) is False


def test_what_is_no_tensor_is_plausible() -> None:
    """There is nothing to compute with."""
    assert plausible(Observed("value", value=3, shape=(10**6,)), torch.zeros(2)) is True
