"""The format of an exercise with `kind: question`: a number, a choice or a shape as the answer."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from app.authoring.exercise import Head
from app.authoring.parts import Line, Part, Slug, Text
from graders.question import QuestionTask, WrongAnswer

_Key = Annotated[str, Field(pattern=r"^[a-z0-9]$")]
_Sizes = Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=16)]


class AnswerSpec(Part):
    """The right answer: exactly one of a number, a choice and a shape."""

    number: float | int | None = Field(None, description="A number, in `unit`.")
    unit: str = Field("", max_length=20, description="Of the number: B, kB, MB, MiB …, or any other word.")
    tolerance: float = Field(0.0, ge=0, le=0.5, description="How far off a number may be, as a share of it.")
    choice: list[_Key] | None = Field(None, min_length=1, description="The keys of the right options.")
    options: dict[_Key, Line] = Field(default={}, description="For a choice: what stands for each key.")
    shape: _Sizes | None = Field(None, description="The sizes of a tensor, in order.")

    @property
    def kind(self) -> str:
        """Which one it is."""
        return next(kind for kind in ("number", "choice", "shape") if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in ("number", "choice", "shape") if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError("say exactly one of number, choice, shape")
        unknown = sorted(set(self.choice or []) - self.options.keys())
        if unknown:
            raise ValueError(f"there is no option {', '.join(unknown)}")
        return self


class WrongSpec(Part):
    """An answer that shows a known wrong idea."""

    tag: Slug = Field(description="The misconception's permanent name.")
    answer: float | int | list[_Key] | _Sizes = Field(description="In the form of the right answer.")
    message: Text = Field(description="What a good teacher would say, without the answer.")
    hint: int | None = Field(
        None, ge=1, le=10, description="The number of the hint that fits it best; the next closed one if left out."
    )


class Question(Head):
    """An exercise that is answered in a line, and graded without running anything."""

    kind: Literal["question"] = Field(description="Answered in a line.")
    answer: AnswerSpec = Field(description="The right answer.")
    explanation: Text = Field(description="Why it is right; said once it has been found.")
    message: str = Field("", max_length=2000, description="Said of a wrong answer that shows no known idea.")
    wrong: list[WrongSpec] = Field(default=[], max_length=40, description="Answers that show a known wrong idea.")

    @property
    def setup(self) -> str:
        """A question has no starting code."""
        return ""

    @property
    def starter(self) -> str:
        """A question has nothing to start from."""
        return ""

    @model_validator(mode="after")
    def _wrong_is_wrong(self) -> Self:
        question = self.task(0)
        for one in self.wrong:
            if one.hint is not None and one.hint > len(self.hints):
                raise ValueError(f"the wrong answer `{one.tag}` names hint {one.hint}, and there are {len(self.hints)}")
            try:
                if question.is_right(one.answer):
                    raise ValueError(f"the wrong answer `{one.tag}` is the right one")
            except TypeError:
                raise ValueError(f"the wrong answer `{one.tag}` is not of the right answer's form") from None
        return self

    def task(self, version: int) -> QuestionTask:
        """The question as the grader needs it."""
        right: Any = getattr(self.answer, self.answer.kind)
        return QuestionTask(
            exercise=self.id,
            version=version,
            answers=self.answer.kind,
            right=right,
            unit=self.answer.unit,
            tolerance=self.answer.tolerance,
            options=dict(self.answer.options),
            explanation=self.explanation,
            message=self.message,
            wrong=tuple(WrongAnswer(one.tag, one.answer, one.message) for one in self.wrong),
        )
