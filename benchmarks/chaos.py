"""
Does a submission get lost, or a wrong verdict, while processes are killed all the time?

    .venv/bin/python benchmarks/chaos.py [--submissions 1000] [--seconds S] [--gently] [--seed 1]

The trial itself is `tools/chaos.py`, which `tests/chaos` runs too.
"""

import sys

from tools.chaos import main

if __name__ == "__main__":
    sys.exit(main())
