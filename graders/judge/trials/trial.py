"""One trial as the checks see it: the student's claim beside the reference."""

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import torch

from graders.code_cache import Texts
from graders.judge.feedback.explanations import explain
from graders.judge.feedback.explanations.scene import Setting
from graders.judge.trials.inputs import spoilt_input
from graders.judge.trials.predicates import facts
from graders.judge.trials.reference import Names, Reference
from graders.judge.values.compare import Bound, Terms
from graders.judge.values.condition import Noise, condition
from graders.judge.values.decode_observation import MISSING, Claim, Fault, Made
from graders.judge.values.plausible import plausible
from graders.report import CheckStatus
from graders.student import observation
from graders.student.execution import assigned
from graders.student.probe import ProbeTimeLimit
from graders.task import Output, Task

TIME_LIMIT = ProbeTimeLimit.__name__
_NOT_THERE = "What this looks at could not be made, so it was not tried."


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


@lru_cache(maxsize=32)
def probe_targets(probe: str) -> frozenset[str]:
    """The names that the author's probe makes."""
    try:
        return frozenset().union(*map(assigned, ast.parse(probe).body))
    except SyntaxError:
        return frozenset()  # told where it is run


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
    # the same once more with other numbers in the tables, where they start with blind ones
    again: "Trial | None" = None
    lesson_sizes: frozenset[int] = frozenset()  # that the lesson's shapes have, on other trials than its own
    blind: str | None = None  # the table that does, or an empty text; None: nobody has looked yet

    @property
    def telling(self) -> "Trial":
        """Of this trial and the one that was run once more, the one whose numbers show what was done."""
        return self.again or self

    @property
    def setting(self) -> Setting:
        """What an explanation of an exception may go by beside it."""
        return Setting(self.source, self.task.setup, {one.name: one.dims for one in self.task.outputs})

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
        tensor, _ = observation.table_of(value)
        return tuple(tensor.shape) if tensor is not None else ()

    def absent(self, name: str) -> Outcome | None:
        """
        What is said of an output that is not there, or None if it is.

        After an exception or an early exit, the output that was to be made there has failed, and what comes later has
        not been tried. Of what the author's probe was to make, only the student's part in it is told.
        """
        if self.made(name).kind != "missing":
            return None
        if not self.parsed:
            return not_run("Your code does not run yet, so nothing could be looked at.")
        return self._not_probed(name) if name in self._probe_makes else self._not_made(name)

    def needed(self, name: str, purpose: str = "for this") -> Outcome:
        """What is said of a check that needs an output which is not there, or is not what it should be."""
        if name in self._probe_makes:
            return not_run(_NOT_THERE)
        return not_run(f"`{name}` is needed {purpose}.")

    @property
    def stopped(self) -> bool:
        """Did the student's code end before its last line?"""
        return self.claim.fault is not None or self.claim.exited is not None

    @property
    def nothing(self) -> list[str]:
        """The outputs that are there as None."""
        return [name for name, one in self.claim.outputs.items() if one.type == "NoneType"]

    @property
    def left_early(self) -> bool:
        """Did the student's code end itself before all was made that it was to make?"""
        return self.claim.exited is not None and bool(self._missing)

    @cached_property
    def _probe_makes(self) -> frozenset[str]:
        return probe_targets(self.task.probe)

    @cached_property
    def _missing(self) -> list[str]:
        """The names that the student's code was to make and has not, in the author's order."""
        found = [
            self._lacking(one.name) if one.name in self._probe_makes else one.name
            for one in self.task.outputs
            if self.made(one.name).kind == "missing"
        ]
        return list(dict.fromkeys(name for name in found if name))

    def _lacking(self, name: str) -> str:
        """The student's name for want of which a line of the probe could not make an output."""
        fault = self.claim.probed.get(name)
        if fault is None or fault.line is not None or fault.type != "NameError":
            return ""
        match = re.match(r"name '(\w+)' is not defined", fault.message)
        return match[1] if match and match[1] not in self._probe_makes else ""

    def _not_made(self, name: str) -> Outcome:
        """What is said of a name that the student's code was to make."""
        fault, exited = self.claim.fault, self.claim.exited
        if fault is not None:
            if name == self._blamed(fault.targets):
                return failed(self._stopped_here(name))
            return not_run(f"Your code stopped before `{name}` was made.")
        if exited is not None:
            if self._missing[:1] != [name]:
                return not_run(f"Your code ended before `{name}` was made.")
            where = f"Line {exited.line} (`{exited.code}`) ended your code" if exited.line else "Your code ended itself"
            return failed(f"{where} before `{name}` was made. Nothing after it has run.")
        return failed(self._never_made(name))

    def _blamed(self, targets: tuple[str, ...]) -> str | None:
        if hit := [name for name in self._missing if name in targets]:
            return hit[0]
        made_before = any(one.name in targets for one in self.task.outputs)
        return None if made_before else next(iter(self._missing), None)

    def _never_made(self, name: str) -> str:
        function = next((one[0] for one in self.claim.defined if name in one[1:]), None)
        if function is not None:
            which = f"`{function}`" if self.lesson else "a function that makes it"  # a name may be made of fresh data
            return (
                f"There is no `{name}` after your code has run. You define {which}, but what a function makes "
                f"stays inside it until it is called and its result is given a name."
            )
        return f"There is no `{name}` after your code has run: give it exactly that name."

    def _not_probed(self, name: str) -> Outcome:
        """Your code ran, but what it defines could not be used as the task says."""
        if lacking := self._lacking(name):
            return self._not_made(lacking)
        fault = self.claim.probed.get(name)
        if fault is None or (fault.line is None and (self.stopped or fault.type == "NameError")):
            return not_run(_NOT_THERE)
        if fault.type != TIME_LIMIT and fault.line is None:  # the author's own line: it is told in the author's words
            return failed(self._authors_words(name))
        return failed(self._use_stopped(fault))

    def _use_stopped(self, fault: Fault) -> str:
        """What is said where a line of the probe used the student's code, and that did not come to its end."""
        where = f" (line {fault.line} of your code)" if fault.line and self.lesson else ""
        if fault.type == TIME_LIMIT:
            return f"Using what your code has made did not come to its end{where}."
        if not self.lesson:
            return f"Using it stopped with {fault.type if fault.builtin else 'an exception of its own'}."
        return f"Using it stopped with {fault.type}{where}: {fault.message}. {explain(fault, self.setting)}"

    def _authors_words(self, name: str) -> str:
        own = (leaf.message for check in self.task.checks for leaf in check.leaves if leaf.of == name and leaf.message)
        return next(
            own,
            "What your code has made cannot be used as the task says: something is not there, or of a "
            "kind that does not fit.",
        )

    def value_of(self, text: str, **more: bool) -> Any:  # noqa: ANN401  any value
        """
        An author's expression over the starting code's names, the student's outputs and the facts about them.

        Args:
            text: the expression.
            more: facts that this trial by itself does not show.

        Outputs are tensors (tables too) or plain values; `graders.judge.trials.predicates` lists the facts.

        Raises:
            Exception: whatever it raises; the student's outputs need not fit it.
        """
        return eval(expression(text, self.texts), more | self._known())  # noqa: S307  in the judge's own process

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

    def gradient_of(self, text: str, to: str, *, sample: int = 0) -> torch.Tensor | None:
        """
        What the trial's random cotangent gives at a table when it goes back through an author's expression.

        Args:
            text: the expression.
            to: the table's name.
            sample: the number of a run in which all that goes in is changed a little; 0 changes nothing.

        Returns:
            None where the expression cannot be worked out on the student's outputs, or does not speak of the table.
        """
        known, noise = self._known(), Noise(sample)
        if not isinstance(known.get(to), torch.Tensor):
            return None
        changed = known | (noise.on_all(known) if sample else {})
        leaf = changed[to].detach().clone().requires_grad_()
        try:
            value = eval(expression(text, self.texts), changed | {to: leaf})  # noqa: S307
            r = observation.cotangent(tuple(value.shape), self.seed).to(value.dtype)
            (gradient,) = torch.autograd.grad(value, leaf, noise.on(r) if sample else r)
        except Exception:  # noqa: BLE001  the student's outputs need not fit it
            return None
        return gradient if isinstance(gradient, torch.Tensor) else None

    def gradient_terms_of(self, text: str, to: str) -> Terms:
        """How large the terms are that such a gradient is made of."""
        return lambda samples: condition(lambda sample: self.gradient_of(text, to, sample=sample), samples)

    def _known(self) -> Names:
        failing = {id_ for id_, one in self.outcomes.items() if one.status is CheckStatus.FAILED}
        about = facts(self.task, self.names, self.claim, source=self.source, failed=failing, lesson=self.of_lesson)
        return {**about, **self.names, **self.own_values()}

    def own_values(self) -> Names:
        """The student's outputs that can be computed with; names that are not there hide the starting code's."""
        made = {one.name: self.made(one.name) for one in self.task.outputs}
        usable = {name: one for name, one in made.items() if plausible(one, self.pure.get(name))}
        tensors = {name: one.tensor for name, one in usable.items() if one.tensor is not None}
        return (
            dict.fromkeys(self.nothing)
            | tensors
            | {name: one.value for name, one in made.items() if one.kind == "value"}
        )

    def _stopped_here(self, name: str) -> str:
        fault = self.claim.fault
        assert fault is not None  # noqa: S101  the caller looked
        if not self.lesson:
            kind = fault.type if fault.builtin else "an exception of its own"
            return f"Your code stopped with {kind} on the way to `{name}`."
        return f"Your code stopped on the way to `{name}`: {explain(fault, self.setting)}"

    def overwritten(self, name: str) -> str | None:
        """What is said of an input that the student has spoilt, or None if it is in order."""
        spoilt = spoilt_input(self.task, self.names, self.claim, name)
        if not spoilt:
            return None
        made = self.claim.inputs.get(name, MISSING)
        was = observation.table_of(self.names.get(name))[0]
        now = f"it now has the shape {list(made.shape)}" if made.kind == "tensor" else "it is no tensor any more"
        if was is not None and made.kind == "tensor" and tuple(was.shape) == made.shape:
            now = "its numbers are no longer those it had"
        return (
            f"`{name}` was overwritten: {now}. Keep `{name}` as the starting code made it and give your result a name "
            "of its own."
        )
