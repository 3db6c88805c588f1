"""The format of `exercise.yaml`: what an author writes, checked field by field."""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from app.authoring.checks import CheckSpec
from app.authoring.params import Param
from app.authoring.parts import Code, Line, Name, Part, Slug, Text
from graders.task import Check, Input, Limits, Output, Task, WrongVariant

OTHER_DATA = "other-data"
"""The id of the check that every exercise has, be it asked for or not."""


class OutputSpec(Part):
    """A name that the student's code must make."""

    name: Name = Field(description="The name in the student's code.")
    kind: Literal["tensor", "table", "value"] = Field(
        "tensor", description="A tensor, anything that holds a table of rows, or a plain number, text or list."
    )
    dims: list[Line] = Field(default=[], description="The names of its axes, in order.", max_length=16)
    dtype: Literal["floating", "whole", "any", "float32", "float64", "float16", "bfloat16", "int64", "bool"] = Field(
        "floating", description="What kind of numbers a tensor holds; floating is float32 or float64."
    )
    tolerance: float = Field(
        1e-5,
        gt=0,
        le=0.5,
        description="How far off each number may be, as a share of itself and of the terms that it is made of.",
    )
    atol: float = Field(0.0, ge=0, description="How far off each number may be on top, in its own unit.")
    shown: Line | None = Field(
        None,
        max_length=80,
        description="What messages call it instead of its name: for what the probe makes, such as `layer(ids)`.",
    )

    def output(self) -> Output:
        """As the grader needs it."""
        dims, shown = tuple(self.dims), self.shown or ""
        return Output(self.name, self.kind, dims, self.dtype, self.tolerance, self.atol, shown)


class InputSpec(Part):
    """A name of the starting code that outputs are computed from."""

    name: Name = Field(description="The name in the starting code.")
    valid: str = Field(
        "",
        max_length=2000,
        description="Expression: may another value put there be used? `was` is the starting code's own.",
    )


class Equivalent(Part):
    """Another right way."""

    why: Line = Field(description="What is different about it, in a few words.")
    code: Code = Field(description="A whole solution.")


class Wrong(Part):
    """A wrong way that students are known to take."""

    tag: Slug = Field(description="The misconception's permanent name.")
    code: Code | None = Field(None, description="A whole wrong solution.")
    outputs: Mapping[Name, Line] | None = Field(None, description="Or: expressions by output.")
    when: str = Field(
        "",
        max_length=2000,
        description="Expression that recognises it, on every trial, where equal outputs would be too narrow.",
    )
    failing: list[Slug] = Field(description="Ids of the checks that must fail.", max_length=40)
    message: Text = Field(description="What a good teacher would say, without the answer.")
    hint: int | None = Field(
        None, ge=1, le=10, description="The number of the hint that fits it best; the next closed one if left out."
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.code is None) == (self.outputs is None):
            raise ValueError("give either `code` or `outputs`")
        return self


class EquivalentMutant(Part):
    """A mutant of the solution that is right after all."""

    line: Line = Field(description="The changed line, as `kelolo check` prints it.")
    why: Line = Field(description="Why it is right.")


class LimitsSpec(Part):
    """What one run may use."""

    wall_time_s: float = Field(
        4.0,
        gt=0,
        le=60,
        description=(
            "Seconds of computing for each step of a trial: the student's code, the probe, the gradients. "
            "Waiting may take 1.75 times as long."
        ),
    )
    memory_mib: int = Field(512, ge=64, le=4096, description="MiB on top of torch itself.")
    output_kib: int = Field(64, ge=1, le=1024, description="KiB of printed text that are shown.")


class Head(Part):
    """What every exercise has, whatever its kind."""

    format: Literal[1] = Field(description="The version of this format.")
    id: Slug = Field(description="Permanent: attempts are kept under it.")
    title: Line = Field(description="As it stands above the exercise.")
    statement: Text = Field(description="The task, in Markdown with $formulas$.")
    hints: list[Text] = Field(default=[], max_length=10, description="In order, from a nudge to nearly the answer.")
    tutor: list[Text] = Field(
        default=[],
        max_length=40,
        description="Facts that the tutor may use; each may begin with the question it answers.",
    )
    tags: list[Line] = Field(default=[], max_length=20, description="What it is about.")
    authors: list[Line] = Field(default=[], max_length=20, description="Who wrote it.")
    licence: Line = Field(description="An SPDX licence identifier.")

    def content(self) -> dict[str, object]:
        """The whole exercise as JSON-able values; the model's `model_validate` reads them back."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)

    def fingerprint(self) -> str:
        """SHA-256 of the content, hexadecimal: equal for equal exercises."""
        return hashlib.sha256(json.dumps(self.content(), sort_keys=True).encode()).hexdigest()


class CodeExercise(Head):
    """An exercise that is solved by writing code."""

    kind: Literal["code"] = Field("code", description="Solved by writing code.")
    setup: Code = Field(description="The starting code, read-only for students.")
    starter: str = Field("", max_length=60_000, description="What stands in the editor at first.")
    solution: Code = Field(description="The reference; one statement a line.")
    equivalents: list[Equivalent] = Field(default=[], max_length=40, description="Other right ways; all must pass.")
    wrong: list[Wrong] = Field(default=[], max_length=60, description="Known wrong ways; all must fail as they say.")
    params: Mapping[Name, Param] = Field(
        default={}, description="Assignments of the starting code that get another value in fresh trials."
    )
    require: str = Field("", max_length=2000, description="Expression that must hold in a fresh trial's starting code.")
    fresh_trials: int = Field(2, ge=2, le=8, description="Trials with other data and sizes.")
    inputs: list[InputSpec] = Field(default=[], max_length=20, description="Names that outputs are computed from.")
    outputs: list[OutputSpec] = Field(min_length=1, max_length=30, description="Names that the student must make.")
    checks: list[CheckSpec] = Field(min_length=1, max_length=40, description="In the order in which they are shown.")
    free_tables: list[Name] = Field(
        default=[],
        max_length=10,
        description="Tables that may start with any numbers, beside the outputs of kind table: too large to hand over.",
    )
    probe: str = Field(
        "",
        max_length=60_000,
        description="Code run after the student's, line by line: calls the classes and functions that were asked for.",
    )
    judge: str = Field(
        "",
        max_length=60_000,
        description="Statements that the judge runs once a trial over the outputs, never in the student's process: the "
        "names that they make are there in every expression of a check, in `when` and in `report`.",
    )
    report: str = Field("", max_length=60_000, description="Code that prints the lesson's own check.")
    equivalent_mutants: list[EquivalentMutant] = Field(
        default=[], max_length=40, description="Mutants that survive because they are right."
    )
    limits: LimitsSpec = Field(default=LimitsSpec(), description="What one run may use.")

    def _task_checks(self) -> tuple[Check, ...]:
        """In the author's order; where none of them asks whether all holds for other data, one that does comes last."""
        checks = tuple(one.task_check() for one in self.checks)
        asked = any(leaf.kind == "other_sizes" for check in checks for leaf in check.leaves)
        return checks if asked else (*checks, Check(OTHER_DATA, "It works for other data too", "other_sizes"))

    def _free_tables(self) -> tuple[str, ...]:
        """The tables that may start with any numbers: those of which no check says which ones they are to hold."""
        leaves = [leaf for check in self.checks for leaf in check.task_check().leaves]
        fixed = {leaf.of for leaf in leaves if leaf.kind == "equal"}
        made = [one.name for one in self.outputs if one.kind == "table" and one.name not in fixed]
        return tuple(dict.fromkeys([*made, *self.free_tables]))

    def task(self, version: int) -> Task:
        """The exercise as the grader needs it."""
        return Task(
            exercise=self.id,
            version=version,
            setup=self.setup,
            solution=self.solution,
            outputs=tuple(one.output() for one in self.outputs),
            inputs=tuple(Input(one.name, one.valid) for one in self.inputs),
            checks=self._task_checks(),
            params={name: one.generator() for name, one in self.params.items()},
            require=self.require,
            fresh_trials=self.fresh_trials,
            wrong=tuple(_variant(one) for one in self.wrong),
            free_tables=self._free_tables(),
            probe=self.probe,
            judge=self.judge,
            report=self.report,
            limits=Limits(**self.limits.model_dump()),
        )


def _variant(wrong: Wrong) -> WrongVariant:
    return WrongVariant(
        tag=wrong.tag,
        message=wrong.message,
        code=wrong.code or "",
        expressions=dict(wrong.outputs or {}),
        when=wrong.when,
        failing=tuple(wrong.failing),
    )
