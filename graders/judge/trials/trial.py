"""One trial as the checks see it: the student's observation beside the reference."""

import ast
import copy
import re
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import torch

from graders.code_cache import CodeCache
from graders.faults import MAX_AUTHOR_FAULTS, AuthorFault
from graders.judge.feedback.explanations import explain
from graders.judge.feedback.explanations.scene import Setting
from graders.judge.trials import block
from graders.judge.trials.block import Block
from graders.judge.trials.call_faults import is_of_a_call
from graders.judge.trials.expressions import FILE, evaluated
from graders.judge.trials.inputs import spoilt_input
from graders.judge.trials.predicates import predicate_names
from graders.judge.trials.reference import Names, Reference
from graders.judge.values.compare import Bound, Terms
from graders.judge.values.condition import Noise, condition
from graders.judge.values.decode_observation import MISSING, Fault, Observation, Observed
from graders.judge.values.plausible import plausible
from graders.report import CheckStatus
from graders.reporting import vocabulary
from graders.starting_code import drawn_values, raised
from graders.student.execution import assigned
from graders.student.observation import cotangent, table_of
from graders.student.probe import ProbeTimeLimit
from graders.task import Output, Task

TIME_LIMIT = ProbeTimeLimit.__name__


@dataclass(frozen=True)
class Outcome:
    """What one check found on one trial."""

    status: CheckStatus
    message: str = ""
    by_author: bool = False  # not run, because the exercise's own `judge` block raised: nothing that an answer is told


def passed(message: str = "") -> Outcome:
    """It holds."""
    return Outcome(CheckStatus.PASSED, message)


def failed(message: str) -> Outcome:
    """It does not hold, and why."""
    return Outcome(CheckStatus.FAILED, message)


def not_run(message: str, *, by_author: bool = False) -> Outcome:
    """It cannot be judged, and why."""
    return Outcome(CheckStatus.NOT_RUN, message, by_author)


@lru_cache(maxsize=32)
def probe_targets(probe: str) -> frozenset[str]:
    """The names that the author's probe makes."""
    try:
        return frozenset().union(*map(assigned, ast.parse(probe).body))
    except SyntaxError:
        return frozenset()  # reported where it is run


@dataclass
class Trial:
    """One trial: data, observation, reference, and what the checks have found so far."""

    task: Task
    names: Names  # the starting code's
    pure: Names  # the solution's, all its own
    observation: Observation
    reference: Reference
    seed: int
    lesson: bool  # are its data the lesson's, and so anybody's to print?
    of_lesson: bool  # are they, be they printed or not?
    values: dict[str, object]  # of the parameters that were changed
    source: str  # the student's text, to be looked at but never run
    code_cache: CodeCache = field(default_factory=CodeCache)  # the author's, as far as they are compiled
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    author_faults: list[AuthorFault] = field(default_factory=list)  # what the author's texts raised on it
    failing: set[str] = field(default_factory=set)  # ids of the checks that have failed so far
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
        return self.observation.fault is None or self.observation.fault.parsed

    def made(self, name: str) -> Observed:
        """The student's value."""
        return self.observation.made(name)

    def bound(self, name: str) -> Bound:
        """How far off a number of this output may be, or one of the gradients that come from it."""
        output = self.output(name)
        return Bound.of(output.tolerance, output.atol, output.dtype)

    def output(self, name: str) -> Output:
        """What the exercise says of an output."""
        return next(one for one in self.task.outputs if one.name == name)

    def called(self, name: str, place: tuple[int, ...] = ()) -> str:
        """An output, or a number in it, as students know it."""
        shown = next((one.shown for one in self.task.outputs if one.name == name), "") or name
        return f"`{shown}{list(place) if place else ''}`"

    def expected_shape(self, name: str) -> tuple[int, ...]:
        """The shape that the solution gives an output, all by itself."""
        value = self.pure.get(name)
        tensor, _ = table_of(value)
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
            return not_run(vocabulary.NOT_PARSED)
        return self._not_probed(name) if name in self._probe_makes else self._not_made(name)

    def needed(self, name: str, purpose: str = "for this") -> Outcome:
        """What is said of a check that needs an output which is not there, or is not what it should be."""
        if name in self._probe_makes:
            return not_run(vocabulary.NOT_TRIED)
        return not_run(vocabulary.needed(name, purpose))

    @property
    def stopped(self) -> bool:
        """Did the student's code end before its last line?"""
        return self.observation.fault is not None or self.observation.exited is not None

    @property
    def nothing(self) -> list[str]:
        """The outputs that are there as None."""
        return [name for name, one in self.observation.outputs.items() if one.type == "NoneType"]

    @property
    def left_early(self) -> bool:
        """Did the student's code end itself before all was made that it was to make?"""
        return self.observation.exited is not None and bool(self._missing)

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
        fault = self.observation.probed.get(name)
        if fault is None or fault.line is not None or fault.type != "NameError":
            return ""
        match = re.match(r"name '(\w+)' is not defined", fault.message)
        return match[1] if match and match[1] not in self._probe_makes else ""

    def _not_made(self, name: str) -> Outcome:
        """What is said of a name that the student's code was to make."""
        fault, exited = self.observation.fault, self.observation.exited
        if fault is not None:
            if name == self._blamed(fault.targets):
                return failed(self._stopped_here(name))
            return not_run(vocabulary.stopped_before(name, "made"))
        if exited is not None:
            if self._missing[:1] != [name]:
                return not_run(vocabulary.ended_before(name))
            where = f"Line {exited.line} (`{exited.code}`) ended your code" if exited.line else "Your code ended itself"
            return failed(f"{where} before `{name}` was made. Nothing after it has run.")
        return failed(self._never_made(name))

    def _blamed(self, targets: tuple[str, ...]) -> str | None:
        if hit := [name for name in self._missing if name in targets]:
            return hit[0]
        made_before = any(one.name in targets for one in self.task.outputs)
        return None if made_before else next(iter(self._missing), None)

    def _never_made(self, name: str) -> str:
        function = next((one[0] for one in self.observation.defined if name in one[1:]), None)
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
        fault = self.observation.probed.get(name)
        if fault is None or (fault.line is None and (self.stopped or fault.type == "NameError")):
            return not_run(vocabulary.NOT_TRIED)
        if fault.type != TIME_LIMIT and fault.line is None and not is_of_a_call(fault):
            # the author's own line: it is told in the author's words
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
        return evaluated(text, more | self._known(), self.code_cache)

    def terms_of(self, text: str) -> Terms:
        """How large the terms are that an author's expression is made of; nothing of it is known where it raises."""

        def changed(sample: int) -> torch.Tensor | None:
            known = self._known(Noise(sample).on_all(self._observed()) if sample else None)
            try:
                value = evaluated(text, known, self.code_cache)
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
        observed, noise = self._observed(), Noise(sample)
        if not isinstance(observed.get(to), torch.Tensor):
            return None
        changed = noise.on_all(observed) if sample else {}
        try:
            leaf = (observed | changed)[to].detach().clone().requires_grad_()
            value = evaluated(text, self._known(changed | {to: leaf}), self.code_cache)
            r = cotangent(tuple(value.shape), self.seed).to(value.dtype)
            (gradient,) = torch.autograd.grad(value, leaf, noise.on(r) if sample else r)
        except Exception:  # noqa: BLE001  the student's outputs need not fit it
            return None
        return gradient if isinstance(gradient, torch.Tensor) else None

    def gradient_terms_of(self, text: str, to: str) -> Terms:
        """How large the terms are that such a gradient is made of."""
        return lambda samples: condition(lambda sample: self.gradient_of(text, to, sample=sample), samples)

    def _known(self, changed: Names | None = None) -> Names:
        """All that an expression sees; where some values are `changed`, what the judge block makes of these."""
        made = self.block if changed is None else self._block(changed)
        return made.over(self._observed() | (changed or {}))

    def _observed(self) -> Names:
        """The facts, and the values: an output that is not there hides what the starting code has under its name."""
        self.failing.clear()
        self.failing.update(id_ for id_, one in self.outcomes.items() if one.status is CheckStatus.FAILED)
        about = predicate_names(
            self.task, self.names, self.observation, source=self.source, failed=self.failing, lesson=self.of_lesson
        )
        outputs = {one.name for one in self.task.outputs}
        return {
            **about,
            **{name: value for name, value in self.names.items() if name not in outputs},
            **self.own_values(),
        }

    @cached_property
    def block(self) -> Block:
        """What the judge block makes on this trial; what it raises is noted."""
        made = self._block({})
        self.author_faults += [AuthorFault("`judge`", fault + self._values_drawn()) for fault in made.faults]
        return made

    def _block(self, changed: Names) -> Block:
        """Run it on copies of all that it sees, but for what is `changed`."""
        if not self.task.judge:
            return block.NOTHING
        mine = replace(self, names=block.copied(self.reference.fresh()), observation=copy.deepcopy(self.observation))
        seen = mine._observed() | changed  # noqa: SLF001  of its own kind
        return block.run(self.task.judge, seen, self.code_cache, absent=self.absent_names())

    def absent_names(self) -> frozenset[str]:
        """The outputs that no expression can use: not there, or nothing that can be computed with."""
        return frozenset(one.name for one in self.task.outputs) - self.own_values().keys()

    def is_broken(self, fault: Exception) -> bool:
        """Did an expression raise because a statement of the judge block did that was to make one of its names?"""
        return block.asked_for(fault) in self.block.broken

    def is_unmade(self, fault: Exception) -> bool:
        """Did an expression raise because one of its names is the judge block's and could not be made?"""
        return block.asked_for(fault) in self.block.unmade

    def note(self, fault: BaseException, text: str, file: str = FILE) -> None:
        """
        What an author's text raised, for the author; that an output is not there is nothing that is told.

        Args:
            fault: what.
            text: which one, in words.
            file: that it was compiled as.
        """
        if block.asked_for(fault) in self.absent_names() | self.block.unmade:
            return
        inside = block.is_inside(fault)
        said = raised(fault, block.FILE if inside else file) + self._values_drawn()
        if len(self.author_faults) < MAX_AUTHOR_FAULTS:
            self.author_faults.append(AuthorFault(f"`judge`, asked by {text}" if inside else text, said))

    def _values_drawn(self) -> str:
        return drawn_values(self.values) or (" (on the lesson's own data)" if self.of_lesson else "")

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
        fault = self.observation.fault
        assert fault is not None  # noqa: S101  the caller looked
        if not self.lesson:
            kind = fault.type if fault.builtin else "an exception of its own"
            return f"Your code stopped with {kind} on the way to `{name}`."
        return f"Your code stopped on the way to `{name}`: {explain(fault, self.setting)}"

    def overwritten(self, name: str) -> str | None:
        """What is said of an input that the student has spoilt, or None if it is in order."""
        spoilt = spoilt_input(self.task, self.names, self.observation, name)
        if not spoilt:
            return None
        made = self.observation.inputs.get(name, MISSING)
        was = table_of(self.names.get(name))[0]
        now = f"it now has the shape {list(made.shape)}" if made.kind == "tensor" else "it is no tensor any more"
        if was is not None and made.kind == "tensor" and tuple(was.shape) == made.shape:
            now = "its numbers are no longer those it had"
        advice = f"Keep `{name}` as the starting code made it and give your result a name of its own."
        return f"`{name}` was overwritten: {now}. {advice}"
