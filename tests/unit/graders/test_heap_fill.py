"""Holes in a warm process's memory are filled, so that what its forks allocate lies side by side."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_IN_A_PROCESS_OF_ITS_OWN = """
from graders.zygote import heap_fill
kept = [str(number) * (number % 13) for number in range(50_000)]
del kept[::2]
before = sum(size * free for size, free in heap_fill._python_holes() if size < 512)
heap_fill.fill()
after = sum(size * free for size, free in heap_fill._python_holes() if size < 512)  # a new arena is counted as 512s
print(before > 10 * after, before)
"""


def test_no_holes_are_left_in_pythons_pools() -> None:
    """What is free in pools that are in use is taken, but for what Python frees meanwhile."""
    command = [sys.executable, "-c", _IN_A_PROCESS_OF_ITS_OWN]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    filled, before = told.stdout.split()
    assert (filled, told.stderr) == ("True", "")
    assert int(before) > 0
