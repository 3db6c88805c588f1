"""
What does it cost that trials do not see each other? One verdict of each kind, in milliseconds.

    .venv/bin/python benchmarks/fresh_process_reruns.py [--rounds 30]

A right answer and one that is wrong on the lesson's data run in one process; one with sizes typed in, or one that
leaves something behind for the next trial, is heard again in a process for each trial. Last: what printing costs in a
run, beside a plain Python that writes to a pipe, in seconds of processor time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.trials import new_seed

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
LINES = 80_000
PLAIN = """
import sys, time
begun = time.process_time()
for step in range({lines}): print("step", step)
sys.stdout.flush()
print(time.process_time() - begun, file=sys.stderr)
"""
PRINTING = """
import os, time
begun = time.process_time()
for step in range({lines}): print("step", step)
print(flush=True)
took = time.process_time() - begun
if block_size == 8: raise ValueError(took)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="how often each verdict is measured")
    rounds = parser.parse_args().rounds
    exercise = load_code_exercise(EXERCISE)
    right, task = exercise.solution, exercise.task(1)
    answers = {
        "right": right,
        "wrong on the lesson's data": right.replace("tok + pos", "tok - pos"),
        "sizes typed in": right.replace("arange(block_size)", "arange(8)"),
        "right, but leaves something": f"assert not hasattr(torch, 'own')\ntorch.own = 1\n{right}",
    }
    with tempfile.TemporaryDirectory(prefix="kelolo-hearing-") as folder, Grader(scratch=Path(folder)) as grader:
        for name, source in answers.items():
            verdict, took_ms = grader.grade(task, source, seed=new_seed()).verdict, []
            for _ in range(rounds):
                grader.prepare(task.limits)
                begun = time.perf_counter()
                grader.grade(task, source, seed=new_seed())
                took_ms.append((time.perf_counter() - begun) * 1000)
            print(f"{name:30} {verdict:8} {statistics.median(took_ms):7.1f} ms")
        error = grader.execute(task, PRINTING.format(lines=LINES)).error
        here_s = float(error.message) if error else float("nan")
    print(f"{LINES} lines printed in a run     {here_s:.3f} s, in a plain Python {plain_s():.3f} s")


def plain_s() -> float:
    """Seconds that a plain Python computes to print as much into a pipe."""
    command, environment = [sys.executable, "-c", PLAIN.format(lines=LINES)], dict(os.environ)
    environment.pop("PYTHONUNBUFFERED", None)
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr)


if __name__ == "__main__":
    main()
