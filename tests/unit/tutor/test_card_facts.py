"""What the cards say of PyTorch is so in the pinned version."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

IDS = torch.tensor([[1, 2], [3, 0], [1, 1]])
FACTS: dict[str, Callable[[], bool]] = {
    "shape-lookup-rule": lambda: list(nn.Embedding(10, 4)(IDS).shape) == [3, 2, 4],
    "embedding-output-scale": lambda: abs(float(nn.Embedding(1000, 64).weight.detach().std()) - 1) < 0.05,
    "embedding-padding-idx": lambda: float(nn.Embedding(4, 3, padding_idx=2).weight.detach()[2].abs().sum()) == 0,
    "onehot-dtype": lambda: functional.one_hot(IDS).dtype == torch.int64,
    "onehot-width": lambda: functional.one_hot(IDS).shape[-1] == int(IDS.max()) + 1,
    "linear-weight-turned": lambda: list(nn.Linear(4, 5).weight.shape) == [5, 4],
    "count-linear": lambda: sum(p.numel() for p in nn.Linear(10, 3).parameters()) == 33,
    "broadcasting-wrong-by-luck": lambda: list((torch.zeros(8) + torch.zeros(8, 1)).shape) == [8, 8],
    "cat-vs-stack": lambda: list(torch.stack([torch.zeros(8, 4)] * 2).shape) == [2, 8, 4],
    "index-slice": lambda: list(torch.zeros(8, 5)[:3].shape) == [3, 5],
    "index-with-tensor": lambda: list(torch.zeros(9, 4)[torch.zeros(2, 3, dtype=torch.int64)].shape) == [2, 3, 4],
    "nonzero": lambda: list(torch.tensor([0, 1, 1]).nonzero().shape) == [2, 1],
    "arange-float": lambda: torch.arange(3).dtype == torch.int64 and torch.arange(3.0).dtype == torch.float32,
    "dtype-promotion": lambda: (torch.ones(2, dtype=torch.int64) + torch.ones(2)).dtype == torch.float32,
    "tensor-create": lambda: torch.Tensor([1, 2]).dtype == torch.float32 and torch.tensor([1]).dtype == torch.int64,
    "memory-bytes": lambda: torch.float32.itemsize == 4 and torch.int64.itemsize == 8,
    "not-exactly-equal": lambda: 0.1 + 0.2 != 0.3,
    "py-power": lambda: 2 ^ 20 == 22,
    "count-two-tables": lambda: (19 + 8) * 32 == 864,
    "sum-mean": lambda: list(torch.zeros(2, 3).sum(dim=0).shape) == [3],
    "softmax-exp": lambda: float(torch.softmax(torch.tensor([-2.0, 1.0]), 0).min()) > 0,
    "topk": lambda: torch.tensor([1, 3, 2]).topk(2).values.tolist() == [3, 2],
}


@pytest.mark.parametrize("card", FACTS)
def test_what_a_card_says_is_so(card: str) -> None:
    """Tried out, number by number."""
    assert FACTS[card]()


def test_gradients_of_an_id_that_comes_twice_are_added() -> None:
    """One row, both gradients; a row that was not looked up gets zeros."""
    table = nn.Embedding(5, 2)
    table(torch.tensor([3, 3, 1])).sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad[:, 0].tolist() == [0, 1, 0, 2, 0]


@pytest.mark.parametrize(
    ("fails", "error"),
    [
        (lambda: nn.Embedding(4, 2)(torch.tensor([-1])), IndexError),
        (lambda: nn.Embedding(4, 2)(torch.tensor([4])), IndexError),
        (lambda: nn.Embedding(4, 2)(torch.tensor([1.0])), RuntimeError),
        (lambda: torch.zeros(2, 3) @ torch.zeros(4, 5), RuntimeError),
        (lambda: torch.ones(2, dtype=torch.int64).mean(), RuntimeError),
        (lambda: torch.zeros(2, 3).T.view(6), RuntimeError),
        (lambda: torch.zeros(3, requires_grad=True).numpy(), RuntimeError),
        (lambda: nn.Parameter(torch.zeros(2, dtype=torch.int64)), RuntimeError),
        (lambda: bool(torch.zeros(2)), RuntimeError),
    ],
)
def test_what_a_card_says_fails_does(fails: Callable[[], object], error: type[Exception]) -> None:
    """With the kind of exception that the card names."""
    with pytest.raises(error):
        fails()
