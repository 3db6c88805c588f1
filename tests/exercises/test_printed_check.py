"""The lesson's own check comes out to the digit."""

from collections.abc import Callable

import pytest

from graders.report import CheckStatus, Report, Verdict

LESSON = r"""
token table: [19, 32]  position table: [8, 32]
x: [32, 8]  tok: [32, 8, 32]  pos: [8, 32]  h: [32, 8, 32]
x[0]: 'kelolo\nr'   positions 2 and 4 hold 'l' and 'l'
tok[0, 2] is row l of the table: True
tok, first 4 numbers:  position 2 [-0.039, -0.801, -0.496, -0.362]   position 4 [-0.039, -0.801, -0.496, -0.362]
h, first 4 numbers:    position 2 [0.915, -0.068, -1.951, -2.407]    position 4 [-0.138, -0.316, 0.212, -0.318]
h[0, 2] is tok[0, 2] + pos[2]: True
numbers the model can learn: 864 | tok learns: True
"""

Grade = Callable[..., Report]


def folded(text: str) -> str:
    """Fold white space, and nothing else."""
    return " ".join(text.split())


def test_printed_check_equals_the_lesson(grade: Grade, solution: str) -> None:
    """The obvious solution prints the lesson's check, character by character."""
    report = grade(solution)
    assert report.verdict is Verdict.PASSED
    assert folded(report.report) == folded(LESSON)


def test_every_check_of_the_contract_is_there_in_order(grade: Grade, solution: str) -> None:
    """The main exercise has the eight checks that scripts outside rely on, and all pass."""
    checks = grade(solution).checks
    ids = ["token-table", "position-table", "tok", "pos", "h", "learnable-count", "tok-learns", "other-sizes"]
    assert [check.id for check in checks] == ids
    assert {check.status for check in checks} == {CheckStatus.PASSED}


@pytest.mark.parametrize("seed", [f"seed-{number}" for number in range(20)])
def test_right_code_passes_whatever_the_seed_and_the_order(grade: Grade, solution: str, seed: str) -> None:
    """With the position table made first, the numbers are others and the verdict is the same."""
    lines = solution.splitlines()
    swapped = "\n".join([lines[1], lines[0], *lines[2:]])
    assert grade(swapped, seed=seed).verdict is Verdict.PASSED


def test_the_same_seed_tells_the_same(grade: Grade) -> None:
    """A report can be repeated from its seed: same checks, same messages, same sizes."""
    source = "token_emb = nn.Embedding(19, 32)\npos_emb = nn.Embedding(8, 32)\n"
    assert grade(source, seed="again").checks == grade(source, seed="again").checks
