"""
What a student's process does from its first moment: warm up while there is time, then run its job.

`graders.student.session` is what happens with the student's code.
"""

import gc
import os
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch._dynamo  # seconds, which the first optimiser or checkpoint of a run would take else

from graders.code_cache import CodeCache
from graders.protocol import frames
from graders.protocol.frames import Frame, FrameType
from graders.student import execution, warmup
from graders.student.endless_loop import Loop
from graders.student.process_state import ProcessState
from graders.student.session import StudentSession
from graders.task import StudentPart

_WARM_UP_ROUNDS = 10  # Python takes eight to know that a piece of code is hot


def warm_up() -> None:
    """Do once what every run would do at first: fewer pages to copy, no file to read behind the walls."""
    torch.set_num_threads(1)
    _seed_only_what_is_there()
    for _ in range(_WARM_UP_ROUNDS):
        warmup.run_sample()
    np.zeros(2)
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]).zero_grad()


def _seed_only_what_is_there() -> None:
    """
    Without a device, `torch.manual_seed` keeps its seed for later, with a stack trace, for each kind of device.

    That is a millisecond each time, and a run has no later.
    """
    for device in (torch.cuda, torch.xpu, torch.mtia):
        if not device.is_available():
            setattr(device, "manual_seed_all", _seed_nothing)  # noqa: B010  mtia's module does not declare it


def _seed_nothing(seed: int) -> None:
    """There is nothing to seed."""


def main(inlet: int, outlet: int, _: object = None) -> None:
    """Run all trials of the job that comes in on `inlet`."""
    gc.disable()  # but while the student's code runs
    torch.get_num_threads()  # as torch itself wants it done in a fork
    if not frames.waiting(inlet):
        warmup.run_sample()
    random.seed()
    torch.default_generator.manual_seed(int.from_bytes(os.urandom(7), "little"))
    sys.argv = ["main.py"]
    sys.orig_argv = ["python", "main.py"]
    state = ProcessState()
    job = frames.receive(inlet)

    def ready() -> None:
        gc.freeze()  # what is there by now stays: looking for cycles in the student's time need not go through it
        frames.send(outlet, Frame(FrameType.READY, {}))
        _UNDERWAY.append(True)

    def probing() -> None:
        frames.send(outlet, Frame(FrameType.PROBING, {}))

    code_cache = CodeCache(job.tensors)
    compiled = _program(job.body, outlet)
    run = StudentSession(
        StudentPart.from_json(job.body), compiled, ready=ready, probing=probing, code_cache=code_cache, state=state
    )
    trial: dict[str, Any] | None = job.body["trial"]
    while trial is not None:
        frames.send(outlet, run.execute(trial))
        run.look_for_blind()
        probe = frames.receive(inlet).body
        frames.send(outlet, run.gradients(probe["seed"]))
        if run.is_blind:
            frames.send(outlet, run.again(probe["seed"]))
            frames.send(outlet, run.gradients_again(probe["seed"]))
        run.rest()
        trial = probe["trial"]
    frames.receive(inlet)  # nothing comes: the parent ends a run that has done its job


def _program(job: Mapping[str, Any], outlet: int) -> Callable[[], execution.Program]:
    """What compiles the student's text, with the frames that it may send while it runs."""

    def leaving(line: int) -> None:
        frames.send(outlet, Frame(FrameType.LEFT, {"line": line}))

    def looping(loop: Loop) -> None:
        frames.send(outlet, Frame(FrameType.LOOP, loop))

    return lambda: execution.Program(job["source"], leaving=leaving, looping=looping, time_s=job["wall_time_s"])


_UNDERWAY: list[bool] = []


def underway() -> bool:
    """Has the student's code begun? What goes wrong before is ours, what goes wrong after is the student's."""
    return bool(_UNDERWAY)
