"""
Namespaces round a warm process, made by bubblewrap where it is installed and allowed.

An extra: a world in which there is no network, no other process, and no file but Python's, torch's and the
scratch folder. What it does not give (system calls, CPU, memory) the other walls do; what they do, they also do
without it.
"""

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from graders.sandbox import libraries

_PAGE_BYTES = 4096
_PROBE_TIME_S = 10
# On most systems links into /usr, and then they must stay that: the loader's path begins with one.
_LINKS = (Path("/lib"), Path("/lib64"))


def unavailable() -> str:
    """Why there is no bubblewrap here, as a sentence; empty if it works."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed."
    return _refusal(program, mounts=True) and _refusal(program, mounts=False)


@lru_cache(maxsize=2)
def _refusal(program: str, *, mounts: bool) -> str:
    """Try it once, with all that is needed later; `mounts`: also with the right to mount within the world."""
    attempt = [program, *_world(mounts=mounts), "--", str(libraries.interpreter()), "-I", "-S", "-c", ""]
    try:
        done = subprocess.run(attempt, capture_output=True, text=True, timeout=_PROBE_TIME_S, check=False, env={})
    except (OSError, subprocess.TimeoutExpired) as fault:
        return f"bubblewrap cannot be run here: {fault}."
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else f"bubblewrap is refused here: {lines[-1] if lines else done.returncode}."


def wrapped(command: list[str], *, visible: list[Path], writable: Path) -> list[str]:
    """
    The command inside a world of its own, with this interpreter and its libraries.

    Args:
        command: the program and its arguments.
        visible: other files and folders that are there, read-only.
        writable: the one folder that can be written in.
    """
    program = shutil.which("bwrap") or "bwrap"
    mounts = not _refusal(program, mounts=True)
    return [program, *_world(*visible, writable=writable, mounts=mounts), "--", *command]


def _world(*visible: Path, writable: Path | None = None, mounts: bool) -> list[str]:
    options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options += ["--die-with-parent", "--new-session", "--hostname", "kelolo", "--cap-drop", "ALL"]
    options += ["--cap-add", "CAP_SYS_ADMIN"] if mounts else []  # to give each run a file system of its own
    if os.geteuid() == 0:  # to give each run a user of its own
        options += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_DAC_READ_SEARCH"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for link in _LINKS:
        if link.is_symlink():
            options += ["--symlink", str(link.readlink()), str(link)]
    covered = libraries.covered()
    seen = [libraries.interpreter(), *libraries.standard_folders(), *libraries.system_libraries()]
    places = [*seen, *covered, *visible, *([] if writable is None else [writable])]
    for parent in sorted({parent for path in places for parent in path.parents if parent != Path("/")}):
        # made by bubblewrap itself, they would be closed to the users that runs become
        options += ["--perms", "0755", "--dir", str(parent)]
    options += [one for path in seen for one in ("--ro-bind", str(path), str(path))]
    for path in covered:  # folders of other packages inside of Python's library
        options += ["--size", str(_PAGE_BYTES), "--tmpfs", str(path)]
    options += [one for path in visible for one in ("--ro-bind", str(path), str(path))]
    for path in covered:
        options += ["--remount-ro", str(path)]
    options += [] if writable is None else ["--bind", str(writable), str(writable)]
    return [*options, "--chdir", "/"]
