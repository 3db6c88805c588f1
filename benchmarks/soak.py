"""
Thousands of mixed submissions with two slots: is anything lost, graded twice, left behind or growing?

    .venv/bin/python benchmarks/soak.py [--submissions 5000] [--slots 2]

Right, wrong, crashing and hostile submissions in a fixed mix, each with the verdict it must get. Printed: verdicts as
they should be, processes, descriptors and folders left, and the memory of parent and warm processes over the first
and the last fifth. Exit code 1 if anything is not as it should be.
"""

import argparse
import gc
import itertools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.task import Limits, Task
from graders.trials import new_seed

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
MOST_GROWTH = 0.05
WALL_TIME_S = 1.5  # an endless loop costs this much; right code needs a hundredth


@dataclass(frozen=True)
class Kind:
    """A kind of submission, how often it comes in a hundred, and the verdicts it may get."""

    name: str
    share: int
    source: str
    verdicts: frozenset[str]


@dataclass
class Figures:
    """What was seen."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    graded: Counter[int] = field(default_factory=Counter)
    memory_mib: list[float] = field(default_factory=list)
    seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


def kinds(solution: str) -> list[Kind]:
    """The mix: a hundred submissions."""
    wrong = solution.replace("tok + pos", "tok * pos")
    return [
        Kind("right", 50, solution, frozenset({"passed"})),
        Kind("wrong", 25, wrong, frozenset({"failed"})),
        Kind("raises", 8, solution.replace("torch.arange(block_size)", "x"), frozenset({"error"})),
        Kind("does not parse", 4, "h = (", frozenset({"error"})),
        Kind("crashes", 4, "import ctypes\nctypes.string_at(0)", frozenset({"crashed"})),
        Kind("exits", 2, "import os\nos._exit(0)", frozenset({"crashed"})),
        Kind("floods", 2, "while True: print('x' * 10000)", frozenset({"output_limit"})),
        Kind("eats memory", 2, "keep = torch.ones(2**30)", frozenset({"memory_limit"})),
        Kind("loops", 1, "while True: pass", frozenset({"time_limit"})),
        Kind("forges", 1, f"{wrong}\nimport os\nos.write(4, b'KLO1' + bytes(9))\nos._exit(0)", frozenset({"crashed"})),
        Kind("leaves files", 1, f"{solution}\nopen('left', 'w').write('x')", frozenset({"passed"})),
    ]


def main() -> int:
    """Run, print, and say in the exit code whether all was well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--submissions", type=int, default=5000, help="how many in all")
    parser.add_argument("--slots", type=int, default=2, help="how many are graded at once")
    args = parser.parse_args()
    exercise = load_code_exercise(EXERCISE)
    task = exercise.task(1)
    task = Task(**{**task.__dict__, "limits": Limits(wall_time_s=WALL_TIME_S)})
    with tempfile.TemporaryDirectory(prefix="kelolo-soak-") as folder:
        before = footprint()
        figures = soak(task, kinds(exercise.solution), folder=Path(folder), count=args.submissions, slots=args.slots)
        left = [path for path in Path(folder).rglob("*") if path.name.startswith("run-")]
        after = footprint()
    return told(figures, count=args.submissions, left=left, before=before, after=after)


def soak(task: Task, mix: list[Kind], *, folder: Path, count: int, slots: int) -> Figures:
    """Grade them all, with as many graders as slots."""
    figures, jobs = Figures(), SimpleQueue[tuple[int, Kind] | None]()
    for number, kind in zip(range(count), itertools.cycle(spread(mix)), strict=False):
        jobs.put((number, kind))
    for _ in range(slots):
        jobs.put(None)
    begun = time.monotonic()
    threads = [threading.Thread(target=work, args=(task, jobs, figures, folder / str(slot))) for slot in range(slots)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    figures.seconds = time.monotonic() - begun
    return figures


def spread(mix: list[Kind]) -> list[Kind]:
    """A hundred submissions in an order that mixes the kinds."""
    all_ = [kind for kind in mix for _ in range(kind.share)]
    return [all_[number * 37 % len(all_)] for number in range(len(all_))]


def work(task: Task, jobs: "SimpleQueue[tuple[int, Kind] | None]", figures: Figures, scratch: Path) -> None:
    """One slot: grade until there is nothing more."""
    with Grader(scratch=scratch) as grader:
        while (job := jobs.get()) is not None:
            number, kind = job
            grader.prepare(task.limits)
            report = grader.grade(task, kind.source, seed=new_seed())
            with figures.lock:
                figures.graded[number] += 1
                figures.verdicts[kind.name, report.verdict.value] += 1
                if report.verdict.value not in kind.verdicts:
                    figures.wrong.append(f"{kind.name}: {report.verdict.value} {report.note}")
                if number % 20 == 0:
                    figures.memory_mib.append(memory_mib())


def memory_mib() -> float:
    """Proportional set size of this process and all below it, in MiB."""
    total = 0
    for pid in family():
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue  # a run that has just ended
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def family() -> list[int]:
    """This process and its warm processes; runs, which come and go, are left out."""
    me, found = os.getpid(), []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
                command = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if int(path.name) == me or (int(fields[1]) == me and b"zygote" in command):
                found.append(int(path.name))
    return found


def footprint() -> tuple[int, int]:
    """Descriptors of this process and processes below it."""
    gc.collect()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return len(list(Path("/proc/self/fd").iterdir())), len(children)


def told(figures: Figures, *, count: int, left: list[Path], before: tuple[int, int], after: tuple[int, int]) -> int:
    """Print the figures; the exit code."""
    fifth = max(1, len(figures.memory_mib) // 5)
    first, last = statistics.median(figures.memory_mib[:fifth]), statistics.median(figures.memory_mib[-fifth:])
    growth = last / first - 1
    for (kind, verdict), number in sorted(figures.verdicts.items()):
        print(f"  {kind:15s} {verdict:14s} {number:6d}")
    lost = count - len(figures.graded)
    twice = sum(number > 1 for number in figures.graded.values())
    print(f"{count} submissions in {figures.seconds:.0f} s ({count / figures.seconds:.1f} a second)")
    print(f"lost {lost}, graded twice {twice}, with another verdict than they should {len(figures.wrong)}")
    print(f"left: {len(left)} folders; descriptors {before[0]} -> {after[0]}, processes {before[1]} -> {after[1]}")
    print(f"memory of parent and warm processes: first fifth {first:.0f} MiB, last {last:.0f} MiB ({growth:+.1%})")
    for one in figures.wrong[:20]:
        print(f"  ! {one}")
    well = not (lost or twice or figures.wrong or left) and after[0] <= before[0] + 2 and after[1] <= before[1]
    return 0 if well and growth <= MOST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
