"""
The warm process's first lines: where its modules come from, and nothing else.

    python -P -S -B graders/zygote/__main__.py student|judge SOCKET PACKAGES SCRATCH [own-world] [unsafe]

PACKAGES is the folder of links that `graders.sandbox.libraries` makes. `-S` keeps the folder of all packages off the
path, and its .pth files from running; `graders.zygote.fork_server` says what happens then.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def _no_hooks() -> Iterator[None]:
    """
    What is imported meanwhile cannot ask to be called at each fork.

    Such hooks make anew the locks that another thread may hold, and seed `random`. Here is one thread, a run seeds
    by itself, and going through every lock of every logger touches a hundred pages.
    """
    register = os.register_at_fork
    setattr(os, "register_at_fork", _pass_over)  # noqa: B010  a type checker knows it as what it was
    try:
        yield
    finally:
        setattr(os, "register_at_fork", register)  # noqa: B010


def _pass_over(**_: Callable[[], object]) -> None:
    """Not registered."""


def main() -> None:
    """Serve forks until the parent closes the socket."""
    role, descriptor, packages, scratch = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    root = str(Path(__file__).resolve().parent.parent.parent)
    sys.path[:] = [*sys.path, packages, root]
    with _no_hooks():
        server = importlib.import_module("graders.zygote.fork_server")
        entry = importlib.import_module(f"graders.{role}.main")
    sys.path.remove(root)  # a run cannot import more of the platform than it is given
    flags = {"own_world": "own-world" in sys.argv, "unsafe": "unsafe" in sys.argv}
    server.serve(entry, server.ZygoteOptions(descriptor, packages, scratch, **flags))


if __name__ == "__main__":
    main()
