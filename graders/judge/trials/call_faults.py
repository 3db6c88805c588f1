"""Exceptions of a call that never came to run: of a class or function of the student's that the probe has called."""

import re

from graders.judge.values.decode_observation import Fault

_LOOKED_AT = 500  # of a message, so that no pattern can be made slow
_UNCALLABLE = (
    ("TypeError", re.compile(r"^[\w.<>]+\(\) (takes|missing|got an unexpected keyword|got multiple values)")),
    ("NotImplementedError", re.compile(r"is missing the required \"forward\" function")),
)


def is_of_a_call(fault: Fault) -> bool:
    """
    Could what a class or function of the student's is called with not be taken?

    No line of the student's has run then, and yet it is their parameters, or the lack of a method, that do not fit.
    """
    return fault.builtin and any(
        fault.type == kind and pattern.search(fault.message[:_LOOKED_AT]) for kind, pattern in _UNCALLABLE
    )
