"""
The words, marks and tones in which a result is told: the same on the page and to a screen reader.

Every function takes the JSON of a submission (`app.services.submissions.submissions.state_of`), as the API gives it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Attempt = dict[str, Any]


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


_CHECK_LOOKS = {
    "passed": Look(word="Passed", icon="check", tone="good"),
    "failed": Look(word="Failed", icon="cross", tone="bad"),
    "not_run": Look(word="Not judged", icon="minus", tone="skipped"),
}
_PAST_LOOKS = {
    "passed": Look(word="Passed", icon="check", tone="good"),
    "failed": Look(word="Not yet right", icon="cross", tone="bad"),
    "error": Look(word="Stopped with an error", icon="cross", tone="bad"),
    "time_limit": Look(word="Took too long", icon="clock", tone="bad"),
    "memory_limit": Look(word="Too much memory", icon="alert", tone="bad"),
    "output_limit": Look(word="Printed too much", icon="alert", tone="bad"),
    "crashed": Look(word="Crashed", icon="alert", tone="bad"),
    "grader_fault": Look(word="Not graded, our fault", icon="alert", tone="warn"),
}
_PROGRESS_LOOKS = {
    "new": Look(word="New", icon="ring", tone="new"),
    "tried": Look(word="Tried", icon="half", tone="tried"),
    "done": Look(word="Done", icon="tick", tone="good"),
}
_NOT_READ = Look(word="Not read as an answer", icon="alert", tone="warn")
_ON_ITS_WAY = Look(word="On its way", icon="clock", tone="plain")
_HEADLINES = {
    "error": "Your code stopped with an error",
    "time_limit": "Your code took too long",
    "memory_limit": "Your code needed too much memory",
    "output_limit": "Your code printed too much",
    "crashed": "Your code crashed",
    "grader_fault": "We couldn’t grade this",
}
_ANSWER_HEADLINES = {
    "passed": "That’s right",
    "failed": "Not yet right",
    "error": "That can’t be read as an answer",
}
_ANSWER_SUMMARIES = {
    "passed": "Well done.",
    "failed": "Think it over, and answer again.",
    "error": "It doesn’t count as an answer: write it another way.",
}
_SUMMARIES = {
    "passed": "Right on the lesson’s data, and on other data and other sizes.",
    "failed": "Start with the first one: it is open below.",
    "error": "See below what happened and where.",
    "time_limit": "It was ended. Is there a loop that never stops?",
    "memory_limit": "It was ended. Is there a tensor much larger than you meant?",
    "output_limit": "It was ended. Is there a print inside a long loop?",
    "crashed": "Python itself was ended, which no ordinary mistake does.",
    "grader_fault": "This is our fault, not your code’s, and it doesn’t count. Please send it again.",
}


def headline(attempt: Attempt, *, question: bool = False) -> str:
    """Say in a few words how a graded submission ended; to a question, how the answer is."""
    verdict = attempt["verdict"]
    if question and verdict in _ANSWER_HEADLINES:
        return _ANSWER_HEADLINES[verdict]
    if verdict in _HEADLINES:
        return _HEADLINES[verdict]
    if attempt["kind"] == "run":
        return "Your code ran to its end"
    statuses = [check["status"] for check in attempt["checks"]]
    if verdict == "passed":
        return f"All {len(statuses)} checks passed" if len(statuses) > 1 else "The check passed"
    failed = statuses.count("failed")
    return f"{failed} of {len(statuses)} checks failed" if len(statuses) > 1 else "The check failed"


def summary(attempt: Attempt, *, question: bool = False) -> str:
    """Say the sentence under the headline: what it means, or what to do next."""
    if note := attempt.get("note"):
        return str(note)
    if question and attempt["verdict"] in _ANSWER_SUMMARIES:
        return _ANSWER_SUMMARIES[attempt["verdict"]]
    if attempt["kind"] == "run" and attempt["verdict"] == "passed":
        return "This was only a run: nothing was judged. Press Check when you are ready."
    if shown_mix_up(attempt):
        return "It looks like one known mix-up: read that first."
    return _SUMMARIES[attempt["verdict"]]


def shown_mix_up(attempt: Attempt) -> dict[str, Any] | None:
    """Return the mix-up that has a box of its own: of a syntax error the error's box says all there is to say."""
    mix_up: dict[str, Any] | None = attempt["misconception"]
    return None if mix_up and mix_up["tag"] == "syntax" else mix_up


def tone(attempt: Attempt) -> str:
    """Return good, bad, warn (ours) or plain (nothing was judged)."""
    if attempt["verdict"] == "passed":
        return "plain" if attempt["kind"] == "run" else "good"
    return "warn" if attempt["verdict"] == "grader_fault" else "bad"


def first_failure(attempt: Attempt) -> str | None:
    """Return the id of the check that is worth looking at first; the grader orders them for this."""
    failed = (check["id"] for check in attempt["checks"] if check["status"] == "failed")
    return next(failed, None)


def check_message(check: dict[str, Any], attempt: Attempt) -> str:
    """Return what a check says beyond what the error above it has said already."""
    said = str(check["message"])
    explanation = attempt["error"]["explanation"] if attempt["error"] else ""
    if not explanation or explanation not in said:
        return said
    rest = said.replace(explanation, "").strip().rstrip(":")
    return f"{rest}, as said above." if rest and rest[-1] not in ".!?" else rest


def status_look(status: str) -> Look:
    """Return how one check is shown."""
    return _CHECK_LOOKS[status]


def progress_look(progress: str) -> Look:
    """Return how it is shown how far an exercise has come."""
    return _PROGRESS_LOOKS[progress]


def past_look(past: Attempt, *, question: bool = False) -> Look:
    """Return how an earlier attempt is shown in the list of them."""
    if question and past["verdict"] == "error":
        return _NOT_READ
    return _PAST_LOOKS.get(past["verdict"] or "", _ON_ITS_WAY)


def named(shape: Sequence[int], tensor: dict[str, Any]) -> list[Size]:
    """Give each size the name of its axis, as far as there is one for each."""
    expected = tensor["expected_shape"]
    names = tensor["dims"] if len(tensor["dims"]) == len(shape) else [""] * len(shape)
    others = expected if len(expected) == len(shape) else shape
    return [
        Size(name=name, size=size, off=size != other) for name, size, other in zip(names, shape, others, strict=True)
    ]


def timing(attempt: Attempt) -> str:
    """Say where the time went, in milliseconds."""
    spent = attempt["timing_ms"]
    parts = [("waited", spent["queued"]), ("ran", spent["run"]), ("judged", spent["judge"])]
    told = ", ".join(f"{word} {value:.0f} ms" for word, value in parts if value >= 1)
    return f"Done in {spent['total']:.0f} ms" + (f": {told}." if told else ".")


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
