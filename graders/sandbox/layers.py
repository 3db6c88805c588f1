"""
All layers of the sandbox round one process, raised in the order that works.

Limits before Landlock, since a limit needs nothing of the file system; seccomp last, since
it forbids the calls that raise the others.
"""

import contextlib
import ctypes.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graders.sandbox import disk, identity, kernel, landlock, libraries, limits, privileges, seccomp

# torch prints a line at its first operation if it cannot read what the processor can do
_PROCESSOR_INFO = ("/proc/cpuinfo", "/sys/devices/system/cpu")
_DEVICES = ("/dev/urandom",)  # not /dev/zero: mapped and shared, it is memory that no limit counts


Programs = tuple[bytes | None, bytes | None]
"""Compiled lists of system calls, for runs and for what forks runs; None only where that was said to be no matter."""


@dataclass(frozen=True)
class SandboxLayers:
    """What the warm process prepares once for all its runs."""

    programs: Programs
    files: landlock.Files | None
    footprint: limits.Footprint
    all_open: bool
    mounts: bool  # has each run a file system of its own? Else the parent has to see which files it holds

    @classmethod
    def prepare(
        cls, view: Path, *, scratch: Path, own_world: bool, programs: Programs, unsafe: bool = False
    ) -> "SandboxLayers":
        """
        Open what can be opened ahead.

        Args:
            view: the folder of links to the packages that runs may read (`libraries.make_view`).
            scratch: the folder in which runs get their own.
            own_world: is /proc ours alone?
            programs: the compiled lists of system calls, for runs and for what forks runs.
            unsafe: do without a wall that this machine lacks.

        Raises:
            OSError: Landlock is missing on this machine.
        """
        readable = [*libraries.readable(view), *(Path(one).resolve() for one in (*_PROCESSOR_INFO, *_DEVICES))]
        readable += [Path("/proc")] if own_world else []
        files = None
        with contextlib.suppress(*((OSError,) if unsafe else ())):
            files = landlock.Files(readable, listable=libraries.listable(view), scratch=scratch)
        mounts = disk.can_mount(scratch, own_world=own_world)
        needed = [*libraries.standard_folders(), *(path.resolve() for path in view.iterdir()), scratch]
        return cls(programs, files, limits.footprint(), identity.open_to_all(needed), mounts)

    def enclose(
        self, rulesets: Sequence[int], *, uid: int | None, memory_mib: int, wall_time_s: float, forks: bool = False
    ) -> None:
        """
        Enclose this process for ever.

        Args:
            rulesets: of `files`, for this run; none where there is no Landlock.
            uid: the user to become, where we are root.
            memory_mib: what the run may use on top of what the warm process holds.
            wall_time_s: kept by the parent; the limit on CPU time lies a little above it.
            forks: it runs nothing of anyone's, but forks what does, each of which calls `confine`.

        Raises:
            OSError: a wall cannot be raised; run nothing then.
        """
        limits.apply(
            footprint=self.footprint, memory_mib=memory_mib, cpu_s=int(wall_time_s) + 2, own_user=uid is not None
        )
        parent = os.getppid()
        identity.assume(uid, all_open=self.all_open)
        if not self.mounts:
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # changing the user has hidden it from who watches what it writes
        privileges.die_with_parent(parent)  # changing the user has cleared it
        privileges.forbid_new()
        for ruleset in rulesets:
            landlock.restrict(ruleset)
        program = self.programs[1] if forks else self.programs[0]
        if program is not None:
            seccomp.load(program)

    def confine(self) -> None:
        """The last wall, for a fork of a process that stands behind all the others. Raises OSError."""
        program = self.programs[0]
        if program is not None:
            seccomp.load(program)


@dataclass(frozen=True)
class LayerProbe:
    """Whether a wall can be raised on this machine."""

    wall: str
    holds: bool
    advice: str


def probe() -> list[LayerProbe]:
    """Which required walls this machine can have; looked at, never assumed."""
    library = ctypes.util.find_library("seccomp")
    return [
        LayerProbe("Linux", sys.platform == "linux", "Kelolo's walls need Linux."),
        LayerProbe(
            "Landlock",
            landlock.version() > 0,
            "The kernel must be 5.13 or newer with Landlock switched on (lsm=landlock,… on its command line).",
        ),
        LayerProbe("seccomp", library is not None, "Install libseccomp (Debian: apt install libseccomp2)."),
    ]


def missing() -> list[str]:
    """What to do about each required wall that this machine lacks; empty where all hold."""
    return [one.advice for one in probe() if not one.holds]
