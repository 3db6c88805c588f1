"""
Namespaces round a warm process, made by bubblewrap where it is installed and allowed.

An extra: a world in which there is no network, no other process, and no file but Python's, torch's and the
scratch folder. What it does not give (system calls, CPU, memory) the other walls do; what they do, they also do
without it.
"""

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

_PROBE_TIME_S = 10
# Shared libraries of the system, and what the dynamic loader and libc look for.
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/localtime")


def unavailable() -> str:
    """Why there is no bubblewrap here, as a sentence; empty if it works."""
    program = shutil.which("bwrap")
    return "bubblewrap (bwrap) is not installed." if program is None else _refusal(program)


@lru_cache(maxsize=1)
def _refusal(program: str) -> str:
    """Try it once, with all that is needed later."""
    attempt = [program, *_world([]), "--", "/usr/bin/env", "true"]
    try:
        done = subprocess.run(attempt, capture_output=True, text=True, timeout=_PROBE_TIME_S, check=False, env={})
    except (OSError, subprocess.TimeoutExpired) as fault:
        return f"bubblewrap cannot be run here: {fault}."
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else f"bubblewrap is refused here: {lines[-1] if lines else done.returncode}."


def wrapped(command: list[str], *, visible: list[Path], writable: Path) -> list[str]:
    """
    The command inside a world of its own.

    Args:
        command: the program and its arguments; the program's own files must be among `visible`.
        visible: files and folders that are there, read-only.
        writable: the one folder that can be written in.
    """
    program = shutil.which("bwrap") or "bwrap"
    seen = [one for path in visible for one in ("--ro-bind", str(path), str(path))]
    return [program, *_world([*visible, writable]), *seen, "--bind", str(writable), str(writable), "--", *command]


def _world(paths: list[Path]) -> list[str]:
    options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options += ["--die-with-parent", "--new-session", "--hostname", "kelolo", "--cap-drop", "ALL"]
    if os.geteuid() == 0:  # to give each run a user of its own
        options += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_DAC_READ_SEARCH"]
    for path in _SYSTEM:
        if os.path.islink(path):  # noqa: PTH114  /lib is a link on most systems, and must stay one
            options += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).exists():
            options += ["--ro-bind", path, path]
    for parent in sorted({parent for path in paths for parent in path.parents if parent != Path("/")}):
        # made by bubblewrap itself, they would be closed to the users that runs become
        options += ["--perms", "0755", "--dir", str(parent)]
    return [*options, "--proc", "/proc", "--dev", "/dev", "--chdir", "/"]


def interpreter_files() -> list[Path]:
    """The folder that this interpreter itself lies in, if it is not part of the system."""
    prefix = Path(sys.base_prefix).resolve()
    return [] if prefix.is_relative_to("/usr") else [prefix]
