"""
The checks, one file for each kind: `judge(trial, check)` looks at one trial and says what it found.

To add a kind, add a file with that function and name it here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graders.judge.checks import equal, gradient, learnable_count, other_sizes, table
from graders.judge.trial import Outcome, Trial
from graders.task import Check

KINDS: Mapping[str, Callable[[Trial, Check], Outcome]] = MappingProxyType(
    {
        "table": table.judge,
        "equal": equal.judge,
        "gradient": gradient.judge,
        "learnable_count": learnable_count.judge,
        "other_sizes": other_sizes.judge,
    }
)
