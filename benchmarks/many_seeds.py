"""
Does any seed let a wrong program pass, or refuse a right one? Each program with hundreds of seeds, without walls.

    .venv/bin/python benchmarks/many_seeds.py [--only EXERCISE] [--seeds 200] [--disguises] [--part 1/2]

A seed decides what tables start with and what the fresh trials are. `pass_share.py` and `disguises.py` grade as a
worker does, some 30 ms each; this runs the student's harness and the judge as they are, each in a fork of this process,
for many seeds one after the other. The programs are the shipped exercises' own, so that walls are not needed; a limit
of time is kept. Of a seed whose lesson trial is refused no fresh trial is run: it is refused whatever they say. With
`--disguises` each wrong variant is tried in every disguise of `app.authoring.self_test.disguises`, and each solution in
those that change a start only. With `--part 1/2` every other program is tried, for two processes side by side.

Exit code 1 if a wrong program passes with any seed, or a right one does not with one of them.
"""

import argparse
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from app.authoring import CodeExercise
from app.authoring.self_test.disguises import DISGUISES
from benchmarks.pass_share import wrongs
from graders.judge import main as judging
from graders.judge.compilation import CompiledExercise, for_judge
from graders.judge.session import Judge
from graders.pool.student_session import TrialFrames
from graders.protocol.frames import Frame
from graders.student import execution, process_state, session
from graders.task import Task
from graders.trials import TrialRequest, draw_trials
from tools.exercises import code_exercises

FOR_ONE_PROGRAM_S = 120


@dataclass(frozen=True)
class Program:
    """One program, and whether it is right."""

    exercise: CodeExercise
    name: str
    source: str
    is_right: bool


def programs(exercise: CodeExercise, *, disguised: bool) -> Iterator[Program]:
    """All programs to try of one exercise."""
    if not disguised:
        yield Program(exercise, "the solution", exercise.solution, is_right=True)
        yield from (Program(exercise, name, source, is_right=False) for name, source in wrongs(exercise))
        return
    for disguise in DISGUISES:
        for name, source in wrongs(exercise):
            yield Program(exercise, f"{name} with {disguise.name}", disguise.on(exercise, source), is_right=False)
        if disguise.is_start:
            yield Program(
                exercise, f"the solution with {disguise.name}", disguise.on(exercise, exercise.solution), is_right=True
            )


def in_a_fork(deed: Callable[[], Any]) -> Any:  # noqa: ANN401  what it gives
    """What something gives that runs in a fork of this process; None where it does not come to its end."""
    inlet, outlet = os.pipe()
    process_id = os.fork()
    if not process_id:
        signal.alarm(FOR_ONE_PROGRAM_S)
        made = pickle.dumps(deed())
        with os.fdopen(outlet, "wb") as pipe:
            pipe.write(made)
        os._exit(0)
    os.close(outlet)
    with os.fdopen(inlet, "rb") as pipe:
        made = pipe.read()
    os.waitpid(process_id, 0)
    return pickle.loads(made) if made else None  # noqa: S301  our own


def observed(program: Program, runs: list[tuple[int, list[TrialRequest]]]) -> list[list[Frame]]:
    """What is handed over for each seed on its trials, the lesson's first."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    part = program.exercise.task(1).student_part()
    found = []
    for seed, trials in runs:
        torch.manual_seed(seed)
        run = session.StudentSession(
            part,
            lambda: execution.Program(program.source),
            ready=lambda: None,
            folders=False,
            state=process_state.ProcessState(),
        )
        frames: list[Frame] = []
        for trial in trials:
            claim = run.execute({"draw": trial.draw, "silent": True})
            run.look_for_blind()
            frames += TrialFrames(claim, run.gradients(trial.seed)).for_judge()
            if run.is_blind:
                again = run.again(trial.seed)
                frames += TrialFrames(again, run.gradients_again(trial.seed), again=True).for_judge()
            run.rest()
        found.append(frames)
    return found


def passed(task: Task, source: str, runs: list[tuple[list[TrialRequest], list[Frame]]]) -> list[bool]:
    """For each seed: is everything right on the trials that were run?"""
    judge = Judge(CompiledExercise.unpacked(for_judge(task)))
    found = []
    for trials, frames in runs:
        judge.begin(source)
        for trial in trials:
            judge.prepare(trial)
        try:
            coming = iter(frames)
            well = all(judge.take(observation, coming.__next__) for observation in coming)
            checks: Any = judge.outcome()["checks"] if well else []
        except Exception:  # noqa: BLE001  a judge that fails on what a program made lets nothing pass
            checks = []
        found.append(bool(checks) and all(one["status"] == "passed" for one in checks))
    return found


def passing_seeds(program: Program, seeds: int) -> int:
    """With how many seeds a program passes."""
    task = program.exercise.task(1)
    lesson_only = replace(
        task,
        fresh_trials=0,
        checks=tuple(one for one in task.checks if all(leaf.kind != "other_sizes" for leaf in one.leaves)),
    )
    drawn = {seed: draw_trials(task, f"seed-{seed}") for seed in range(seeds)}
    candidates = list(drawn)
    for of, lengths in ((lesson_only, 1), (task, None)):
        runs = [(seed, drawn[seed][:lengths]) for seed in candidates]
        made = in_a_fork(partial(observed, program, runs))
        if made is None:
            return 0
        handed_over = [(trials, frames) for (_, trials), frames in zip(runs, made, strict=True)]
        judged = in_a_fork(partial(passed, of, program.source, handed_over))
        candidates = [seed for seed, well in zip(candidates, judged or [False] * len(candidates), strict=True) if well]
        if not candidates:
            break
    return len(candidates)


def main() -> int:
    """Try all, and print a line for each exercise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--only", default="", help="the id of one exercise")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--disguises", action="store_true", help="in every disguise instead of as they are")
    parser.add_argument("--part", default="1/1", help="which part of how many")
    args = parser.parse_args()
    part, parts = (int(one) for one in args.part.split("/"))
    judging.warm_up()
    amiss: list[str] = []
    tried = 0
    for exercise in code_exercises(args.only):
        begun_s, before = time.monotonic(), tried
        for number, program in enumerate(programs(exercise, disguised=args.disguises)):
            if number % parts != part - 1:
                continue
            tried += 1
            found = passing_seeds(program, args.seeds)
            if found != (args.seeds if program.is_right else 0):
                amiss.append(f"{exercise.id}: {program.name}: passed with {found} of {args.seeds} seeds")
                print(amiss[-1], flush=True)
        print(f"{exercise.id}: {tried - before} programs in {time.monotonic() - begun_s:.0f} s", flush=True)
    print(f"{tried} programs, {args.seeds} seeds each: {len(amiss)} not as they should be")
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main())
