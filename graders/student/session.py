"""
One program, executed on one trial after the other: execute, look, hand over, answer one random probe.

The probe's seed and the next trial's data arrive only when the student's code has ended on this one, so neither can be
prepared for. They arrive together, so that the way from a trial to the next one waits for nobody. What of the student's
still runs then, a hook on the way back through the graph, a thread, the same trial once more, may find the next draw
before its time. It has handed over already what is judged of this trial but for the gradients, and these go by the
seed; and the next trial's code is given those data anyway. It gains nothing but a start of some milliseconds.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graders.code_cache import CodeCache
from graders.protocol.frames import Frame
from graders.protocol.observation_schema import MAX_ELEMENTS
from graders.starting_code import Setup
from graders.student import execution, main_module, observation, operations, probe, streams
from graders.student.process_state import ProcessState
from graders.student.start_values import PIN, PinnedProbe, PinnedProgram, Pinning, blind_spot
from graders.task import StudentPart
from graders.trials import candidates


class StudentSession:
    """One program, executed on one trial after the other."""

    def __init__(
        self,
        part: StudentPart,
        program: Callable[[], execution.Program],
        *,
        ready: Callable[[], None],
        probing: Callable[[], None] = lambda: None,
        folders: bool = True,
        code_cache: CodeCache | None = None,
        state: ProcessState | None = None,
    ) -> None:
        """
        Prepare; nothing is run yet.

        Args:
            part: what is told of the exercise.
            program: compiles the student's text. Called after `ready`: what compiling it costs or brings down is the
                student's.
            ready: called once, right before the student's code runs for the first time.
            probing: called in each trial when the next of its steps begins: the author's probe, or all of it once more.
            folders: run each trial in an empty folder: the present one, or once there is something in it, one below.
            code_cache: those of the author's that are compiled already.
            state: the process's, to which each trial goes back; None for the present one.
        """
        self._part, self._compile, self._ready, self._probing = part, program, ready, probing
        self._program: execution.Program | None = None
        self._pinned: tuple[execution.Program, PinnedProbe] | None = None  # once one is needed
        self.is_blind = False  # do the tables of this trial start with numbers that hide a wrong step?
        self._is_as_begun = True  # is the process as it was before anything of the student's ran?
        self._answering = False
        self._setup = Setup(part.setup, part.require, code_cache)
        self._probe = probe.Probe(part.probe, code_cache)
        self._redefined = frozenset(part.redefined)
        self._shown_bytes = part.output_kib * 1024
        self._begun = False
        self._names: dict[str, object] = {}
        self._trial: dict[str, Any] = {}
        self._home = os.getcwd()  # noqa: PTH109  a plain text: a student may replace pathlib
        self._folders = folders
        self._state = state or ProcessState()

    def execute(self, trial: dict[str, Any]) -> Frame:
        """Run starting code and student's code on this trial; what came of it, as a frame."""
        self._trial = trial
        self._names = {}  # what the trial before has made, which may be much, is nobody's any more
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
            return observation.observe(names, self._part, ended)

    def look_for_blind(self) -> None:
        """Find out whether the tables of this trial hide a wrong step; once the observation is on its way."""
        with execution.undisturbed():
            self.is_blind = self._is_blind()

    def rest(self) -> None:
        """Undo what the trial has switched in the process, while the next one is on its way."""
        self._state.restore()
        self._is_as_begun = True

    def _silence(self) -> None:
        self._shown_bytes = 0
        streams.silence()

    def _run(
        self, *, keep_graphs: bool, pinning: Pinning | None = None
    ) -> tuple[dict[str, object], execution.ProgramResult]:
        self._begin_anew()
        names = main_module.fresh()
        self._setup.run(candidates(self._part.params, self._trial["draw"]), names)
        if not self._begun:
            self._begun = True
            self._ready()
        self._program = program = self._program or self._compile()
        lines = self._probe
        if pinning is not None:
            program, lines = self._with_pins(program, pinning, names)
        calls: set[str] | None = set() if self._part.calls else None
        with execution.graphs_kept(keep_graphs), execution.collecting(), operations.recorded(calls):
            ended = probe.run(
                program,
                lines,
                names,
                redefined=self._redefined,
                time_s=self._part.wall_time_s,
                shown_bytes=self._shown_bytes,
                probing=self._probing if not self._answering else None,
            )
        program.streams.close()
        return names, replace(ended, calls=tuple(sorted(calls))) if calls else ended

    def _with_pins(
        self, program: execution.Program, pinning: Pinning, names: dict[str, object]
    ) -> tuple[execution.Program, probe.Probe]:
        """Program and probe in which `pinning` is called after each statement, for one run in `names`."""
        self._pinned = self._pinned or (PinnedProgram(program.source), PinnedProbe(self._part.probe))
        given = dict(names)
        names[PIN] = functools.partial(pinning.put_in, names, given)
        self._pinned[1].pin = functools.partial(pinning.put_in, given=given)
        return self._pinned

    def _begin_anew(self) -> None:
        """What a trial has switched, seeded or written, the next one does not find."""
        if not self._is_as_begun:
            self._state.restore()
        self._is_as_begun = False
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
        """Answer the random probe with the gradients that are asked for; it says whether `again` comes next."""
        with execution.undisturbed():
            found = observation.gradients(self._names, self._part.gradients, seed)
            if observation.graph_was_freed(found):
                # the student called backward() and its graph is gone: right all the same, so run it once more
                self._silence()
                self._answering = True
                names, ended = self._run(keep_graphs=True)
                self._answering = False
                self._names = names if ended.values is None else ended.values
                found = observation.gradients(self._names, self._part.gradients, seed)
            return observation.gradient_frame(found, self.is_blind)

    def again(self, seed: int) -> Frame:
        """Run once more, with other numbers in the tables; what came of that, as a frame."""
        tables, outputs = self._part.free_tables, [name for name, _ in self._part.outputs]
        with execution.undisturbed():
            self._silence()
            rest = [name for name in outputs if name not in tables]
            pinning = Pinning(tables, rest, seed=seed, before=self._names)
            self._names = {}  # two large tables at once could be too much
        names, ended = self._run(keep_graphs=True, pinning=pinning)
        self._names = names if ended.values is None else ended.values
        with execution.undisturbed():
            return observation.observe(names, self._part, ended, pinning.late)

    def gradients_again(self, seed: int) -> Frame:
        """The gradients of that run."""
        with execution.undisturbed():
            return observation.gradient_frame(observation.gradients(self._names, self._part.gradients, seed))

    def _is_blind(self) -> bool:
        found = {name: observation.table_of(self._names.get(name))[0] for name in self._part.free_tables}
        tables = {name: one for name, one in found.items() if one is not None and observation.is_dense(one)}
        if self._trial["draw"] is None and any(one.numel() > MAX_ELEMENTS for one in tables.values()):
            return (
                False  # the lesson may show what is large; the fresh trials, where all is small, tell right from wrong
            )
        return bool(blind_spot(tables))
