"""What may vary between trials: assignments of the starting code that get another value, drawn from the run's seed."""

from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from app.authoring.parts import Name, Part

_Size = Annotated[int, Field(ge=0, le=1_000_000)]


class _Range(Part):
    """A parameter drawn between two bounds."""

    @staticmethod
    def ordered(bounds: list[Any]) -> None:
        """Raise ValueError if the lower bound comes second."""
        if bounds[0] > bounds[1]:
            raise ValueError(f"the lower bound must come first, as in [{bounds[1]}, {bounds[0]}]")


class IntegerParam(_Range):
    """A whole number; those of one trial all differ, from each other and from the lesson's."""

    integer: list[_Size] = Field(min_length=2, max_length=2, description="Lowest and highest value in a fresh trial.")
    lesson: _Size = Field(description="The value in the starting code; never drawn.")
    multiple_of: int = Field(1, ge=1, le=1000, description="Fresh values are multiples of this.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        self.ordered(self.integer)
        return self

    def generator(self) -> dict[str, object]:
        """As the grader draws it."""
        low, high = self.integer
        return {"kind": "integer", "low": low, "high": high, "lesson": self.lesson, "multiple_of": self.multiple_of}


class NumberParam(_Range):
    """A floating-point number."""

    number: list[float] = Field(min_length=2, max_length=2, description="Lowest and highest value in a fresh trial.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        self.ordered(self.number)
        return self

    def generator(self) -> dict[str, object]:
        """As the grader draws it."""
        return {"kind": "number", "low": self.number[0], "high": self.number[1]}


class IntegersParam(_Range):
    """A list of whole numbers from 0 up, such as ids."""

    integers: list[_Size] = Field(min_length=2, max_length=2, description="Fewest and most numbers in a fresh trial.")
    below: Name | _Size = Field(description="All are below this number, or below this other parameter's value.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        self.ordered(self.integers)
        return self

    def generator(self) -> dict[str, object]:
        """As the grader draws it."""
        return {"kind": "integers", "low": self.integers[0], "high": self.integers[1], "below": self.below}


class WordsParam(_Range):
    """A list of words; fresh trials get invented ones over other letters."""

    words: list[_Size] = Field(min_length=2, max_length=2, description="Fewest and most words in a fresh trial.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        self.ordered(self.words)
        return self

    def generator(self) -> dict[str, object]:
        """As the grader draws it."""
        return {"kind": "words", "low": self.words[0], "high": self.words[1]}


class ChoiceParam(Part):
    """One of several values."""

    choice: list[int | float | str | bool] = Field(
        min_length=2, max_length=50, description="The values that a fresh trial draws from."
    )

    def generator(self) -> dict[str, object]:
        """As the grader draws it."""
        return {"kind": "choice", "values": list(self.choice)}


_KINDS = ("integer", "number", "integers", "words", "choice")


def _kind(raw: object) -> str | None:
    """Which kind of parameter the keys mean; None if it cannot be told."""
    found = [kind for kind in _KINDS if (kind in raw if isinstance(raw, dict) else hasattr(raw, kind))]
    return found[0] if len(found) == 1 else None


Param = Annotated[
    Annotated[IntegerParam, Tag("integer")]
    | Annotated[NumberParam, Tag("number")]
    | Annotated[IntegersParam, Tag("integers")]
    | Annotated[WordsParam, Tag("words")]
    | Annotated[ChoiceParam, Tag("choice")],
    Discriminator(
        _kind,
        custom_error_type="param_kind",
        custom_error_message=f"a parameter says exactly one of {', '.join(_KINDS)}",
    ),
]
