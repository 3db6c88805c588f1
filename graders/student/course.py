"""
One program, executed on one trial after the other: execute, look, hand over, answer one random probe.

The next trial's data arrive only when the trial before is done, and the probe's seed only when the
student's code has ended, so neither can be prepared for.
"""

import builtins
import os
import random
from collections.abc import Callable
from typing import Any

import torch

from graders.setup import Setup
from graders.student import claims, execution
from graders.texts import Texts
from graders.trials import candidates
from graders.wire import Frame


class StudentRun:
    """One program, executed on one trial after the other."""

    def __init__(
        self,
        order: dict[str, Any],
        program: Callable[[], execution.Program],
        *,
        ready: Callable[[], None],
        folders: bool = True,
        texts: Texts | None = None,
    ) -> None:
        """
        Prepare; nothing is run yet.

        Args:
            order: what `Task.student_part` gives.
            program: compiles the student's text. Called after `ready`: what compiling it costs or brings down is the
                student's.
            ready: called once, right before the student's code runs for the first time.
            folders: run each trial in an empty folder: the present one, or once there is something in it, one below.
            texts: those of the author's that are compiled already.
        """
        self._order, self._compile, self._ready = order, program, ready
        self._program: execution.Program | None = None
        self._setup = Setup(order["setup"], order["require"], texts)
        self._probe = execution.Probe(order["probe"], texts)
        self._first = True
        self._begun = False
        self._names: dict[str, Any] = {}
        self._trial: dict[str, Any] = {}
        self._home = os.getcwd()  # noqa: PTH109  a plain text: a student may replace pathlib
        self._folders = folders
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
        self._setup.run(candidates(self._order["params"], self._trial["draw"]), names)
        if not self._begun:
            self._begun = True
            self._ready()
        self._program = self._program or self._compile()
        with execution.graphs_kept(keep_graphs), execution.collecting():
            return names, execution.run(self._program, self._probe, names)

    def _begin_anew(self) -> None:
        """What a trial has switched, seeded or written, the next one does not find."""
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)  # not "cpu", which would look into every call from then on
        random.setstate(self._randomness[0])
        torch.set_rng_state(self._randomness[1])
        if self._folders:
            os.chdir(self._empty_folder())

    def _empty_folder(self) -> str:
        if not os.listdir(self._home):  # noqa: PTH208  as in most runs: a folder made and removed costs half a millisecond
            return self._home
        folder = f"{self._home}/{os.urandom(8).hex()}"  # not one that the student's code may have made
        os.mkdir(folder)  # noqa: PTH102
        return folder

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
