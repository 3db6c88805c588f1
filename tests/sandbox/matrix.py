"""
The tests of the walls on four kinds of machine: as root and as an ordinary user, with bubblewrap and without it.

    .venv/bin/python tests/sandbox/matrix.py [--rest]

`--rest` leaves out the cell that `pytest` itself has just run. A cell that this machine cannot have is told with the
reason; with CI=true that is a failure.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from graders.sandbox import bubblewrap

ROOT = Path(__file__).resolve().parent.parent.parent
UID = 39_999  # nobody's, and none that slots get
TESTS = (
    "test_attacks",
    "forging/test_bad_input",
    "resources/test_concurrency",
    "resources/test_disk",
    "test_escape",
    "resources/test_exhaustion",
    "forging/test_forging",
    "test_judges",
    "test_leaks",
    "test_reading",
    "test_layers",
)


@dataclass(frozen=True)
class Cell:
    """One kind of machine, and what came of the tests there."""

    user: str
    walls: str
    told: str
    well: bool


def main() -> int:
    """Run what can be run, print the table, and say in the exit code whether all was well."""
    every = [(user, walls) for user in ("root", "ordinary user") for walls in ("bubblewrap", "without")]
    done = [pytests_own()] if "--rest" in sys.argv else []
    cells = [Cell(*one, "in the run above", well=True) if one in done else cell(*one) for one in every]
    print("\nThe tests of the walls, by machine:")
    for one in cells:
        print(f"  {one.user:14s} {one.walls:11s} {one.told}")
    return 0 if all(one.well for one in cells) else 1


def pytests_own() -> tuple[str, str]:
    """The cell that `pytest` runs on this machine."""
    user = "root" if os.geteuid() == 0 else "ordinary user"
    return user, "without" if bubblewrap.unavailable() else "bubblewrap"


def cell(user: str, walls: str) -> Cell:
    """Run the tests as this user, with or without bubblewrap."""
    lacking = why_not(user, walls)
    if lacking:
        return Cell(user, walls, f"not here: {lacking}", well=os.environ.get("CI") != "true")
    with tempfile.TemporaryDirectory(prefix="kelolo-matrix-") as folder:
        Path(folder).chmod(0o755)
        command = tests(Path(folder), namespaces=walls == "bubblewrap")
        if user != "root" and os.geteuid() == 0:
            os.chown(folder, UID, UID)
            command = as_ordinary_user(command, Path(folder))
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        ended = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    if ended.returncode:
        print(ended.stdout[-8000:], ended.stderr[-4000:])
    figures = re.findall(r"\d+ (?:passed|failed|skipped|errors?)[^=\n]*", ended.stdout)
    return Cell(user, walls, figures[-1] if figures else "did not run", well=ended.returncode == 0)


def why_not(user: str, walls: str) -> str:
    """Why a cell cannot be had on this machine; empty where it can."""
    if user == "root" and os.geteuid() != 0:
        return "it needs root"
    if user != "root" and os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "there is no setpriv to become another user with"
    return bubblewrap.unavailable() if walls == "bubblewrap" else ""


def tests(folder: Path, *, namespaces: bool) -> list[str]:
    """Pytest on the tests of the walls."""
    files = [f"tests/sandbox/{one}.py" for one in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/tests", *files]
    return command if namespaces else [*command, "--no-namespaces"]


def as_ordinary_user(command: list[str], folder: Path) -> list[str]:
    """
    The command as a user without any rights, from root.

    Python or the project may lie below a folder that other users cannot enter. In a mount namespace of its own that
    folder is covered by one that they can, which holds those two and nothing else.
    """
    lines = ["set -e"]
    for number, (closed, paths) in enumerate(closed_folders().items()):
        aside = [folder / f"aside-{number}-{place}" for place in range(len(paths))]
        for path, kept in zip(paths, aside, strict=True):
            lines += [f"mkdir {kept}", f"mount --rbind {shlex.quote(str(path))} {kept}"]
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(closed))}")
        for path, kept in zip(paths, aside, strict=True):
            lines += [f"mkdir -p {shlex.quote(str(path))}", f"mount --rbind {kept} {shlex.quote(str(path))}"]
    lines.append(f"cd {shlex.quote(str(ROOT))}")
    lines.append(f"exec setpriv --reuid {UID} --regid {UID} --clear-groups --no-new-privs {shlex.join(command)}")
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(lines)]


def closed_folders() -> dict[Path, list[Path]]:
    """What is needed, by the topmost folder above it that other users cannot enter."""
    found: dict[Path, list[Path]] = {}
    for path in {ROOT, Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}:
        for folder in [*reversed(path.parents), path]:
            if not folder.stat().st_mode & 0o001:
                found.setdefault(folder, []).append(path)
                break
    return found


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
