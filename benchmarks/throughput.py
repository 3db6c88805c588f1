"""
How many verdicts a second, and how much memory for one slot more?

    .venv/bin/python benchmarks/throughput.py [--verdicts 200] [--slots 2]

A full queue: each slot grades right code as soon as the last verdict is out. In turn with that, as many at once as
there are slots, fresh Pythons do the same work without walls, and bare forks do the least that a fork can
(`benchmarks/bare_fork.py`), so that the ratios mean something on a shared machine of whatever speed.
Memory is the proportional set size of all warm processes, with one slot and with two.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.report import Verdict
from graders.task import Task
from graders.trials import new_seed

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
FRESH = Path(__file__).with_name("fresh_process.py")
BARE = Path(__file__).with_name("bare_fork.py")
BARE_FORKS = 40  # a process, each time
PARTS = 4  # the two ways take turns so often


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--verdicts", type=int, default=200, help="how many in all")
    parser.add_argument("--slots", type=int, default=2, help="how many are graded at once")
    args = parser.parse_args()
    exercise = load_code_exercise(EXERCISE)
    with tempfile.TemporaryDirectory(prefix="kelolo-throughput-") as folder:
        measure(exercise.task(1), exercise.solution, folder=Path(folder), count=args.verdicts, slots=args.slots)
    return 0


def measure(task: Task, source: str, *, folder: Path, count: int, slots: int) -> None:
    """Both ways in turn, and the memory on the way."""
    order = folder / "order.json"
    order.write_text(json.dumps({"task": task.to_json(), "source": source}))
    graders: list[Grader] = []
    memory_mib = []
    for number in range(slots):
        graders.append(Grader(scratch=folder / str(number)).__enter__())
        busy([graders[-1]], task, source, each=5)
        memory_mib.append(family_mib())
    warm_s = fresh_s = bare_s = 0.0
    for _ in range(PARTS):
        warm_s += busy(graders, task, source, each=count // PARTS // slots)
        fresh_s += fresh(order, slots)
        bare_s += bare(order, slots)
    for grader in graders:
        grader.__exit__()
    done = count // PARTS // slots * slots * PARTS
    per_s, fresh_per_s = done / warm_s, PARTS * slots / fresh_s
    print(f"{slots} slots on {os.cpu_count()} cores: {per_s:.1f} verdicts/s over {done} verdicts of three trials")
    print(f"fresh Pythons, {slots} at once, no walls: {fresh_per_s:.2f} verdicts/s; ratio {per_s / fresh_per_s:.1f}")
    bare_per_s = PARTS * slots * BARE_FORKS / bare_s
    print(f"bare forks, {slots} at once, one trial, no walls: {bare_per_s:.1f}/s; ratio {per_s / bare_per_s:.2f}")
    print(f"memory (PSS): first slot {memory_mib[0]:.0f} MiB", end="")
    print("".join(f", one more {b - a:.0f} MiB" for a, b in itertools.pairwise(memory_mib)))


def busy(graders: list[Grader], task: Task, source: str, *, each: int) -> float:
    """Seconds in which every slot grades so many."""

    def work(grader: Grader) -> None:
        for _ in range(each):
            report = grader.grade(task, source, seed=new_seed())
            if report.verdict is not Verdict.PASSED:
                raise SystemExit(f"the right solution got {report.verdict}: {report.note}")

    threads = [threading.Thread(target=work, args=(grader,)) for grader in graders]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def fresh(order: Path, at_once: int) -> float:
    """Seconds in which so many new Pythons grade one each."""
    begun = time.perf_counter()
    said([str(FRESH), str(order)], at_once)
    return time.perf_counter() - begun


def bare(order: Path, at_once: int) -> float:
    """Seconds in which so many processes make `BARE_FORKS` forks each; the slowest counts."""
    return max(float(one) for one in said([str(BARE), str(order), str(BARE_FORKS)], at_once))


def said(script: list[str], at_once: int) -> list[str]:
    """Run a script in so many Pythons at once; what each printed."""
    command, environment = [sys.executable, *script], {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(at_once)
    ]
    printed = [one.communicate()[0] for one in running]
    if any(one.returncode for one in running):
        raise SystemExit(f"{script[0]} failed")
    return printed


def family_mib() -> float:
    """Proportional set size of all warm processes below this one, in MiB."""
    total_kib = 0
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            if b"graders/zygote/__main__.py" not in (path / "cmdline").read_bytes() or not is_below(int(path.name)):
                continue
            rollup = (path / "smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue  # gone meanwhile
        total_kib += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total_kib / 1024


def is_below(pid: int) -> bool:
    """Is this process a child of ours, or of one?"""
    while pid > 1:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        pid = int(stat.rsplit(")", 1)[1].split()[1])
        if pid == os.getpid():
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
