"""
The other way of grading, to measure against: one new Python for each submission, no wall, the same trials and checks.

    python benchmarks/fresh_process.py ORDER.json        # {"task": …, "source": …}
"""

import builtins
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch

from graders.judge.outcome import results
from graders.judge.outcome.printed_check import printed
from graders.judge.trials.inputs import changed_inputs
from graders.judge.trials.reference import Programs, Reference, Start
from graders.judge.trials.trial import Trial
from graders.judge.values.decode_observation import read
from graders.report import CheckStatus
from graders.starting_code import Setup
from graders.student.execution import ProgramResult
from graders.student.observation import gradient_frame, gradients, observe
from graders.task import Task
from graders.trials import candidates, draw_trials, new_seed


def main() -> None:
    """Grade the order in this process and print whether it passed."""
    torch.set_num_threads(1)
    order = json.loads(Path(sys.argv[1]).read_text())
    task = Task.from_json(order["task"])
    setup, programs = Setup(task.setup, task.require), Programs(task)
    trials: list[Trial] = []
    for drawn in draw_trials(task, new_seed()):
        names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
        values = setup.run(candidates(task.params, drawn.draw), names)
        pure, student = dict(names), dict(names)
        with redirect_stdout(io.StringIO()):
            exec(task.solution, pure)  # noqa: S102
            exec(order["source"], student)  # noqa: S102
        part = task.student_part()
        made = observe(student, part, ProgramResult(None, {}, ""))
        found = gradient_frame(gradients(student, part.gradients, drawn.seed))
        observation = read(part, made, found)
        start = Start(names).having(changed_inputs(task, names, observation))
        trial = Trial(
            task=task,
            names=start.names,
            pure=pure,
            observation=observation,
            reference=Reference(task, start, observation, programs, pure=pure),
            seed=drawn.seed,
            lesson=not trials,
            of_lesson=not trials,
            values=values,
            source=order["source"],
        )
        results.judge_trial(trial)
        trials.append(trial)
    found_all = results.results(task, trials)
    print(printed(trials[0], task.report))
    print(all(one.status is CheckStatus.PASSED for one in found_all))


if __name__ == "__main__":
    main()
