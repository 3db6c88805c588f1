"""The checks an author can ask for: one key says which kind it is."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graders.task import Check

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
KINDS = ("table", "equal", "gradient", "learnable_count", "other_sizes")


class GradientSpec(BaseModel):
    """Which gradient to look at."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    of: _Name = Field(description="The output that the gradient is taken of.")
    to: _Name = Field(description="The table that it must reach.")


class CheckSpec(BaseModel):
    """One check: an id, a title, and exactly one kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60)] = Field(
        description="Permanent; unique in the exercise."
    )
    title: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="What holds when it is passed.")
    message: str = Field("", max_length=2000, description="A teacher's sentence, said after the fact that was found.")
    table: _Name | None = Field(None, description="This output is a table of the solution's shape, fit to judge by.")
    equal: _Name | None = Field(
        None, description="This output is what the solution makes of the student's own `given`."
    )
    gradient: GradientSpec | None = Field(None, description="This gradient arrives, row by row as it should.")
    learnable_count: list[_Name] | None = Field(None, description="As many numbers can learn as in the solution.")
    other_sizes: bool | None = Field(None, description="All holds for other data and sizes too.")
    given: list[list[_Name]] = Field(
        default=[[]],
        max_length=8,
        description="For `equal`: outputs of the student to start from; one of these lists is enough.",
    )
    inputs: list[_Name] = Field(default=[], max_length=10, description="For `equal`: inputs that must be in order.")
    learns: list[_Name] = Field(default=[], max_length=10, description="For `equal`: tables that must hear of it.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"a check needs exactly one of {', '.join(KINDS)}")
        return self

    @property
    def kind(self) -> str:
        """Which kind it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    def check(self) -> Check:
        """As the grader needs it."""
        return Check(
            id=self.id,
            title=self.title,
            kind=self.kind,
            of=self.table or self.equal or (self.gradient.of if self.gradient else ""),
            to=self.gradient.to if self.gradient else "",
            names=tuple(self.learnable_count or ()),
            given=tuple(tuple(one) for one in self.given),
            inputs=tuple(self.inputs),
            learns=tuple(self.learns),
            message=self.message,
        )
