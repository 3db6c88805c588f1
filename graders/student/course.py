"""
One program, executed on one trial after the other: execute, look, hand over, answer one random probe.

The next trial's data arrive only when the trial before is done, and the probe's seed only when the
student's code has ended, so neither can be prepared for.
"""

import builtins
import functools
import os
import random
from collections.abc import Callable
from typing import Any

import torch

from graders.observation_schema import MAX_ELEMENTS
from graders.setup import Setup
from graders.student import claims, execution
from graders.student.start_values import PIN, PinnedProbe, PinnedProgram, Pinning, blind_spot
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
        self._pinned: tuple[execution.Program, execution.Probe] | None = None  # once one is needed
        self.is_blind = False  # do the tables of this trial start with numbers that hide a wrong step?
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

    def _run(self, *, keep_graphs: bool, pinning: Pinning | None = None) -> tuple[dict[str, Any], execution.Ended]:
        names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
        self._begin_anew()
        self._setup.run(candidates(self._order["params"], self._trial["draw"]), names)
        if not self._begun:
            self._begun = True
            self._ready()
        self._program = self._program or self._compile()
        program, probe = self._program, self._probe
        if pinning is not None:
            program, probe = self._pinned = self._pinned or self._with_pins(program)
            names[PIN] = functools.partial(pinning.put_in, names, dict(names))
        with execution.graphs_kept(keep_graphs), execution.collecting():
            return names, execution.run(program, probe, names)

    def _with_pins(self, program: execution.Program) -> tuple[execution.Program, execution.Probe]:
        return PinnedProgram(program.source), PinnedProbe(self._order["probe"])

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
        """Answer the random probe with the gradients that the order asks for; it says whether `again` comes next."""
        with execution.undisturbed():
            found = self._gradients(seed)
            self.is_blind = self._is_blind()
            return claims.gradient_frame(found, self.is_blind)

    def again(self, seed: int) -> tuple[Frame, Frame]:
        """Run once more, with other numbers in the tables: what came of that, and the gradients."""
        tables, outputs = self._order["free_tables"], [one["name"] for one in self._order["outputs"]]
        with execution.undisturbed():
            execution.silence()
            rest = [name for name in outputs if name not in tables]
            pinning = Pinning(tables, rest, seed=seed, before=self._names)
            self._names = {}  # two large tables at once could be too much
        self._names, ended = self._run(keep_graphs=True, pinning=pinning)
        with execution.undisturbed():
            frame = claims.claim(self._names, self._order, ended, pinning.late)
            return frame, claims.gradient_frame(claims.gradients(self._names, self._order["gradients"], seed))

    def _is_blind(self) -> bool:
        found = {name: claims.table_of(self._names.get(name))[0] for name in self._order["free_tables"]}
        tables = {name: one for name, one in found.items() if one is not None and claims.is_dense(one)}
        if self._trial["draw"] is None and any(one.numel() > MAX_ELEMENTS for one in tables.values()):
            return (
                False  # the lesson may show what is large; the fresh trials, where all is small, tell right from wrong
            )
        return bool(blind_spot(tables))

    def _gradients(self, seed: int) -> dict[str, Any]:
        found = claims.gradients(self._names, self._order["gradients"], seed)
        if claims.graph_was_freed(found):
            # the student called backward() and its graph is gone: right all the same, so run it once more
            execution.silence()
            self._names, _ = self._run(keep_graphs=True)
            found = claims.gradients(self._names, self._order["gradients"], seed)
        return found
