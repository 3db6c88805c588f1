"""
The least that a warm fork can do, as a measure of the machine: one trial, no wall, no judge, compared where it runs.

    python benchmarks/bare_fork.py ORDER.json FORKS        # {"task": …, "source": …}; prints the seconds taken

Where fifty verdicts a second were asked for, two of these at once came to 109 a second on two cores.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch


def main() -> None:
    """Fork, run starting code and solution, compare, end; again and again."""
    torch.set_num_threads(1)
    order = json.loads(Path(sys.argv[1]).read_text())
    setup, source = (compile(text, "<code>", "exec") for text in (order["task"]["setup"], order["source"]))
    is_right(setup, source)  # what is done once at first is done
    gc.collect()
    gc.freeze()
    begun = time.perf_counter()
    for _ in range(int(sys.argv[2])):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if is_right(setup, source) else 1)
        if os.waitpid(pid, 0)[1]:
            raise SystemExit("a fork failed")
    print(time.perf_counter() - begun)


def is_right(setup: Any, source: Any) -> bool:  # noqa: ANN401  code
    """Is the sum what the run's own tables give?"""
    names: dict[str, Any] = {}
    exec(setup, names)  # noqa: S102
    exec(source, names)  # noqa: S102
    places = torch.arange(names["block_size"])
    expected = names["token_emb"].weight[names["x"]] + names["pos_emb"].weight[places]
    return torch.allclose(names["h"], expected)


if __name__ == "__main__":
    main()
