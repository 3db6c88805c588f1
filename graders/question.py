"""
Questions: exercises whose answer is a number, a choice or a shape, graded here without a sandbox.

An answer is a short text. It is read generously (`50257 * 768 * 4`, `154.4 MB`, `(8, 32)`, `8 x 32`) and
never evaluated as code. A number that can be read in two ways (`graders.number_reading`) is right if one of them is.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from graders.number_reading import NotANumber, interpretations, plain
from graders.report import CheckResult, CheckStatus, Misconception, Report, StudentError, Timing, Verdict
from graders.task import Task

MAX_ANSWER_CHARS = 500
_BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_WORDS = {
    "byte": "B",
    "bytes": "B",
    "b": "B",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
}
_UNIT = re.compile(r"(?<![A-Za-zµ%])([A-Za-zµ%]+)\Z")
_MIXED_UP = (1.048576, 1.024, 1.073741824)  # MiB taken for MB, and so on


class AnswerRefused(ValueError):
    """The answer cannot be read; the text says what would be."""


@dataclass(frozen=True)
class WrongAnswer:
    """An answer that shows a known wrong idea."""

    tag: str
    answer: Any
    message: str


@dataclass(frozen=True)
class Given:
    """One way to read an answer."""

    value: Any  # of the answer's form
    how: str = ""  # a sentence about how it was read, where that is not plain
    has_unit: bool = False


@dataclass(frozen=True)
class QuestionTask:
    """One question with its answer."""

    exercise: str
    version: int
    answers: str  # number | choice | shape
    right: Any  # a number; the keys of the right options; a list of sizes
    title: str = "Your answer is right"
    unit: str = ""
    tolerance: float = 0.0  # relative
    options: Mapping[str, str] = field(default_factory=dict)  # key -> text, for a choice
    explanation: str = ""  # said when it is right
    message: str = ""  # said when it is wrong and no known wrong idea fits
    wrong: tuple[WrongAnswer, ...] = ()
    kind: str = "question"

    def to_json(self) -> dict[str, object]:
        """The question as JSON-able values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "QuestionTask":
        """Read what `to_json` wrote. Raises KeyError or TypeError if it is not one."""
        return cls(**{**raw, "wrong": tuple(WrongAnswer(**one) for one in raw["wrong"])})

    def grade(self, answer: str) -> Report:
        """Judge one answer; one that cannot be read is an error with a sentence, not a wrong answer."""
        try:
            read = _READERS[self.answers](self, answer.strip()[:MAX_ANSWER_CHARS])
        except AnswerRefused as refused:
            error = StudentError("AnswerRefused", str(refused), None, str(refused))
            return self._report(Verdict.ERROR, CheckStatus.NOT_RUN, str(refused), error=error)
        if any(self._same(given.value, self.right) for given in read):
            return self._report(Verdict.PASSED, CheckStatus.PASSED, self.explanation)
        known = next((one for one in self.wrong for given in read if self._same(given.value, one.answer)), None)
        misconception = Misconception(known.tag, known.message) if known else None
        hint = next((said for given in read if (said := self._hint(given))), "")
        said = known.message if known else hint or self.message or "That is not it. Work it out once more."
        shown = f"{read[0].how} {said}".strip()
        return self._report(Verdict.FAILED, CheckStatus.FAILED, shown, misconception=misconception)

    def is_right(self, given: Any) -> bool:  # noqa: ANN401  of the answer's form
        """Is this value the right one? Raises TypeError if it is not of the answer's form."""
        return self._same(given, self.right)

    def _same(self, given: Any, right: Any) -> bool:  # noqa: ANN401  a number, list or set of keys
        if self.answers == "number":
            return math.isclose(given, float(right), rel_tol=max(self.tolerance, 1e-9), abs_tol=1e-12)
        return sorted(given) == sorted(right) if self.answers == "choice" else list(given) == list(right)

    def _hint(self, read: "Given") -> str:
        """What kind of slip it is, where that can be seen from the number or shape alone."""
        given = read.value
        if self.answers == "number" and self.unit in _BYTES and self.right:
            return self._unit_hint(given, has_unit=read.has_unit)
        if self.answers == "shape" and sorted(given) == sorted(self.right):
            return "These are the right sizes, but in another order."
        if self.answers == "shape" and len(given) != len(self.right):
            return f"Your shape has {len(given)} axes; how many does the result have?"
        return ""

    def _unit_hint(self, given: float, *, has_unit: bool) -> str:
        """A number that is right in another unit than the one asked for, or with two units mixed up."""
        ours = _BYTES[self.unit]
        for unit, size in _BYTES.items():
            if not has_unit and size != ours and self._same(given * size / ours, self.right):
                name = "bytes" if unit == "B" else unit
                return f"That is the right number in {name}, and the answer is asked for in {self.unit}."
        ratio = max(given / self.right, self.right / given) if given else 0
        if any(math.isclose(ratio, one, rel_tol=1e-3) for one in _MIXED_UP):
            return "Nearly: MB counts millions of bytes, MiB counts 1024 × 1024. Which of the two is asked for?"
        return ""

    def _report(
        self,
        verdict: Verdict,
        status: CheckStatus,
        said: str,
        *,
        error: StudentError | None = None,
        misconception: Misconception | None = None,
    ) -> Report:
        return Report(
            exercise=self.exercise,
            version=self.version,
            verdict=verdict,
            checks=(CheckResult("answer", self.title, status, said),),
            misconception=misconception,
            error=error,
            report="",
            output="",
            output_truncated=False,
            tensors=(),
            timing_ms=Timing(),
            seed="",
        )


def _numbers(question: QuestionTask, answer: str) -> list[Given]:
    """The numbers that an answer can mean, in the question's unit; a unit of bytes is converted."""
    text, factor = plain(answer).rstrip(".,;! "), 1.0
    found = _UNIT.search(text)
    if found and not re.fullmatch(r"[eE]", found[1]):
        text, factor = text[: found.start()], _factor(found[1], question.unit)
    try:
        read = interpretations(text)
    except NotANumber:
        raise AnswerRefused(f"`{answer:.60}` is not a number. Write one such as 12, 1.5 or 3 * 4.") from None
    finite = [one for one in read if math.isfinite(one.value * factor)]
    if not finite:
        raise AnswerRefused("That number is too large to be looked at.")
    shown = " or as ".join(f"{one.value:.12g}" for one in finite)
    how = f"Your answer was read as {shown}." if any(one.has_separators for one in read) else ""
    return [Given(one.value * factor, how=how, has_unit=found is not None) for one in finite]


def _factor(unit: str, wanted: str) -> float:
    named = _WORDS.get(unit.lower(), unit) if unit not in _BYTES else unit
    if named == wanted:
        return 1.0
    if named in _BYTES and wanted in _BYTES:
        return _BYTES[named] / _BYTES[wanted]
    raise AnswerRefused(
        f"The unit `{unit}` does not fit: the answer is {f'in {wanted}' if wanted else 'a plain number'}."
    )


def _choice(question: QuestionTask, answer: str) -> list[Given]:
    """The keys of the options that are named, by key or by text."""
    texts = {_folded(text): key for key, text in question.options.items()}
    if _folded(answer) in texts:
        return [Given([texts[_folded(answer)]])]
    keys = [part for part in re.split(r"[,;\s]+", answer.lower()) if part]
    unknown = [key for key in keys if key not in question.options]
    if unknown or not keys:
        raise AnswerRefused(f"Choose from {', '.join(question.options)}; with several, put commas between them.")
    return [Given(sorted(set(keys)))]


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _shape(_: QuestionTask, answer: str) -> list[Given]:
    """`[8, 32]`, `(8, 32)`, `8 x 32`, `torch.Size([8, 32])`."""
    inner = answer.removeprefix("torch.Size").strip("()[] \t")
    parts = [part for part in re.split(r"[,x×*\s]+", inner) if part]
    if not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):  # noqa: PLR2004  digits
        raise AnswerRefused("Write a shape as its sizes in order, such as [8, 32].")
    return [Given([int(part) for part in parts])]


_READERS: dict[str, Callable[[QuestionTask, str], list[Given]]] = {
    "number": _numbers,
    "choice": _choice,
    "shape": _shape,
}


def assignment(raw: Mapping[str, Any]) -> Task | QuestionTask:
    """A stored task or question. Raises KeyError or TypeError if it is neither."""
    return QuestionTask.from_json(raw) if raw.get("kind") == "question" else Task.from_json(raw)
