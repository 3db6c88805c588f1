"""
Thousands of mixed submissions with two slots: is anything lost, graded twice, left behind or growing?

    .venv/bin/python benchmarks/soak.py [--submissions 5000] [--slots 2]

Right, wrong, crashing and hostile submissions in a fixed mix, each with the verdict it must get. Printed: verdicts as
they should be, processes, descriptors, folders, shared memory and System V objects left, and the memory of the parent
and of the warm processes over the first and the last fifth. Exit code 1 if anything is not as it should be.
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
from tools.forged_observations import Edit, forging

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
MOST_GROWTH = 0.05
WALL_TIME_S = 1.5  # an endless loop costs this much; right code needs a hundredth
_RAISES = """
class R(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t): return t.clone()
    @staticmethod
    def backward(ctx, g): raise ValueError("no")
"""
LEAVES = ("outputs", "token_emb", "leaves")
HUGE_LEAF = Edit(
    "observation", "body", LEAVES, "[{'storage': 0, 'offset': 0, 'shape': [1 << 39, 0], 'stride': [0, 0]}]"
)
NO_NUMBER = Edit("observation", "body", ("outputs", "token_emb", "storage"), "10 ** 400")
NAMELESS = """
import os, mmap
keep = []
for n in range(20):
    fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for _ in range(16): os.write(fd, b"x" * (1 << 20))
    os.unlink("f")
    keep.append(mmap.mmap(fd, 4096)); os.close(fd)
"""
NAMED_AFTER_DATA = """
if block_size != 8:
    exec("def s" + "".join(chars).strip() + "():\\n    h = 1")
    del h
"""
DEEP = """
import os
for _ in range(18):
    os.mkdir("d" * 250); os.chdir("d" * 250)
for n in range(20):
    with open(f"f{n}", "wb") as f: f.write(b"x" * (1 << 23))
"""


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
    parent_mib: list[float] = field(default_factory=list)
    warm_mib: list[float] = field(default_factory=list)  # a warm process on average
    seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


def kinds(solution: str) -> list[Kind]:
    """The mix: a hundred submissions."""
    wrong = solution.replace("tok + pos", "tok * pos")
    start = "token_emb = nn.Embedding(vocab_size, n_embd)\npos_emb = nn.Embedding(block_size, n_embd)\n"
    start += "nn.init.zeros_(pos_emb.weight)\n"
    steps = "tok = token_emb(x)\npos = pos_emb(torch.arange(block_size))\n"
    return [
        Kind("right", 44, solution, frozenset({"passed"})),
        Kind("right from zero", 3, f"{start}{steps}h = tok + pos\n", frozenset({"passed"})),
        Kind("wrong", 20, wrong, frozenset({"failed"})),
        Kind("wrong behind zeros", 2, f"{start}{steps}h = tok\n", frozenset({"failed"})),
        Kind("raises in backward", 1, f"{_RAISES}{solution}\nh = R.apply(h)\n", frozenset({"failed"})),
        Kind("observations a huge leaf", 1, forging(solution, HUGE_LEAF), frozenset({"crashed"})),
        Kind("observations no number", 1, forging(solution, NO_NUMBER), frozenset({"crashed"})),
        Kind("nameless files", 1, NAMELESS, frozenset({"output_limit"})),
        Kind("folders beyond any path", 1, DEEP, frozenset({"output_limit", "passed", "error"})),
        Kind("leaks by name", 1, f"{solution}\n{NAMED_AFTER_DATA}", frozenset({"failed"})),
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
        before, shared_before = footprint(), shared()
        figures = soak(task, kinds(exercise.solution), folder=Path(folder), count=args.submissions, slots=args.slots)
        left = [path for path in Path(folder).rglob("*") if path.name.startswith("run-")]
        left += [Path(one) for one in shared() - shared_before]
        after = footprint()
    return summarised(figures, count=args.submissions, left=left, before=before, after=after)


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
                    figures.parent_mib.append(resident_mib(os.getpid()))
                    figures.warm_mib.append(statistics.mean(map(resident_mib, warm_processes())))


def resident_mib(pid: int) -> float:
    """Resident set size of a process, in MiB; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def warm_processes() -> list[int]:
    """The zygotes of this process; their runs, which come and go, are left out."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
                command = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if b"graders/zygote/__main__.py" in command and b"bwrap" not in command.split(b"\0")[0]:
                found[int(path.name)] = int(fields[1])
    mine = {pid: parent for pid, parent in found.items() if is_below(pid)}
    return [pid for pid, parent in mine.items() if parent not in mine]


def is_below(pid: int) -> bool:
    """Is this process a child of ours, or of one?"""
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        pid = int(stat.rsplit(")", 1)[1].split()[1])
        if pid == os.getpid():
            return True
    return False


def shared() -> set[str]:
    """Names in shared memory and System V objects on this machine."""
    tables = [Path(f"/proc/sysvipc/{kind}") for kind in ("shm", "sem", "msg")]
    lines = [
        f"{one.name} {line.split()[1]}" for one in tables if one.exists() for line in one.read_text().splitlines()[1:]
    ]
    return {*lines, *(str(one) for one in Path("/dev/shm").iterdir())}  # noqa: S108  looked at only


def footprint() -> tuple[int, int]:
    """Descriptors of this process and processes below it."""
    gc.collect()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return len(list(Path("/proc/self/fd").iterdir())), len(children)


def summarised(
    figures: Figures, *, count: int, left: list[Path], before: tuple[int, int], after: tuple[int, int]
) -> int:
    """Print the figures; the exit code."""
    for (kind, verdict), number in sorted(figures.verdicts.items()):
        print(f"  {kind:15s} {verdict:14s} {number:6d}")
    lost = count - len(figures.graded)
    twice = sum(number > 1 for number in figures.graded.values())
    print(f"{count} submissions in {figures.seconds:.0f} s ({count / figures.seconds:.1f} a second)")
    print(f"lost {lost}, graded twice {twice}, with another verdict than they should {len(figures.wrong)}")
    print(f"left: {len(left)} folders or shared objects", end="; ")
    print(f"descriptors {before[0]} -> {after[0]}, processes {before[1]} -> {after[1]}")
    growths = [grown("parent", figures.parent_mib), grown("a warm process", figures.warm_mib)]
    for one in figures.wrong[:20]:
        print(f"  ! {one}")
    well = not (lost or twice or figures.wrong or left) and after[0] <= before[0] + 2 and after[1] <= before[1]
    return 0 if well and max(growths) <= MOST_GROWTH else 1


def grown(whose: str, seen_mib: list[float]) -> float:
    """Print the medians of the first and the last fifth; the growth, as a share."""
    fifth = max(1, len(seen_mib) // 5)
    first, last = statistics.median(seen_mib[:fifth]), statistics.median(seen_mib[-fifth:])
    print(f"memory of {whose}: first fifth {first:.1f} MiB, last {last:.1f} MiB ({last / first - 1:+.1%})")
    return last / first - 1


if __name__ == "__main__":
    sys.exit(main())
