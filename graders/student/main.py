"""
The course of one student run: for each trial, execute, look, hand over, answer one random probe.

The next trial's data arrive only when the trial before is done, and the probe's seed only when the
student's code has ended, so neither can be prepared for.
"""

import builtins
import gc
import os
import random
from typing import Any

import numpy as np
import torch
import torch._dynamo  # seconds, which the first optimiser or checkpoint of a run would take else

from graders import wire
from graders.setup import Setup
from graders.student import claims, execution
from graders.wire import Frame, FrameType


def warm_up() -> None:
    """Do once what every run would do at first: fewer pages to copy, no file to read behind the walls."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    table = torch.nn.Embedding(4, 3)
    rows = table(torch.tensor([[0, 1], [2, 3]])) + torch.arange(3)
    (weight_gradient,) = torch.autograd.grad((rows * torch.randn(rows.shape)).sum(), table.weight)
    claims.pack({"w": weight_gradient})
    str(rows)
    np.zeros(2)
    torch.optim.SGD(table.parameters()).zero_grad()


def main(inlet: int, outlet: int) -> None:
    """Run all trials of the job that comes in on `inlet`."""
    gc.enable()
    order = wire.receive(inlet)
    random.seed()
    torch.default_generator.manual_seed(int.from_bytes(os.urandom(7), "little"))
    program = execution.Program(order.body["source"])
    run = _StudentRun(order.body, program, outlet)
    trial: dict[str, Any] | None = order.body["trial"]
    while trial is not None:
        wire.send(outlet, run.execute(trial))
        probe = wire.receive(inlet)
        wire.send(outlet, run.gradients(probe.body["seed"]))
        trial = wire.receive(inlet).body.get("trial")


_UNDERWAY: list[bool] = []


def underway() -> bool:
    """Has the student's code begun? What goes wrong before is ours, what goes wrong after is the student's."""
    return bool(_UNDERWAY)


class _StudentRun:
    """One program, executed on one trial after the other."""

    def __init__(self, order: dict[str, Any], program: execution.Program, outlet: int) -> None:
        self._order, self._program, self._outlet = order, program, outlet
        self._setup = Setup(order["setup"], order["require"])
        self._probe = execution.Probe(order["probe"])
        self._first = True
        self._names: dict[str, Any] = {}
        self._trial: dict[str, Any] = {}
        self._home = os.getcwd()  # noqa: PTH109  a plain text: a student may replace pathlib
        self._folders = 0
        self._randomness = random.getstate(), torch.get_rng_state()

    def execute(self, trial: dict[str, Any]) -> Frame:
        """Run starting code and student's code on this trial; what came of it, as a frame."""
        self._trial = trial
        if not self._first:
            execution.silence()  # other data are nobody's to print
        self._names, ended = self._run(keep_graphs=False)
        if self._first:
            execution.flush()
        self._first = False
        with execution.undisturbed():
            return claims.claim(self._names, self._order, ended)

    def _run(self, *, keep_graphs: bool) -> tuple[dict[str, Any], execution.Ended]:
        names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
        self._begin_anew()
        self._setup.run(self._trial["candidates"], names)
        if not underway():
            wire.send(self._outlet, Frame(FrameType.READY, {}))
            _UNDERWAY.append(True)
        with execution.graphs_kept(keep_graphs):
            return names, execution.run(self._program, self._probe, names)

    def _begin_anew(self) -> None:
        """What a trial has switched, seeded or written, the next one does not find."""
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("cpu")
        random.setstate(self._randomness[0])
        torch.set_rng_state(self._randomness[1])
        self._folders += 1
        folder = f"{self._home}/{self._folders}"
        os.mkdir(folder)  # noqa: PTH102
        os.chdir(folder)

    def gradients(self, seed: int) -> Frame:
        """Answer the random probe with the gradients that the order asks for."""
        with execution.undisturbed():
            found = claims.gradients(self._names, self._order["gradients"], seed)
            if claims.graph_was_freed(found):
                # the student called backward() and its graph is gone: right all the same, so run it once more
                execution.silence()
                self._names, _ = self._run(keep_graphs=True)
                found = claims.gradients(self._names, self._order["gradients"], seed)
            return claims.gradient_frame(found)
