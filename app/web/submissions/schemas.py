"""What goes over the HTTP API, as the OpenAPI description tells it."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from app.models import SubmissionKind
from app.services.submissions.submissions import SubmissionPhase, SubmissionState
from app.web.http.schemas import MomentOut
from graders.report import CheckStatus, Verdict


class SourceIn(BaseModel):
    """Code to be graded or run, or the answer to a question."""

    source: str = Field(
        description="The student’s part, as Python source: at most 64 KiB of UTF-8, no NUL. To a question: the number, "
        "the shape, or the keys of the chosen options with commas between them."
    )


class Accepted(BaseModel):
    """A submission that is stored, and will be graded whatever happens."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    state: SubmissionPhase


class CheckOut(BaseModel):
    """One check of the exercise."""

    id: str
    title: str
    status: CheckStatus
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
    kind: SubmissionKind
    created_at: MomentOut
    state: SubmissionPhase
    place: int | None = Field(default=None, description="In the queue; 1 is next. Only while queued.")
    verdict: Verdict | None = None
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

    @classmethod
    def of(cls, state: SubmissionState) -> Self:
        """Return a state as the API has it: the report's parts stand beside what is known of any submission."""
        known = {name: getattr(state, name) for name in ("id", "exercise", "version", "kind", "created_at", "state")}
        if state.report is not None:
            known = vars(state.report) | known
        elif state.state is SubmissionPhase.QUEUED:
            known["place"] = state.queue_position
        return cls.model_validate(known, from_attributes=True)
