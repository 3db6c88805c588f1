"""
One program, executed on one trial after the other: execute, look, hand over, answer one random probe.

The next trial's data arrive only when the trial before is done, and the probe's seed only when the
student's code has ended, so neither can be prepared for.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graders.setup import Setup
from graders.student import claims, execution, main_module, probe, streams
from graders.student.process_state import ProcessState
from graders.texts import Texts
from graders.trials import candidates
from graders.wire import Frame


class StudentRun:
    """One program, executed on one trial after the other."""

    def __init__(
        self,
        order: dict[str, Any],
        program: execution.Program,
        *,
        ready: Callable[[], None],
        probing: Callable[[], None] = lambda: None,
        folders: bool = True,
        texts: Texts | None = None,
        state: ProcessState | None = None,
    ) -> None:
        """
        Prepare; nothing is run yet.

        Args:
            order: what `Task.student_part` gives.
            program: the student's.
            ready: called once, right before the student's code runs for the first time.
            probing: called in each trial when the next of its steps begins: the author's probe, or all of it once more.
            folders: run each trial in an empty folder: the present one, or once there is something in it, one below.
            texts: those of the author's that are compiled already.
            state: the process's, to which each trial goes back; None for the present one.
        """
        self._order, self._program, self._ready, self._probing = order, program, ready, probing
        self._answering = False
        self._setup = Setup(order["setup"], order["require"], texts)
        self._probe = probe.Probe(order["probe"], texts)
        self._redefined = frozenset(order["redefined"])
        self._shown_bytes = order["output_kib"] * 1024
        self._begun = False
        self._names: dict[str, Any] = {}
        self._trial: dict[str, Any] = {}
        self._home = os.getcwd()  # noqa: PTH109  a plain text: a student may replace pathlib
        self._folders = folders
        self._state = state or ProcessState()

    def execute(self, trial: dict[str, Any]) -> Frame:
        """Run starting code and student's code on this trial; what came of it, as a frame."""
        self._trial = trial
        if self._begun or trial.get("silent"):
            self._silence()  # other data are nobody's to print
        names, ended = self._run(keep_graphs=False)
        if probe.graph_was_freed(ended):
            self._silence()  # as `gradients` does, for the author's own look
            self._probing()
            names, again = self._run(keep_graphs=True)
            ended = replace(again, printed=ended.printed)
        self._names = names if ended.values is None else ended.values
        with execution.undisturbed():
            return claims.claim(names, self._order, ended)

    def _silence(self) -> None:
        self._shown_bytes = 0
        streams.silence()

    def _run(self, *, keep_graphs: bool) -> tuple[dict[str, Any], execution.Ended]:
        self._begin_anew()
        names = main_module.fresh()
        self._setup.run(candidates(self._order["params"], self._trial["draw"]), names)
        if not self._begun:
            self._begun = True
            self._ready()
        with execution.graphs_kept(keep_graphs), execution.collecting():
            ended = probe.run(
                self._program,
                self._probe,
                names,
                redefined=self._redefined,
                time_s=self._order["wall_time_s"],
                shown_bytes=self._shown_bytes,
                probing=self._probing if not self._answering else None,
            )
        self._program.streams.close()
        return names, ended

    def _begin_anew(self) -> None:
        """What a trial has switched, seeded or written, the next one does not find."""
        if self._begun:
            self._state.restore()
        self._state.restore_torch()
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
                self._silence()
                self._answering = True
                names, ended = self._run(keep_graphs=True)
                self._answering = False
                self._names = names if ended.values is None else ended.values
                found = claims.gradients(self._names, self._order["gradients"], seed)
            return claims.gradient_frame(found)
