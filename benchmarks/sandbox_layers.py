"""
What does each wall cost a run? Wall by wall, and bubblewrap on and off in turn.

    .venv/bin/python benchmarks/sandbox_layers.py [--rounds 200]

Each round forks a process that is as warm and as large as the student's, raises the walls in it as a run does, and
times each by itself. Then right code is run with the warm processes in namespaces of their own and without, in turn.
Milliseconds, medians. Exit code 1 if a wall costs more than 3 ms.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.sandbox import (
    bubblewrap,
    descriptors,
    identity,
    landlock,
    libraries,
    limits,
    privileges,
    seccomp,
    seccomp_list,
)
from graders.sandbox.layers import SandboxLayers
from graders.student import main as student
from graders.task import Task
from graders.zygote import huge_pages

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
MOST_MS = 3.0


def main() -> int:
    """Measure, print, and say in the exit code whether each wall is cheap."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="how often each is measured")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="kelolo-walls-") as folder:
        costs = wall_by_wall(Path(folder), rounds)
        exercise = load_code_exercise(EXERCISE)
        worlds = in_worlds(exercise.task(1), exercise.solution, folder=Path(folder), rounds=rounds)
    print(f"what each wall costs a run, median of {rounds} (95th percentile), ms")
    for wall, took in costs.items():
        print(f"  {wall:42s} {statistics.median(took):7.3f}  ({statistics.quantiles(took, n=20)[-1]:.3f})")
    print(f"  {'all of them':42s} {sum(statistics.median(took) for took in costs.values()):7.3f}")
    for world, took in worlds.items():
        print(f"a run on the lesson's data, {world:20s} {statistics.median(took):7.1f}")
    return 0 if all(statistics.median(took) <= MOST_MS for took in costs.values()) else 1


def wall_by_wall(folder: Path, rounds: int) -> dict[str, list[float]]:
    """The time that each takes, in forks of this process, which is made like a warm one first."""
    student.warm_up()
    libraries.make_view(folder / "packages")
    layers = SandboxLayers.prepare(
        folder / "packages", scratch=folder, own_world=False, programs=(seccomp_list.compile_filter(), None)
    )
    gc.collect()
    gc.freeze()
    huge_pages.collapse()
    costs: dict[str, list[float]] = {}
    for number in range(rounds):
        for wall, took in forked(layers, folder / str(number)).items():
            costs.setdefault(wall, []).append(took)
    return costs


def forked(layers: SandboxLayers, scratch: Path) -> dict[str, float]:
    """Raise all walls in a fork; what each took."""
    scratch.mkdir()
    uid = identity.uid_for(0)
    if uid is not None:
        os.chown(scratch, uid, uid)
    job, answer = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        took = raise_all(layers, scratch, uid=uid, ends=(job[0], answer[1]))
        os.write(descriptors.OUTLET, json.dumps(took).encode())
        os._exit(0)
    os.close(answer[1])
    said = os.read(answer[0], 1 << 16)
    os.waitpid(child, 0)
    for one in (*job, answer[0]):
        os.close(one)
    found: dict[str, float] = json.loads(said)
    return found


def raise_all(layers: SandboxLayers, scratch: Path, *, uid: int | None, ends: tuple[int, int]) -> dict[str, float]:
    """As `graders.zygote.fork_server` and `SandboxLayers.enclose` do, with a clock beside each."""
    assert layers.files is not None  # noqa: S101  not `unsafe`
    assert layers.programs[0] is not None  # noqa: S101
    took: dict[str, float] = {}
    parent, files, program = os.getppid(), layers.files, layers.programs[0]
    footprint, all_open = layers.footprint, layers.all_open
    timed(took, "PDEATHSIG, twice", lambda: privileges.die_with_parent(parent))
    timed(took, "a process group of its own", lambda: os.setpgid(0, 0))
    os.chdir(scratch)
    rules = timed(took, "Landlock's rules", lambda: files.ruleset(str(scratch)))
    inlet, outlet = ends
    timed(
        took,
        "descriptors: its own five",
        lambda: descriptors.arrange(inlet=inlet, outlet=outlet, printed=outlet, others=(rules, files.common)),
    )
    timed(took, "rlimits", lambda: limits.apply(footprint=footprint, memory_mib=512, cpu_s=6, own_user=uid is not None))
    timed(took, "another user, no capabilities", lambda: identity.assume(uid, all_open=all_open))
    timed(took, "PDEATHSIG, twice", lambda: privileges.die_with_parent(parent))
    timed(took, "no_new_privs", privileges.forbid_new)
    timed(took, "Landlock", restrict)
    timed(took, "seccomp", lambda: seccomp.load(program))
    return took


def restrict() -> None:
    """Put both rulesets in force."""
    for ruleset in descriptors.RULESETS:
        landlock.restrict(ruleset)


def timed(took: dict[str, float], wall: str, step: Callable[[], int | None]) -> int:
    """Take a step and add what it took, in milliseconds."""
    begun = time.perf_counter()
    result = step()
    took[wall] = took.get(wall, 0.0) + (time.perf_counter() - begun) * 1000
    return result or 0


def in_worlds(task: Task, source: str, *, folder: Path, rounds: int) -> dict[str, list[float]]:
    """A run of right code, fork and all, with namespaces and without, in turn."""
    kinds = {"no namespaces": False} if bubblewrap.unavailable() else {"bubblewrap": True, "no namespaces": False}
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    graders = {kind: Grader(scratch=folder / kind[:2], namespaces=worlds) for kind, worlds in kinds.items()}
    for grader in graders.values():
        grader.__enter__()
    for _ in range(rounds):
        for kind, grader in graders.items():
            begun = time.perf_counter()
            grader.execute(task, source)
            took[kind].append((time.perf_counter() - begun) * 1000)
    for grader in graders.values():
        grader.__exit__()
    return took


if __name__ == "__main__":
    sys.exit(main())
