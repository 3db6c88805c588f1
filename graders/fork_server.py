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
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from graders import holes, huge_pages
from graders.sandbox import descriptors, disk, privileges
from graders.sandbox.walls import Walls

_MESSAGE_BYTES = 64 * 1024
_DESCRIPTORS = 3
_FAULT_STATUS = 70


class Entry(Protocol):
    """What a kind of run offers: `graders.student.main` and `graders.judge.main`."""

    def warm_up(self) -> None:
        """Once, in the warm process."""

    def main(self, inlet: int, outlet: int) -> None:
        """In a fork, behind its walls."""

    def underway(self) -> bool:
        """Has a student's code begun?"""


@dataclass(frozen=True)
class Surroundings:
    """Where a warm process finds itself."""

    descriptor: int  # of the socket to the parent
    packages: str  # the folder of links to torch and what it needs
    scratch: str  # the folder in which runs get their own
    own_world: bool  # are we in namespaces of our own? Then /proc shows nobody else, and may be read
    unsafe: bool = False  # go on without walls that this machine lacks


def serve(entry: Entry, around: Surroundings) -> None:
    """Warm up, then fork whenever asked, until the parent closes the socket."""
    _offer_exit()
    control = socket.socket(fileno=around.descriptor)
    programs = {kind: base64.b64decode(text) for kind, text in json.loads(control.recv(_MESSAGE_BYTES)).items()}
    entry.warm_up()
    walls = Walls.prepare(
        Path(around.packages),
        scratch=Path(around.scratch),
        own_world=around.own_world,
        program=programs.get("strict"),
        unsafe=around.unsafe,
    )
    tempfile.tempdir = None  # a run finds its own, by TMPDIR
    signal.signal(signal.SIGINT, signal.default_int_handler)  # for the runs: another may have been inherited
    _hide_platform()
    gc.collect()
    gc.freeze()  # else the first collection in a fork copies every page of the heap
    holes.fill()
    huge_pages.collapse()
    unburied: set[int] = set()
    while True:
        message, received, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, _DESCRIPTORS)
        if not message:
            return
        order = json.loads(message)
        match order["do"]:
            case "fork":
                _fork(control, order, received, walls=walls, entry=entry)
            case "reap":
                control.send(json.dumps({"status": os.waitpid(order["pid"], 0)[1]}).encode())
            case "bury":
                unburied.add(order["pid"])
            case "hello":
                control.send(json.dumps({"resident": walls.held.resident}).encode())
        unburied = {pid for pid in unburied if os.waitpid(pid, os.WNOHANG)[0] == 0}


def _offer_exit() -> None:
    """`exit()` and `help()`, which `python -S` leaves out and students expect."""
    site.setquit()
    site.setcopyright()
    site.sethelper()


def _hide_platform() -> None:
    """Nothing of the platform is left for a run to import; what is bound already stays bound."""
    for name in [one for one in sys.modules if one.split(".")[0] == "graders"]:
        del sys.modules[name]


def _fork(control: socket.socket, order: dict[str, Any], received: list[int], *, walls: Walls, entry: Entry) -> None:
    me = os.getpid()
    # Made before the fork is what can be: a page that is written to after it has to be copied. What libraries keep
    # for themselves, caches and temporary files, goes into the run's own folder.
    os.environ.update({"HOME": order["scratch"], "TMPDIR": order["scratch"]})
    folder = [_sized(order)] if walls.mounts else []
    own = [walls.files.ruleset(order["scratch"])] if walls.files is not None else []
    pid = os.fork()
    if pid == 0:
        try:
            control.close()
            rulesets = [*own, *([] if walls.files is None else [walls.files.common])]
            _become_run(order, received, rulesets, walls=walls, entry=entry, parent=me)
        except BaseException:  # noqa: BLE001  whatever happens, a fork never returns into the loop
            if not entry.underway():
                traceback.print_exc()  # for the parent, as the reason of a grader fault
        os._exit(_FAULT_STATUS)
    pidfd = os.pidfd_open(pid)  # cannot be stale: only this process reaps
    socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [pidfd, *folder])
    for one in (*received, *own, *folder, pidfd):
        os.close(one)


def _sized(order: dict[str, Any]) -> int:
    """Give the run's folder a file system of its own, before any rule names it; a descriptor of it for the parent."""
    disk.mount(Path(order["scratch"]), order["uid"])
    return os.open(order["scratch"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _become_run(
    order: dict[str, Any], received: list[int], rulesets: list[int], *, walls: Walls, entry: Entry, parent: int
) -> None:
    privileges.die_with_parent(parent)
    os.setpgid(0, 0)  # not setsid: a session costs milliseconds, and the warm process has left its parent's already
    inlet, outlet, printed = received
    os.chdir(order["scratch"])  # before the user changes: the way there may be open to us only
    descriptors.arrange(inlet=inlet, outlet=outlet, printed=printed, others=rulesets)
    walls.enclose(
        descriptors.RULESETS[: len(rulesets)],
        uid=order["uid"],
        memory_mib=order["memory_mib"],
        wall_time_s=order["wall_time_s"],
    )
    entry.main(descriptors.INLET, descriptors.OUTLET)
    os._exit(0)
