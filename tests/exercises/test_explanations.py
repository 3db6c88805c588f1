"""Each kind of exception is really raised in the torch that is pinned, and is explained by what happened there."""

import asyncio
import json
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from app.authoring import load_code_exercise
from graders.grader import Grader
from graders.judge.feedback.explanations import GENERAL, OWN, RULES, recognised
from graders.judge.feedback.explanations.rules import Explained
from graders.judge.feedback.explanations.scene import BUILTINS, Setting
from graders.judge.values.decode_observation import Fault, read
from graders.protocol.observation_schema import ObservationRefused, ObservationSchema
from graders.report import Report, Verdict
from graders.student import main_module, observation, probe
from graders.student.execution import Program
from graders.task import Task
from tests.conftest import MAIN_EXERCISE
from tools.exercises import task_of
from tools.labelled_cases import cases

PROGRAMS = Path(__file__).parent / "explained"
MOST_CHARS = 700
MOST_S = 0.002
NESTED = "(" * 250 + "1" + ")" * 250
NOT_IN_STUDENTS_TEXT = {
    "weight", "functional", "self", "nn", "torch", "numpy", "and", "or", "not", "in", "def", "else", "elif", "except",
    "return", "break", "continue", "async", "await", "with", "raise", "del", "try", "nonlocal", "global", "yield",
    "assert", "lambda", "class",
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A program that stops, and what is to be said of it."""

    kind: str
    code: str
    says: tuple[str, ...]
    unsaid: tuple[str, ...]
    walls: bool  # does it stop at the walls round a run, and only there?

    @classmethod
    def of(cls, raw: dict[str, Any]) -> "Example":
        """Read an entry of a table."""
        code = NESTED if raw["code"] == "DEEP" else raw["code"]
        unsaid = (*raw.get("not", ()), "None axes", "Traceback", "  ", "{}", "{0}", "{line}", "{here}", "A Embedding")
        return cls(raw["kind"], code, tuple(map(str, raw["says"])), unsaid, raw.get("walls", False))


def examples() -> list[Example]:
    """Read all programs."""
    files = sorted(PROGRAMS.glob("*.yaml"))
    return [Example.of(one) for path in files for one in YAML(typ="safe").load(path.read_text(encoding="utf-8"))]


def named(one: Example) -> str:
    """Return a name for the list of tests."""
    return f"{one.kind}: {one.code[:30]!r}"


@cache
def main_task() -> Task:
    """Return the main exercise."""
    return load_code_exercise(MAIN_EXERCISE).task(1)


def setting(code: str, task: Task) -> Setting:
    """Return what the judge knows beside an exception."""
    return Setting(code, task.setup, {one.name: one.dims for one in task.outputs})


def stopped(code: str, task: Task) -> Fault | None:
    """Return the exception of a program as the judge reads it: run, handed over, checked, and read."""
    part = task.student_part()
    names = main_module.fresh()
    exec(task.setup, names)  # noqa: S102  the exercise's own
    frame = observation.observe(names, part, probe.run(Program(code), probe.Probe(""), names))
    ObservationSchema(part).check_observation(frame)
    return read(part, frame, None).fault


def explained(code: str, task: Task | None = None) -> Explained:
    """Return what is said of a program that stops."""
    task = task or main_task()
    fault = stopped(code, task)
    assert fault is not None, "it does not stop"
    return recognised(fault, setting(code, task))


@pytest.fixture(autouse=True)
def as_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the programs write where nobody minds, with nothing to read, and warnings that are warnings."""
    monkeypatch.chdir(tmp_path)
    # A browser that another test of this process keeps open has an event loop under way here; a run has none.
    under_way = asyncio._get_running_loop()  # noqa: SLF001  there is no other way
    with open(os.devnull, encoding="utf-8") as nothing, warnings.catch_warnings():  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", nothing)
        warnings.simplefilter("ignore")
        asyncio._set_running_loop(None)  # noqa: SLF001
        interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)  # as the warm process has it
        yield
        signal.signal(signal.SIGINT, interrupted)
        asyncio._set_running_loop(under_way)  # noqa: SLF001


@pytest.mark.parametrize("example", [one for one in examples() if not one.walls], ids=named)
def test_exception_is_explained_by_what_happened(example: Example) -> None:
    """The rule for its kind speaks, of the student's own names and numbers, and says nothing that it must not."""
    found = explained(example.code)
    assert found.kind == example.kind, found
    assert [one for one in example.says if one.lower() not in found.text.lower()] == [], found.text
    assert [one for one in example.unsaid if one in found.text] == [], found.text
    assert len(found.text) <= MOST_CHARS


@pytest.mark.parametrize("example", [one for one in examples() if one.walls], ids=named)
def test_what_the_walls_refuse_is_explained(grade: Callable[..., Report], example: Example) -> None:
    """Network, processes, files: what a run does not have is said, and what it does have."""
    error = grade(example.code).error
    assert error is not None
    assert [one for one in example.says if one.lower() not in error.explanation.lower()] == [], error


def test_every_kind_is_raised() -> None:
    """An upgrade of torch or Python that changes a message is noticed, for each of the kinds."""
    assert {one.kind for one in examples()} == {one.kind for one in RULES} | {OWN, GENERAL}
    assert len(RULES) >= 120


def test_explaining_takes_no_time() -> None:
    """It is a small part of a verdict."""
    slow = {}
    for example in (one for one in examples() if not one.walls):
        fault = stopped(example.code, main_task())
        assert fault is not None
        if (took_s := min(_seconds(fault, example.code) for _ in range(3))) > MOST_S:
            slow[example.kind] = took_s
    assert slow == {}


def _seconds(fault: Fault, code: str) -> float:
    begun_s = time.thread_time()
    recognised(fault, setting(code, main_task()))
    return time.thread_time() - begun_s


@pytest.mark.parametrize("case", [one for one in cases() if "Error" in one.label["error"]], ids=lambda one: one.name)
def test_explanation_names_only_what_is_there(grader: Grader, case: Any) -> None:  # noqa: ANN401  a case
    """Each name in backticks is the student's, the starting code's, the message's or Python's; each line exists."""
    task, code = task_of(case.exercise), case.path.read_text(encoding="utf-8")
    error = grader.grade(task, code, seed="explained").error
    assert error is not None
    known = set(re.findall(r"\w+", code + task.setup + error.message + error.type)) | BUILTINS | NOT_IN_STUDENTS_TEXT
    spoken = [
        word for quoted in re.findall(r"`([^`]*)`", error.explanation) for word in re.findall(r"[A-Za-z_]\w*", quoted)
    ]
    assert [word for word in spoken if word not in known] == [], error.explanation
    last = len(code.splitlines())
    assert all(int(line) <= last for line in re.findall(r"\bline (\d+)", error.explanation.lower()))


def test_what_was_handed_over_is_not_trusted() -> None:
    """A span that is none and parts that are not in the text make no explanation fail."""
    fault = stopped("h = torch.ones(2) + torch.ones(3)\n", main_task())
    assert fault is not None
    for span in ((0, 0, 0, 0), (1, 10**6, 1, 2), (9, 9, 1, 1), None):
        for source in ("", "h = (", "\0", "x" * 10_000 + "\n", "(" * 10_000, "a\n" * 3):
            forged = Fault(**{**vars(fault), "span": span, "line": 1})
            assert recognised(forged, setting(source, main_task())).text


def test_sample_of_errors_is_explained(grader: Grader) -> None:
    """What learners' programs stop with is told as a teacher would: each has what it must, and nothing given away."""
    failing = []
    for one in json.loads((PROGRAMS / "sample.json").read_text(encoding="utf-8")):
        report = grader.grade(task_of(one["exercise"]), one["code"], seed="sample")
        texts = [report.error.explanation] if report.error else [check.message for check in report.checks]
        said = " ".join(texts).replace("`", "").lower()
        lacking = [terms for terms in one["must_any"] if not any(_has(term, said) for term in terms)]
        given = [pattern for pattern in one["must_not"] if re.search(pattern, said, re.IGNORECASE)]
        if lacking or given:
            failing.append((one["id"], lacking, said))
    assert failing == []


def _has(term: str, said: str) -> bool:
    return re.search(term[3:], said) is not None if term.startswith("re:") else term.lower() in said


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("while True:\n    pass\n", "line 1 is always true, and there is no `break`"),
        (
            "t = 0\nu = 1\nwhile t < block_size:\n    u = u + 1\n",
            "asks about `t`, and nothing in the loop changes that",
        ),
        ("t = 0\nwhile t < 1:\n    t = t - 1\n", "The time was over in the `while` loop on line 2"),
        ("def f():\n    for i in iter(int, 1):\n        pass\nf()\n", "The time was over in the `for` loop on line 2"),
    ],
)
def test_endless_loop_is_named(grade: Callable[..., Report], code: str, says: str) -> None:
    """The loop that the time was used up in is told with its line, and as endless only where that can be seen."""
    report = grade(code)
    assert report.verdict is Verdict.TIME_LIMIT
    assert says in report.note
    assert says in report.checks[0].message
    assert says not in report.checks[1].message


def test_loop_that_is_handed_over_is_not_trusted() -> None:
    """A loop of any other form is refused."""
    right = {"line": 1, "word": "while", "unchanged": ["t"], "no_way_out": False}
    ObservationSchema.check_loop(right)
    wrong = (
        {"line": -1},
        {"word": "x"},
        {"unchanged": ["a b"]},
        {"unchanged": ["a"] * 9},
        {"no_way_out": 1},
        {"more": 1},
    )
    for change in wrong:
        with pytest.raises(ObservationRefused):
            ObservationSchema.check_loop({**right, **change})
