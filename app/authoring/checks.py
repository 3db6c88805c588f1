"""The checks an author can ask for: one key says which kind it is."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from graders.task import Check

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
_Expression = Annotated[str, Field(min_length=1, max_length=2000)]
_Construct = Annotated[str, Field(pattern=r"^(not )?[A-Za-z_][A-Za-z0-9_.]*$", max_length=120)]
KINDS = (
    "table",
    "equal",
    "gradient",
    "rows_learn",
    "learnable_count",
    "holds",
    "prints",
    "unchanged",
    "uses",
    "calls",
    "other_sizes",
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GradientSpec(_Strict):
    """Which gradient to look at."""

    of: _Name = Field(description="The output that the gradient is taken of.")
    to: _Name = Field(description="The table that it must reach.")


class Condition(_Strict):
    """Something that is looked at: exactly one kind, and what goes with it."""

    message: str = Field("", max_length=2000, description="A teacher's sentence, said after the fact that was found.")
    table: _Name | None = Field(None, description="This output is a table of the solution's shape, fit to judge by.")
    equal: _Name | None = Field(
        None, description="This output is what the solution makes of the student's own `given`."
    )
    gradient: GradientSpec | None = Field(None, description="This gradient arrives, row by row as it should.")
    rows_learn: GradientSpec | None = Field(None, description="Exactly the rows that are looked up get a gradient.")
    learnable_count: list[_Name] | None = Field(None, description="As many numbers can learn as in the solution.")
    holds: _Expression | None = Field(None, description="Expression over the student's outputs that is true.")
    prints: _Expression | None = Field(None, description="Expression whose text the student's code has printed.")
    unchanged: list[_Name] | None = Field(None, description="These inputs are as the starting code made them.")
    uses: list[_Construct] | None = Field(
        None,
        description="Names that the code uses (`torch.nn.Embedding`, `for`, …), or with `not ` before, does not use.",
    )
    calls: list[_Construct] | None = Field(
        None,
        description="Operations that really run, whatever they are called by (`torch.softmax`), or with `not ` before, "
        "do not.",
    )
    other_sizes: bool | None = Field(None, description="All holds for other data and sizes too.")
    given: list[list[_Name]] = Field(
        default=[[]],
        max_length=8,
        description="For `equal`: outputs of the student to start from; one of these lists is enough.",
    )
    accept: list[_Expression] = Field(
        default=[], max_length=8, description="For `equal`: expressions over the student's outputs that are right too."
    )
    inputs: list[_Name] = Field(default=[], max_length=10, description="For `equal`: inputs that must be in order.")
    needs: list[_Name] = Field(default=[], max_length=10, description="For `holds`: outputs that must be there.")
    learns: list[_Name] = Field(default=[], max_length=10, description="For `equal`: tables that must hear of it.")

    @property
    def kinds(self) -> list[str]:
        """The kinds that are given: exactly one, once validated."""
        return [kind for kind in KINDS if getattr(self, kind) is not None]

    def check(self, id_: str, title: str) -> Check:
        """As the grader needs it."""
        gradient = self.gradient or self.rows_learn
        return Check(
            id=id_,
            title=title,
            kind=self.kinds[0],
            of=self.table or self.equal or (gradient.of if gradient else ""),
            to=gradient.to if gradient else "",
            names=tuple(self.learnable_count or self.uses or self.calls or ()),
            given=tuple(tuple(one) for one in self.given),
            accept=tuple(self.accept),
            expression=self.holds or self.prints or "",
            inputs=tuple(self.unchanged or self.inputs),
            needs=tuple(self.needs),
            learns=tuple(self.learns),
            message=self.message,
        )

    @field_validator("given", mode="before")
    @classmethod
    def _lists_of_lists(cls, value: object) -> object:
        if isinstance(value, list) and any(isinstance(one, str) for one in value):
            listed = ", ".join(str(one) for one in value)
            raise ValueError(f"write [[{listed}]]: a list of lists, of which one is enough")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if len(self.kinds) != 1 and getattr(self, "all", None) is None:
            raise ValueError(f"say exactly one of {', '.join(KINDS)}")
        return self


class CheckSpec(Condition):
    """One check as a student sees it: an id, a title, and one condition or several."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60)] = Field(
        description="Permanent; unique in the exercise."
    )
    title: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="What holds when it is passed.")
    all: list[Condition] | None = Field(
        None, min_length=1, max_length=10, description="Several conditions instead of one, looked at in this order."
    )

    @model_validator(mode="after")
    def _one_or_all(self) -> Self:
        if self.all is not None and self.kinds:
            raise ValueError("say either `all` or one kind of condition, not both")
        return self

    def task_check(self) -> Check:
        """As the grader needs it."""
        if self.all is None:
            return self.check(self.id, self.title)
        parts = tuple(part.check(self.id, self.title) for part in self.all)
        return Check(id=self.id, title=self.title, kind="all", parts=parts)
