"""
The warm process's first lines: where its modules come from, and nothing else.

    python -P -S -B graders/zygote.py student|judge SOCKET SITE_PACKAGES SCRATCH [own-world] [unsafe]

`-S` keeps site-packages' .pth files from running, one of which would put the whole project on the
path; `graders.fork_server` says what happens then.
"""

import importlib
import sys
from pathlib import Path


def main() -> None:
    """Serve forks until the parent closes the socket."""
    role, descriptor, packages, scratch = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    root = str(Path(__file__).resolve().parent.parent)
    sys.path[:] = [*sys.path, packages, root]
    server = importlib.import_module("graders.fork_server")
    entry = importlib.import_module(f"graders.{role}.main")
    sys.path.remove(root)  # a run cannot import more of the platform than it is given
    flags = {"own_world": "own-world" in sys.argv, "unsafe": "unsafe" in sys.argv}
    server.serve(entry, server.Surroundings(descriptor, packages, scratch, **flags))


if __name__ == "__main__":
    main()
