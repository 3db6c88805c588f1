"""
The warm process: torch imported once, forked for every run.

Started by exec with an empty environment, so that neither it nor any ancestor since then has held
a secret. It runs no student's and no author's code, opens no database, has one thread, and speaks
with its parent over one socket, which every fork closes before anything else. There are two of
them, so that what the judge knows is not even in the memory of a student's process.

The protocol, one JSON message a packet; before all others the compiled lists of system calls:

    {"strict": base64, "forking": base64}, or {} where there are none

    {"do": "fork", "scratch": …, "uid": …, "memory_mib": …, "wall_time_s": …} + 3 descriptors (job, answer, output)
        -> {"pid": …} + 1 pidfd, and 1 descriptor of its folder if that is a file system of its own
           with a 4th, a socket, it may fork in its turn, and speaks this protocol there (`graders.judge.main.keep`)
    {"do": "reap", "pid": …}  -> {"status": wait status}      blocks until it is gone
    {"do": "bury", "pid": …}  -> no answer: reaped when it is gone
    {"do": "hello"}           -> {"resident": bytes}
"""

import base64
import gc
import json
import os
import signal
import site
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from graders.protocol.fork_request import ForkRequest
from graders.sandbox import descriptors, disk, privileges
from graders.sandbox.layers import SandboxLayers
from graders.zygote import forking, heap_fill, huge_pages


class EntryPoint(Protocol):
    """What a kind of run offers: `graders.student.main` and `graders.judge.main`."""

    def warm_up(self) -> None:
        """Once, in the warm process."""

    def main(self, inlet: int, outlet: int, nested: forking.Nested | None) -> None:
        """In a fork, behind its walls; with `nested`, behind all of them but the last, and free to fork."""

    def underway(self) -> bool:
        """Has a student's code begun?"""


@dataclass(frozen=True)
class ZygoteOptions:
    """Where a warm process finds itself."""

    descriptor: int  # of the socket to the parent
    packages: str  # the folder of links to torch and what it needs
    scratch: str  # the folder in which runs get their own
    own_world: bool  # are we in namespaces of our own? Then /proc shows nobody else, and may be read
    unsafe: bool = False  # go on without walls that this machine lacks


def serve(entry: EntryPoint, around: ZygoteOptions) -> None:
    """Warm up, then fork whenever asked, until the parent closes the socket."""
    _offer_exit()
    control = socket.socket(fileno=around.descriptor)
    programs = {kind: base64.b64decode(text) for kind, text in json.loads(control.recv(forking.MESSAGE_BYTES)).items()}
    entry.warm_up()
    layers = SandboxLayers.prepare(
        Path(around.packages),
        scratch=Path(around.scratch),
        own_world=around.own_world,
        programs=(programs.get("strict"), programs.get("forking")),
        unsafe=around.unsafe,
    )
    tempfile.tempdir = None  # a run finds its own, by TMPDIR
    signal.signal(signal.SIGINT, signal.default_int_handler)  # for the runs: another may have been inherited
    _hide_platform()
    gc.collect()
    gc.freeze()  # else the first collection in a fork copies every page of the heap
    heap_fill.fill()
    huge_pages.collapse()
    forking.answer(
        control,
        fork=lambda request, received: _fork(request, received, layers=layers, entry=entry, control=control),
        resident=layers.footprint.resident,
    )


def _offer_exit() -> None:
    """`exit()` and `help()`, which `python -S` leaves out and students expect."""
    site.setquit()
    site.setcopyright()
    site.sethelper()


def _hide_platform() -> None:
    """Nothing of the platform is left for a run to import; what is bound already stays bound."""
    for name in [one for one in sys.modules if one.split(".")[0] == "graders"]:
        del sys.modules[name]


def _fork(
    request: ForkRequest, received: list[int], *, layers: SandboxLayers, entry: EntryPoint, control: socket.socket
) -> tuple[int, list[int]]:
    me = os.getpid()
    # Made before the fork is what can be: a page that is written to after it has to be copied. What libraries keep
    # for themselves, caches and temporary files, goes into the run's own folder.
    os.environ.update({"HOME": str(request.scratch), "TMPDIR": str(request.scratch)})
    folder = [_sized(request)] if layers.mounts else []
    own = [layers.files.ruleset(str(request.scratch))] if layers.files is not None else []

    def become() -> None:
        control.close()
        rulesets = [*own, *([] if layers.files is None else [layers.files.common])]
        _become_run(request, received, rulesets, layers=layers, entry=entry, parent=me)

    pid = forking.forked(become, is_printed=lambda: not entry.underway())
    for one in own:
        os.close(one)
    return pid, folder


def _sized(request: ForkRequest) -> int:
    """Give the run's folder a file system of its own, before any rule names it; a descriptor of it for the parent."""
    disk.mount(request.scratch, request.uid)
    return os.open(request.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _become_run(
    request: ForkRequest,
    received: list[int],
    rulesets: list[int],
    *,
    layers: SandboxLayers,
    entry: EntryPoint,
    parent: int,
) -> None:
    privileges.die_with_parent(parent)
    os.setpgid(0, 0)  # not setsid: a session costs milliseconds, and the warm process has left its parent's already
    inlet, outlet, printed, *control = received
    os.chdir(request.scratch)  # before the user changes: the way there may be open to us only
    descriptors.arrange(inlet=inlet, outlet=outlet, printed=printed, others=[*rulesets, *control])
    layers.enclose(
        descriptors.RULESETS[: len(rulesets)],
        uid=request.uid,
        memory_mib=request.memory_mib,
        wall_time_s=request.wall_time_s,
        forks=bool(control),
    )
    nested = None
    if control:
        place = descriptors.OUTLET + 1 + len(rulesets)
        nested = forking.Nested(socket.socket(fileno=place), layers.confine, layers.footprint.resident)
    entry.main(descriptors.INLET, descriptors.OUTLET, nested)
