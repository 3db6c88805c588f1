"""
Is a student's value of a size that can be worked with?

Two long thin tensors make a huge one when they are added, and authors' expressions and solutions add what students hand
over. A value with an axis many times longer than any of the solution's has failed its own check anyway; nothing else is
computed from it, so that it costs the judge nothing.
"""

from typing import Any

from graders.judge.values.decode_observation import Observed
from graders.student.observation import table_of

_TIMES = 4
_ALWAYS = 64  # numbers along an axis that are never too many


def plausible(made: Observed, pure: Any) -> bool:  # noqa: ANN401  the solution's value
    """
    Say whether something may be computed from a value.

    Args:
        made: the student's.
        pure: what the solution has made under the same name.
    """
    own, _ = table_of(pure)
    longest = max((*own.shape, _ALWAYS // _TIMES)) if own is not None else _ALWAYS // _TIMES
    if made.tensor is None or max(made.shape, default=0) <= _TIMES * longest:
        return True
    return own is not None and made.tensor.numel() == own.numel()  # only another shape of the same numbers
