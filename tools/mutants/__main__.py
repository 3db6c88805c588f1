"""
Does a test find out each small change of the code that decides verdicts and charges?

    .venv/bin/python -m tools.mutants [PATH…] [--jobs 2] [--list]

Theory of operation: the project is copied into a folder a job, one mutation is written into that copy, and the tests of
`targets.toml` run there in a fork of this process, which has imported what takes long and nothing of the project's own.
A mutation is found out when a test fails or the tests do not end. Those that survive stand in `survivors.toml`, each
with its reason. Exit code 1: fewer than 90 % are found out, one survives without a reason, or a reason is out of date.
"""

import argparse
import gc
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.mutants.mutations import Mutation, mutations_of

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
WANTED_SHARE = 0.9
COPIED = ("app", "graders", "tests", "exercises", "migrations", "templates", "static", "pyproject.toml", "tools")
# pytest's own codes for tests that failed, and for files that could not even be imported.
FOUND_OUT, SURVIVED, BROKEN = {1, 2}, 0, "the tests do not pass without any mutation"
LOG, IMPORTED = "tests.log", "imported.txt"
OURS = {"app", "graders", "tests", "tools", "migrations", "conftest", "__main__"}
PLUGINS = {
    "pytest",
    "_pytest",
    "xdist",
    "hypothesis",
    "_hypothesis_globals",
    "_hypothesis_pytestplugin",
    "schemathesis",
}
"""What pytest wants to import by itself."""
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Target:
    """A module, and the tests that must find out what is changed in it."""

    path: str
    tests: tuple[str, ...]
    options: tuple[str, ...]


@dataclass
class Job:
    """A copy of the project, and the tests that run in it now."""

    folder: Path
    pid: int = 0
    until: float = 0.0


@dataclass
class Score:
    """What became of a module's mutations."""

    found_out: int = 0
    survivors: list[Mutation] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many there are."""
        return self.found_out + len(self.survivors)


def main() -> int:
    """Try the mutations of each module, print, and say in the exit code whether all is as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("paths", nargs="*", help="modules or folders; all of targets.toml unless given")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once")
    parser.add_argument("--list", action="store_true", help="print the mutations, and try none")
    args = parser.parse_args()
    chosen = [one for one in targets() if not args.paths or any(_is_in(one.path, path) for path in args.paths)]
    if args.list:
        for target in chosen:
            print("\n".join(f"{target.path}:{one.line} {one.name}" for one in mutations_of(_read(target.path))))
        return 0
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    _import_what_takes_long()
    with tempfile.TemporaryDirectory(prefix="kelolo-mutants-") as folder:
        jobs = [Job(_copied(Path(folder) / str(number))) for number in range(args.jobs)]
        scores = {target.path: tried(target, jobs) for target in chosen}
    return report(scores)


def targets() -> Iterator[Target]:
    """Yield the modules of targets.toml; one that stands there by itself is not of its folder's."""
    table = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))
    for path, one in table.items():
        modules = (
            [path] if path.endswith(".py") else sorted(str(f.relative_to(ROOT)) for f in (ROOT / path).rglob("*.py"))
        )
        for module in modules:
            if (module == path or module not in table) and mutations_of(_read(module)):
                yield Target(module, tuple(one["tests"]), tuple(one.get("options", ())))


def tried(target: Target, jobs: list[Job]) -> Score:
    """Run the tests on each mutation of a module. Raises SystemExit if they fail without one."""
    begun = time.monotonic()
    jobs[0].pid = _start(jobs[0], target)
    if os.waitstatus_to_exitcode(os.waitpid(jobs[0].pid, 0)[1]) != SURVIVED:
        raise SystemExit(f"{target.path}: {BROKEN}:\n{_log(jobs[0])}")
    most_s = 20 + 5 * (time.monotonic() - begun)
    _import_what_takes_long((jobs[0].folder / IMPORTED).read_text(encoding="utf-8").split())
    score = Score()
    waiting = mutations_of(_read(target.path))[::-1]
    print(f"{target.path}: {len(waiting)} mutations", flush=True)
    running: list[tuple[Job, Mutation]] = []
    while waiting or running:
        for job in jobs:
            if waiting and job not in [one for one, _ in running]:
                mutation = waiting.pop()
                (job.folder / target.path).write_text(mutation.source, encoding="utf-8")
                job.pid, job.until = _start(job, target), time.monotonic() + most_s
                running.append((job, mutation))
        for job, mutation in running[:]:
            if (code := _ended(job)) is not None:
                running.remove((job, mutation))
                _count(score, job, mutation, code)
        time.sleep(_LOOK_EVERY_S)
    for job in jobs:
        shutil.copyfile(ROOT / target.path, job.folder / target.path)
    return score


def report(scores: dict[str, Score]) -> int:
    """Print a table, and what survives without a reason. Return the exit code."""
    reasons = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))
    faults = []
    for path, score in scores.items():
        known = reasons.get(path, {})
        names = {one.name for one in score.survivors}
        faults += [f"{path}:{one.line} survives: {one.name}" for one in score.survivors if one.name not in known]
        faults += [f"{path}: no longer survives: {name}" for name in known if name not in names]
        print(f"{score.found_out:5} of {score.total:5} found out ({score.found_out / score.total:4.0%})  {path}")
    found_out = sum(one.found_out for one in scores.values())
    share = found_out / max(1, sum(one.total for one in scores.values()))
    print(f"{share:.1%} found out, {WANTED_SHARE:.0%} wanted", *faults, sep="\n")
    return 1 if faults or share < WANTED_SHARE else 0


def _is_in(path: str, chosen: str) -> bool:
    return Path(path).is_relative_to(chosen.rstrip("/"))


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _import_what_takes_long(names: Iterable[str] = ("torch",)) -> None:
    """Import in this process what each fork would import anew, but nothing of the project's own."""
    for name in names:
        # Some modules can be had only from within their package, and some only once.
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    # A thread would not be there in a fork.
    sys.modules["torch"].set_num_threads(1)
    # What imports have left behind is cleared away here, or each fork's tests would be blamed for it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
    gc.freeze()


def _copied(folder: Path) -> Path:
    """Copy what is under version control, as it stands now."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *COPIED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def _start(job: Job, target: Target) -> int:
    """Start the tests in a fork, with the copy before all others on the path."""
    if pid := os.fork():
        return pid
    code = 3
    try:
        code = _run_tests(job.folder, target)
    except BaseException:  # noqa: BLE001  nothing may get past the fork: it would clear away what is its parent's
        traceback.print_exc()
    os._exit(code)


def _run_tests(folder: Path, target: Target) -> int:
    os.setsid()
    os.chdir(folder)
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    sys.path = [str(folder), *(one for one in sys.path if Path(one).resolve() != ROOT)]
    for name in [one for one in sys.modules if one.partition(".")[0] in OURS]:
        del sys.modules[name]
    import pytest  # noqa: PLC0415

    options = ["-x", "-q", "-o", "addopts=", "--import-mode=importlib", "-p", "xdist.plugin", "-p", "no:cacheprovider"]
    code = int(pytest.main([*options, *target.options, *target.tests]))
    others = (name for name in sys.modules if name.partition(".")[0] not in OURS | PLUGINS)
    (folder / IMPORTED).write_text("\n".join(others), encoding="utf-8")
    return code


def _ended(job: Job) -> int | None:
    """Return the exit code of a job's tests, or None while they run; those that take too long are ended."""
    pid, status = os.waitpid(job.pid, os.WNOHANG)
    if pid:
        _kill(job)
        return os.waitstatus_to_exitcode(status)
    if time.monotonic() > job.until:
        _kill(job)
        os.waitpid(job.pid, 0)
        return -signal.SIGKILL
    return None


def _kill(job: Job) -> None:
    """End what the tests have started, and themselves."""
    try:
        os.killpg(job.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _count(score: Score, job: Job, mutation: Mutation, code: int) -> None:
    if code == SURVIVED:
        score.survivors.append(mutation)
        print(f"  survives: {mutation.line} {mutation.name}", flush=True)
    elif code in FOUND_OUT or code < 0:
        score.found_out += 1
    else:
        raise SystemExit(f"{mutation.name}: pytest ended with {code}:\n{_log(job)}")


def _log(job: Job) -> str:
    """Return the end of what the tests have said."""
    return (job.folder / LOG).read_text(encoding="utf-8", errors="replace")[-3000:]


if __name__ == "__main__":
    sys.exit(main())
