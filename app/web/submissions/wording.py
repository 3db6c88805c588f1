"""The words, marks and tones in which a result is told: the same on the page and to a screen reader."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.models import SubmissionKind
from app.services.exercises.progress import Progress
from app.services.submissions.submissions import PastAttempt, SubmissionPhase, SubmissionState
from graders.report import CheckResult, CheckStatus, Misconception, Report, TensorShape, Verdict
from graders.reporting import vocabulary


@dataclass(frozen=True)
class Look:
    """How a state is shown: a word, a picture beside it, and a colour that repeats what they say."""

    word: str
    icon: str
    tone: str


@dataclass(frozen=True)
class Size:
    """One axis of a tensor."""

    name: str
    size: int
    off: bool  # differs from what is expected here


_CHECK_MARKS = {
    CheckStatus.PASSED: ("check", "good"),
    CheckStatus.FAILED: ("cross", "bad"),
    CheckStatus.NOT_RUN: ("minus", "skipped"),
}
_VERDICT_MARKS = {
    Verdict.PASSED: ("check", "good"),
    Verdict.FAILED: ("cross", "bad"),
    Verdict.ERROR: ("cross", "bad"),
    Verdict.TIME_LIMIT: ("clock", "bad"),
    Verdict.MEMORY_LIMIT: ("alert", "bad"),
    Verdict.OUTPUT_LIMIT: ("alert", "bad"),
    Verdict.CRASHED: ("alert", "bad"),
    Verdict.GRADER_FAULT: ("alert", "warn"),
}
_CHECK_LOOKS = {status: Look(vocabulary.CHECK_WORDS[status], *marks) for status, marks in _CHECK_MARKS.items()}
_PAST_LOOKS = {verdict: Look(vocabulary.VERDICT_WORDS[verdict], *marks) for verdict, marks in _VERDICT_MARKS.items()}
_PROGRESS_LOOKS = {
    Progress.NEW: Look(word="New", icon="ring", tone="new"),
    Progress.TRIED: Look(word="Tried", icon="half", tone="tried"),
    Progress.DONE: Look(word="Done", icon="tick", tone="good"),
}
_NOT_READ = Look(vocabulary.NOT_AN_ANSWER, icon="alert", tone="warn")
_ON_ITS_WAY = Look(vocabulary.ON_ITS_WAY, icon="clock", tone="plain")


def report_of(attempt: SubmissionState) -> Report:
    """Return the report of a submission. Raises ValueError: it is not graded."""
    if attempt.report is None:
        raise ValueError(f"submission {attempt.id} is not graded")
    return attempt.report


def headline(attempt: SubmissionState, *, question: bool = False) -> str:
    """Say in a few words how a graded submission ended; to a question, how the answer is."""
    report = report_of(attempt)
    return vocabulary.headline(
        report.verdict,
        [check.status for check in report.checks],
        execution=attempt.kind is SubmissionKind.RUN,
        question=question,
    )


def summary(attempt: SubmissionState, *, question: bool = False) -> str:
    """Say the sentence under the headline: what it means, or what to do next."""
    report = report_of(attempt)
    if report.note:
        return report.note
    if question and report.verdict in vocabulary.ANSWER_SUMMARIES:
        return vocabulary.ANSWER_SUMMARIES[report.verdict]
    if attempt.kind is SubmissionKind.RUN and report.verdict is Verdict.PASSED:
        return vocabulary.EXECUTION_SUMMARY
    if shown_mix_up(report):
        return vocabulary.MIX_UP_SUMMARY
    return vocabulary.SUMMARIES[report.verdict]


def shown_mix_up(report: Report) -> Misconception | None:
    """Return the mix-up that has a box of its own: of a syntax error the error's box says all there is to say."""
    return None if report.misconception and report.misconception.tag == "syntax" else report.misconception


def tone(attempt: SubmissionState) -> str:
    """Return good, bad, warn (ours) or plain (nothing was judged)."""
    verdict = report_of(attempt).verdict
    if verdict is Verdict.PASSED:
        return "plain" if attempt.kind is SubmissionKind.RUN else "good"
    return "warn" if verdict is Verdict.GRADER_FAULT else "bad"


def first_failure(report: Report) -> str | None:
    """Return the id of the check that is worth looking at first; the grader orders them for this."""
    return next((check.id for check in report.checks if check.status is CheckStatus.FAILED), None)


def check_message(check: CheckResult, report: Report) -> str:
    """Return what a check says beyond what the error above it has said already."""
    explanation = report.error.explanation if report.error else ""
    if not explanation or explanation not in check.message:
        return check.message
    rest = check.message.replace(explanation, "").strip().rstrip(":")
    return f"{rest}, as said above." if rest and rest[-1] not in ".!?" else rest


def status_look(status: CheckStatus) -> Look:
    """Return how one check is shown."""
    return _CHECK_LOOKS[status]


def progress_look(progress: Progress) -> Look:
    """Return how it is shown how far an exercise has come."""
    return _PROGRESS_LOOKS[progress]


def past_look(past: PastAttempt, *, question: bool = False) -> Look:
    """Return how an earlier attempt is shown in the list of them."""
    if past.state is not SubmissionPhase.GRADED or past.verdict is None:
        return _ON_ITS_WAY
    return _NOT_READ if question and past.verdict is Verdict.ERROR else _PAST_LOOKS[past.verdict]


def named(shape: Sequence[int], tensor: TensorShape) -> list[Size]:
    """Give each size the name of its axis, as far as there is one for each."""
    expected = tensor.expected_shape
    names = tensor.dims if len(tensor.dims) == len(shape) else [""] * len(shape)
    others = expected if len(expected) == len(shape) else shape
    return [
        Size(name=name, size=size, off=size != other) for name, size, other in zip(names, shape, others, strict=True)
    ]


def timing(report: Report) -> str:
    """Say where the time went, in milliseconds."""
    spent = report.timing_ms
    parts = [("waited", spent.queued), ("ran", spent.run), ("judged", spent.judge)]
    phases = ", ".join(f"{word} {value:.0f} ms" for word, value in parts if value >= 1)
    return f"Done in {spent.total:.0f} ms" + (f": {phases}." if phases else ".")


TEMPLATE_WORDS: Mapping[str, Callable[..., object]] = {
    "check_message": check_message,
    "first_failure": first_failure,
    "headline": headline,
    "named": named,
    "past_look": past_look,
    "progress_look": progress_look,
    "shown_mix_up": shown_mix_up,
    "status_look": status_look,
    "summary": summary,
    "timing": timing,
    "tone": tone,
}
"""What templates call, by name."""
