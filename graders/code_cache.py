"""
Authors' texts, compiled once for an exercise and not once for each run.

A run that is given nothing but the exercise (`graders.judge.compilation`) compiles them all and hands the code over as
bytes. The parent keeps these unopened, for it runs no author's code, and sends them along with later submissions to the
same exercise: to runs that would compile and run the same texts anyway.
"""

import marshal
from collections.abc import Callable
from typing import Any

Key = tuple[str | tuple[str, ...], ...]


class CodeCache:
    """What came of compiling each text: code, or anything else that `marshal` holds."""

    def __init__(self, packed: bytes = b"") -> None:
        """`packed`: what `pack` gave in another run, or nothing."""
        self._packed: dict[Key, bytes] = marshal.loads(packed) if packed else {}  # noqa: S302  of our own run
        self._known: dict[Key, Any] = {}

    def compiled(self, key: Key, compile_: Callable[[], Any]) -> Any:  # noqa: ANN401
        """
        The result for a text, compiled now if it has not been before.

        Args:
            key: the kind of text, the text itself, and whatever else the result depends on.
            compile_: makes it. What it raises is raised, and made again the next time.
        """
        if key not in self._known:
            packed = self._packed.get(key)
            self._known[key] = compile_() if packed is None else marshal.loads(packed)  # noqa: S302
        return self._known[key]

    def pack(self) -> bytes:
        """All of them, each by itself, so that a run opens only those that it comes to."""
        return marshal.dumps({key: marshal.dumps(value) for key, value in self._known.items()})
