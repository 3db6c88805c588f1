"""
Answering requests to fork: what the warm processes have in common with a judge's process that has its exercise open.

One JSON message a packet; `graders.zygote.fork_server` lists them. What is forked never comes back into the loop.
"""

import json
import os
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from graders.protocol.fork_request import ForkRequest

MESSAGE_BYTES = 64 * 1024
_DESCRIPTORS = 4
_FAULT_STATUS = 70


@dataclass(frozen=True)
class Nested:
    """What a fork is given that may fork in its turn."""

    control: socket.socket  # where its requests come in
    confine: Callable[[], None]  # raises the last wall, in each fork of it: it cannot have that itself
    resident: int  # bytes that it shares with its warm process


def answer(
    control: socket.socket,
    *,
    fork: Callable[[ForkRequest, list[int]], tuple[int, list[int]]],
    resident: int,
) -> None:
    """
    Fork whenever asked, until the parent closes the socket.

    Args:
        control: where requests come in.
        fork: makes one, of a request and its descriptors; gives its process id and descriptors for the parent.
        resident: bytes that this process holds, and all forks with it.
    """
    unburied: set[int] = set()
    while True:
        message, received, _, _ = socket.recv_fds(control, MESSAGE_BYTES, _DESCRIPTORS)
        if not message:
            return
        fields = json.loads(message)
        match fields["do"]:
            case "fork":
                pid, sent = fork(ForkRequest.from_json(fields), received)
                pidfd = os.pidfd_open(pid)  # cannot be stale: only this process reaps
                socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [pidfd, *sent])
                for one in (*received, *sent, pidfd):
                    os.close(one)
            case "reap":
                control.send(json.dumps({"status": os.waitpid(fields["pid"], 0)[1]}).encode())
            case "bury":
                unburied.add(fields["pid"])
            case "hello":
                control.send(json.dumps({"resident": resident}).encode())
        unburied = {pid for pid in unburied if os.waitpid(pid, os.WNOHANG)[0] == 0}


def forked(become: Callable[[], None], *, is_printed: Callable[[], bool] = lambda: True) -> int:
    """
    Fork, and have the child become something; its process id, in this process alone.

    Args:
        become: what the child does. The end of it, however it comes, is the end of the child.
        is_printed: whether an exception there is printed, for the parent, as the reason of a grader fault.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        become()
        os._exit(0)
    except BaseException:  # noqa: BLE001  whatever happens, a fork never returns into the loop
        if is_printed():
            traceback.print_exc()
    finally:
        os._exit(_FAULT_STATUS)  # also where there is no memory left to print with
