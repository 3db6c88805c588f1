"""What goes over the HTTP API, as the OpenAPI description tells it."""

from typing import Literal

from pydantic import BaseModel, Field


class SourceIn(BaseModel):
    """Code to be graded or run, or the answer to a question."""

    source: str = Field(
        description="The student’s part, as Python source: at most 64 KiB of UTF-8, no NUL. To a question: the number, "
        "the shape, or the keys of the chosen options with commas between them."
    )


class Accepted(BaseModel):
    """A submission that is stored, and will be graded whatever happens."""

    id: str
    state: Literal["queued", "running", "graded"]


class CheckOut(BaseModel):
    """One check of the exercise."""

    id: str
    title: str
    status: Literal["passed", "failed", "not_run"]
    message: str


class MisconceptionOut(BaseModel):
    """A known mix-up that gives exactly the student’s outputs."""

    tag: str
    message: str


class ErrorOut(BaseModel):
    """The exception that the student’s code raised."""

    type: str
    message: str
    line: int | None = Field(description="In the student’s part, counted from 1.")
    explanation: str


class TensorOut(BaseModel):
    """The shape of one of the student’s tensors, beside what it should be."""

    name: str
    dims: list[str]
    shape: list[int]
    expected_shape: list[int]
    dtype: str


class TimingOut(BaseModel):
    """Where the time went, in milliseconds."""

    queued: float
    run: float
    judge: float
    total: float


class SubmissionOut(BaseModel):
    """Where a submission stands; once graded, its report. What is not known yet is not there."""

    id: str
    exercise: str
    version: int
    kind: Literal["check", "run"]
    created_at: str
    state: Literal["queued", "running", "graded"]
    place: int | None = Field(default=None, description="In the queue; 1 is next. Only while queued.")
    verdict: (
        Literal[
            "passed",
            "failed",
            "error",
            "time_limit",
            "memory_limit",
            "output_limit",
            "crashed",
            "grader_fault",
        ]
        | None
    ) = None
    checks: list[CheckOut] = Field(default=[], description="Empty for a run.")
    misconception: MisconceptionOut | None = None
    error: ErrorOut | None = None
    report: str = Field(default="", description="What the lesson’s own check prints.")
    output: str = Field(default="", description="What the code printed.")
    output_truncated: bool = False
    tensors: list[TensorOut] = []
    timing_ms: TimingOut | None = None
    seed: str = ""
    note: str = Field(default="", description="One sentence about the verdict itself, such as which limit.")
