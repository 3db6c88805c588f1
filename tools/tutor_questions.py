"""Questions to the tutor, the situations in which they are asked, and what their answers have to hold."""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from app.authoring import CodeExercise, LessonContent, Question, load_course
from app.clients.tutor.port import Passage, TutorContext
from app.db import Database
from app.db.migrate import upgrade
from app.services.exercises.catalogue import import_course
from app.services.exercises.passage_search import search_passages
from app.services.tutor.offline.asked import Reply
from app.services.tutor.offline.engine import answer_to
from app.settings import ROOT
from graders.grader import Grader
from graders.question import QuestionTask
from graders.report import Report, ReportJson
from tools.giveaways import given_away

FOLDER = ROOT / "tests/tutor"
QUESTIONS, SITUATIONS, REPORTS = (FOLDER / name for name in ("questions.yaml", "situations.yaml", "reports.json"))
COURSES = ("embeddings", "tensor-basics")
SEED = "tutor"
MOST_WORDS = 170
_NO_IDEA = re.compile(r"\bI do not know\b")


@dataclass(frozen=True)
class Situation:
    """What a student had sent, and how many hints were open."""

    exercise: str
    code: str = ""
    hints: int = 0


@dataclass(frozen=True)
class Case:
    """A question, and what its answer has to hold."""

    ask: str
    of: str
    """The situation."""
    must: tuple[list[str], ...]
    must_not: tuple[str, ...] = ()
    asks: bool = False
    unknown: bool | None = None
    """Whether it must say that it does not know; None if both will do."""
    source: str = ""


def cases(path: Path = QUESTIONS) -> list[Case]:
    """Read questions."""
    return [
        Case(
            ask=one["ask"],
            of=one["of"],
            must=tuple(need if isinstance(need, list) else [need] for need in one["must"]),
            must_not=tuple(
                bad for group in one.get("must_not", []) for bad in (group if isinstance(group, list) else [group])
            ),
            asks=one.get("asks", False),
            unknown=one.get("unknown", False),
            source=one.get("source", ""),
        )
        for one in YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    ]


@cache
def situations() -> dict[str, Situation]:
    """Read the situations, by name."""
    return {
        name: Situation(**one) for name, one in YAML(typ="safe").load(SITUATIONS.read_text(encoding="utf-8")).items()
    }


@cache
def reports() -> dict[str, ReportJson]:
    """Read what grading the situations gave."""
    return dict(json.loads(REPORTS.read_text(encoding="utf-8")))


@cache
def lessons() -> dict[str, LessonContent]:
    """Return the lesson of each exercise."""
    courses = [load_course(ROOT / "exercises" / name) for name in COURSES]
    return {one.id: lesson for course in courses for lesson in course.lessons for one in lesson.exercises}


@cache
def exercise(name: str) -> CodeExercise | Question:
    """Return an exercise of the courses that come with Kelolo."""
    return next(one for one in lessons()[name].exercises if one.id == name)


@contextmanager
def imported() -> Iterator[Database]:
    """Make a database with the courses in it."""
    with tempfile.TemporaryDirectory(prefix="kelolo-tutor-") as folder:
        database = Database(f"sqlite:///{folder}/kelolo.db")
        upgrade(database)
        with database.write() as session:
            for name in COURSES:
                import_course(session, load_course(ROOT / "exercises" / name))
        yield database
        database.dispose()


def context_of(database: Database, situation: str, question: str) -> TutorContext:
    """Make what an engine is given."""
    with database.read() as session:
        passages = search_passages(session, exercise_id=situations()[situation].exercise, question=question)
    return with_passages(situation, question, tuple(passages))


def with_passages(situation: str, question: str, passages: tuple[Passage, ...]) -> TutorContext:
    """Make what an engine is given, with passages that were found before."""
    at = situations()[situation]
    one = exercise(at.exercise)
    return TutorContext(
        question=question,
        exercise_id=one.id,
        title=one.title,
        statement=one.statement,
        setup=one.setup,
        names=tuple(output.name for output in one.outputs) if isinstance(one, CodeExercise) else (),
        facts=tuple(one.tutor),
        hints=tuple(one.hints[: at.hints]),
        hints_left=len(one.hints) - at.hints,
        source=at.code,
        report=Report.from_json(reports()[situation]) if situation in reports() else None,
        lesson_title=lessons()[one.id].title,
        passages=passages,
        earlier=(),
    )


def answered(database: Database, case: Case) -> Reply:
    """Ask a question."""
    return answer_to(context_of(database, case.of, case.ask))


def text_of(answer: Reply) -> str:
    """The answer as the student reads it."""
    return "\n\n".join(answer.paragraphs)


def faults_of(case: Case, answer: Reply) -> list[str]:
    """Say where an answer falls short; an empty list if nowhere."""
    text = text_of(answer)
    missing = [need for need in case.must if not any(re.search(one, text, re.IGNORECASE) for one in need)]
    found = [f"lacks {' or '.join(need)}" for need in missing]
    found += [f"holds {bad}" for bad in case.must_not if re.search(bad, text, re.IGNORECASE)]
    if case.asks and "?" not in text:
        found.append("asks nothing back")
    if case.unknown not in (None, bool(_NO_IDEA.search(text))):
        found.append("does not say that it does not know" if case.unknown else "says that it does not know")
    if case.source and not any(case.source in ("any", one.address.partition("#")[2]) for one in answer.sources):
        found.append(f"names {[one.address for one in answer.sources]} instead of {case.source}")
    if len(text.split()) > MOST_WORDS:
        found.append(f"has {len(text.split())} words")
    at = situations()[case.of]
    return found + [f"gives away {line}" for line in given_away(exercise(at.exercise), text, at.code, hints=at.hints)]


def graded() -> dict[str, dict[str, Any]]:
    """Grade the code of all situations."""
    with tempfile.TemporaryDirectory(prefix="kelolo-tutor-") as folder, Grader(scratch=Path(folder)) as grader:
        return {name: told(grader, one) for name, one in situations().items() if one.code}


def told(grader: Grader, situation: Situation) -> dict[str, Any]:
    """Grade one, and leave out what differs from run to run."""
    task = exercise(situation.exercise).task(1)
    if isinstance(task, QuestionTask):
        report: Report = task.grade(situation.code)
    else:
        report = grader.grade(task, situation.code, seed=SEED)
    plain: dict[str, Any] = json.loads(json.dumps(report.to_json()))
    return plain | {"timing_ms": dict.fromkeys(plain["timing_ms"], 0.0)}
