"""
How much processor time does a verdict take, and where?

    .venv/bin/python benchmarks/cpu.py [--verdicts 100] [--ahead] [--json]

Times on a shared machine follow the others' work; what the kernel charges to our processes does not. So this reads
the charge: of the trusted parent (this process), of the two warm processes, and of their forks, which the kernel adds
to a warm process when it reaps them, and which are looked at themselves while they live. Page faults are counted
beside it, since most of a fork's time goes there.

With `--ahead` the runs are forked, and have warmed up, before each submission, as where a worker has time between two.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.report import Verdict
from graders.task import Task
from graders.trials import new_seed

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
BATCH = 10  # verdicts between two looks: the kernel tells in hundredths of a second
SETTLE_S = 0.02
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Charge:
    """What the kernel has charged to one process and its reaped children; seconds and counts."""

    user: float
    kernel: float
    faults: float

    def __add__(self, other: "Charge") -> "Charge":
        """Both."""
        return Charge(self.user + other.user, self.kernel + other.kernel, self.faults + other.faults)

    def __sub__(self, other: "Charge") -> "Charge":
        """Since then."""
        return Charge(self.user - other.user, self.kernel - other.kernel, self.faults - other.faults)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--verdicts", type=int, default=100, help="how many in all")
    parser.add_argument("--ahead", action="store_true", help="fork and warm up before each submission")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    exercise = load_code_exercise(EXERCISE)
    with tempfile.TemporaryDirectory(prefix="kelolo-cpu-") as folder, Grader(scratch=Path(folder)) as grader:
        figures = measure(grader, exercise.task(1), exercise.solution, verdicts=args.verdicts, ahead=args.ahead)
    print(json.dumps(figures, indent=1) if args.json else described(figures))
    return 0


def measure(grader: Grader, task: Task, source: str, *, verdicts: int, ahead: bool) -> dict[str, dict[str, float]]:
    """By part: milliseconds of user and kernel time and page faults for one verdict, medians over batches."""
    batch(grader, task, source, ahead=ahead)
    batches: list[dict[str, Charge]] = []
    for _ in range(max(1, verdicts // BATCH)):
        before = charges()
        batch(grader, task, source, ahead=ahead)
        after = charges()
        batches.append({part: charge - before.get(part, Charge(0, 0, 0)) for part, charge in after.items()})
    return {part: _median([one[part] for one in batches if part in one]) for part in batches[-1]}


def batch(grader: Grader, task: Task, source: str, *, ahead: bool) -> None:
    """Grade right code a few times, and let the last forks be reaped."""
    for _ in range(BATCH):
        if ahead:
            grader.prepare(task.limits)
            time.sleep(SETTLE_S * 2)  # for the warm-ups
        report = grader.grade(task, source, seed=new_seed())
        if report.verdict is not Verdict.PASSED:
            raise SystemExit(f"the right solution got {report.verdict}: {report.note}")
    time.sleep(SETTLE_S)


def charges() -> dict[str, Charge]:
    """Of the parent, and of each warm process: its own, and its forks'."""
    found = {"parent": _own(Path("/proc/self"))}
    for path in Path("/proc").iterdir():
        role = _role(path) if path.name.isdigit() else ""
        if role:
            fields = (path / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
            forks = Charge(int(fields[13]) / _TICKS_PER_S, int(fields[14]) / _TICKS_PER_S, int(fields[8]))
            for child in (path / f"task/{path.name}/children").read_text(encoding="ascii").split():
                with contextlib.suppress(OSError):
                    forks += _own(Path("/proc") / child)  # a judge that is kept
            found |= {f"{role}, warm": _own(path), f"{role}, forks": forks}
    return found


def _own(path: Path) -> Charge:
    fields = (path / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
    return Charge(int(fields[11]) / _TICKS_PER_S, int(fields[12]) / _TICKS_PER_S, int(fields[7]))


def _role(path: Path) -> str:
    """The role of a warm process that is ours and no fork of one; else an empty text."""
    try:
        command = (path / "cmdline").read_bytes().split(b"\0")
        place = next(
            (number for number, one in enumerate(command) if one.endswith(b"graders/zygote/__main__.py")), None
        )
        if place is None or b"python" not in command[0] or _is_warm(_parent(path.name)) or not _is_ours(path.name):
            return ""
        return command[place + 1].decode()
    except OSError:
        return ""  # gone meanwhile


def _is_warm(pid: int) -> bool:
    """Is this a warm process itself, and so its child a fork?"""
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"python" in command[0] and any(one.endswith(b"graders/zygote/__main__.py") for one in command)


def _is_ours(pid: str) -> bool:
    number = int(pid)
    while number > 1 and number != os.getpid():
        number = _parent(str(number))
    return number == os.getpid()


def _parent(pid: str) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return int(stat.rsplit(")", 1)[1].split()[1])


def _median(found: list[Charge]) -> dict[str, float]:
    return {
        "user_ms": statistics.median(one.user for one in found) * 1000 / BATCH,
        "kernel_ms": statistics.median(one.kernel for one in found) * 1000 / BATCH,
        "cpu_ms": statistics.median(one.user + one.kernel for one in found) * 1000 / BATCH,
        "faults": statistics.median(one.faults for one in found) / BATCH,
    }


def described(figures: dict[str, dict[str, float]]) -> str:
    """The figures as a table."""
    lines = [f"{'for one verdict':18}{'user ms':>9}{'kernel ms':>11}{'both ms':>9}{'faults':>8}"]
    total = {name: sum(one[name] for one in figures.values()) for name in next(iter(figures.values()))}
    for part, one in (*figures.items(), ("all", total)):
        lines.append(f"{part:18}{one['user_ms']:9.1f}{one['kernel_ms']:11.1f}{one['cpu_ms']:9.1f}{one['faults']:8.0f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
