"""
Is as much of each package passed through by tests as before?

    .venv/bin/python -m tools.coverage_floors COVERAGE.json [--write]

The floors stand in `coverage_floors.toml`: percent of lines and branches, a point below what was measured. A package
without a floor, and a floor without its package, are faults too. `--write` measures anew. Exit code 1 below a floor.
"""

import argparse
import json
import math
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

FLOORS = Path(__file__).with_suffix(".toml")
MARGIN = 1.0
"""Percent below what was measured: which branch a race takes differs from run to run."""


def main() -> int:
    """Compare, print what is too low, and say so in the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("measured", type=Path, help="what `coverage json` has written")
    parser.add_argument("--write", action="store_true", help="write the floors anew")
    args = parser.parse_args()
    measured = percent_by_package(json.loads(args.measured.read_text(encoding="utf-8"))["files"])
    if args.write:
        FLOORS.write_text(written(measured), encoding="utf-8")
        return 0
    faults = faults_of(measured, tomllib.loads(FLOORS.read_text(encoding="utf-8")))
    print("\n".join(faults) or f"{len(measured)} packages are at or above their floors")
    return 1 if faults else 0


def percent_by_package(files: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    """
    Return how much of each package is passed through.

    Args:
        files: by path, what coverage has counted of each file.

    Returns:
        By package, the first two names of the path below the top: percent of lines and branches together.
    """
    passed: defaultdict[str, float] = defaultdict(float)
    counted: defaultdict[str, float] = defaultdict(float)
    for path, file in files.items():
        package = "/".join(Path(path).parts[:-1][:3])
        summary = file["summary"]
        passed[package] += summary["covered_lines"] + summary.get("covered_branches", 0)
        counted[package] += summary["num_statements"] + summary.get("num_branches", 0)
    return {name: 100 * passed[name] / count for name, count in sorted(counted.items()) if count}


def faults_of(measured: dict[str, float], floors: dict[str, float]) -> list[str]:
    """Say which packages are below their floor, have none, or are there no more."""
    low = [
        f"{name}: {percent:.1f} %, and its floor is {floors[name]:g} %"
        for name, percent in measured.items()
        if name in floors and percent < floors[name]
    ]
    missing = [f"{name}: {measured[name]:.1f} %, and it has no floor" for name in measured if name not in floors]
    return low + missing + [f"{name}: it has a floor, and is not there" for name in floors if name not in measured]


def written(measured: dict[str, float]) -> str:
    """Return the floors as a file has them."""
    head = "# Percent of lines and branches that tests pass through at least; what runs in a sandbox is not counted.\n"
    lines = [f'"{name}" = {max(0, math.floor(percent - MARGIN))}' for name, percent in measured.items()]
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
