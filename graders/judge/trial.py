"""One trial as the checks see it: the student's claim beside the reference."""

import re
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch

from graders.judge.claimed import MISSING, Claim, Made
from graders.judge.compare import Bound, Terms
from graders.judge.condition import Noise, condition
from graders.judge.explain import explain
from graders.judge.inputs import spoilt_input
from graders.judge.plausible import plausible
from graders.judge.predicates import facts
from graders.judge.reference import Names, Reference
from graders.report import CheckStatus
from graders.student import claims
from graders.task import Output, Task
from graders.texts import Texts


@dataclass(frozen=True)
class Outcome:
    """What one check found on one trial."""

    status: CheckStatus
    message: str = ""


def passed(message: str = "") -> Outcome:
    """It holds."""
    return Outcome(CheckStatus.PASSED, message)


def failed(message: str) -> Outcome:
    """It does not hold, and why."""
    return Outcome(CheckStatus.FAILED, message)


def not_run(message: str) -> Outcome:
    """It cannot be judged, and why."""
    return Outcome(CheckStatus.NOT_RUN, message)


def expression(text: str, texts: Texts) -> CodeType:
    """An author's expression, compiled. Raises SyntaxError."""
    code: CodeType = texts.compiled(("expression", text), lambda: compile(text.lstrip(" \t"), "<expression>", "eval"))
    return code


@dataclass
class Trial:
    """One trial: data, claim, reference, and what the checks have found so far."""

    task: Task
    names: Names  # the starting code's
    pure: Names  # the solution's, all its own
    claim: Claim
    reference: Reference
    seed: int
    lesson: bool  # are its data the lesson's, and so anybody's to print?
    of_lesson: bool  # are they, be they printed or not?
    values: dict[str, Any]  # of the parameters that were changed
    source: str  # the student's text, to be looked at but never run
    texts: Texts = field(default_factory=Texts)  # the author's, as far as they are compiled
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    again: "Trial | None" = (
        None  # the same once more with other numbers in the tables, where they start with blind ones
    )

    @property
    def telling(self) -> "Trial":
        """Of this trial and the one that was run once more, the one whose numbers show what was done."""
        return self.again or self

    @property
    def parsed(self) -> bool:
        """Can the student's text be read at all?"""
        return self.claim.fault is None or self.claim.fault.parsed

    def made(self, name: str) -> Made:
        """The student's value."""
        return self.claim.made(name)

    def bound(self, name: str) -> Bound:
        """How far off a number of this output may be, or one of the gradients that come from it."""
        output = self.output(name)
        return Bound.of(output.tolerance, output.atol, output.dtype)

    def output(self, name: str) -> Output:
        """What the exercise says of an output."""
        return next(one for one in self.task.outputs if one.name == name)

    def expected_shape(self, name: str) -> tuple[int, ...]:
        """The shape that the solution gives an output, all by itself."""
        value = self.pure.get(name)
        tensor, _ = claims.table_of(value)
        return tuple(tensor.shape) if tensor is not None else ()

    def absent(self, name: str) -> Outcome | None:
        """
        What is said of an output that is not there, or None if it is.

        After an exception, the output that the failing line was to make has failed, and what comes later has
        not been tried.
        """
        if self.made(name).kind != "missing":
            return None
        fault = self.claim.fault
        if fault is None:
            return self._not_probed(name) if name in self.claim.probed else failed(self._never_made(name))
        if not fault.parsed:
            return not_run("Your code does not run yet, so nothing could be looked at.")
        if name == self._blamed(fault.targets):
            return failed(self._stopped_here(name))
        return not_run(f"Your code stopped before `{name}` was made.")

    def _blamed(self, targets: tuple[str, ...]) -> str | None:
        outputs = [one.name for one in self.task.outputs]
        missing = [name for name in outputs if self.made(name).kind == "missing"]
        hit = [name for name in outputs if name in targets]
        return next(iter([name for name in hit if name in missing] or ([] if hit else missing)), None)

    def _never_made(self, name: str) -> str:
        function = next((one[0] for one in self.claim.defined if name in one[1:]), None)
        if function is not None:
            return (
                f"There is no `{name}` after your code has run. You define `{function}`, but what a function makes "
                f"stays inside it until it is called and its result is given a name."
            )
        return f"There is no `{name}` after your code has run: give this result exactly that name."

    def _not_probed(self, name: str) -> Outcome:
        """Your code ran, but what it defines could not be used as the task says."""
        fault = self.claim.probed[name]
        lacking = re.fullmatch(r"name '(\w+)' is not defined.*", fault.message) if fault.type == "NameError" else None
        if lacking and lacking[1] in {one.name for one in self.task.outputs}:
            return not_run(f"`{lacking[1]}` could not be made, so this was not tried.")
        if lacking:
            return failed(f"There is no `{lacking[1]}` after your code has run: give it exactly that name.")
        if not self.lesson:
            return failed(f"Using it stopped with {fault.type if fault.builtin else 'an exception of its own'}.")
        where = f" (line {fault.line} of your code)" if fault.line else ""
        return failed(f"Using it stopped with {fault.type}{where}: {fault.message}. {explain(fault)}")

    def value_of(self, text: str) -> Any:  # noqa: ANN401  any value
        """
        An author's expression over the starting code's names, the student's outputs and the facts about them.

        Outputs are tensors (tables too) or plain values; `graders.judge.predicates` lists the facts.

        Raises:
            Exception: whatever it raises; the student's outputs need not fit it.
        """
        return eval(expression(text, self.texts), self._known())  # noqa: S307  in the judge's own process

    def terms_of(self, text: str) -> Terms:
        """How large the terms are that an author's expression is made of; nothing of it is known where it raises."""

        def changed(sample: int) -> torch.Tensor | None:
            known = self._known()
            noise = Noise(sample)
            try:
                value = eval(expression(text, self.texts), known | (noise.on_all(known) if sample else {}))  # noqa: S307
            except Exception:  # noqa: BLE001  the student's outputs need not fit it
                return None
            return value if isinstance(value, torch.Tensor) else None

        return lambda samples: condition(changed, samples)

    def _known(self) -> Names:
        failing = {id_ for id_, one in self.outcomes.items() if one.status is CheckStatus.FAILED}
        about = facts(self.task, self.names, self.claim, source=self.source, failed=failing, lesson=self.of_lesson)
        return {**about, **self.names, **self.own_values()}

    def own_values(self) -> Names:
        """The student's outputs that can be computed with; names that are not there hide the starting code's."""
        made = {one.name: self.made(one.name) for one in self.task.outputs}
        usable = {name: one for name, one in made.items() if plausible(one, self.pure.get(name))}
        tensors = {name: one.tensor for name, one in usable.items() if one.tensor is not None}
        return tensors | {name: one.value for name, one in made.items() if one.kind == "value"}

    def _stopped_here(self, name: str) -> str:
        fault = self.claim.fault
        assert fault is not None  # noqa: S101  the caller looked
        if not self.lesson:
            kind = fault.type if fault.builtin else "an exception of its own"
            return f"Your code stopped with {kind} on the way to `{name}`."
        return f"Your code stopped on the way to `{name}`: {explain(fault)}"

    def overwritten(self, name: str) -> str | None:
        """What is said of an input that the student has spoilt, or None if it is in order."""
        spoilt = spoilt_input(self.task, self.names, self.claim, name)
        if not spoilt:
            return None
        made = self.claim.inputs.get(name, MISSING)
        was = claims.table_of(self.names.get(name))[0]
        now = f"it now has the shape {list(made.shape)}" if made.kind == "tensor" else "it is no tensor any more"
        if was is not None and made.kind == "tensor" and tuple(was.shape) == made.shape:
            now = "its numbers are no longer those it had"
        return (
            f"`{name}` was overwritten: {now}. Keep `{name}` as the starting code made it and give your result a name "
            "of its own."
        )
