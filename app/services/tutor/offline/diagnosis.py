"""Where a student stands: what the last report says, in a teacher's words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.clients.tutor.port import TutorContext
from app.services.tutor.offline.finding.knowledge import general_knowledge
from graders.report import CheckResult, CheckStatus, StudentError, TensorShape, Verdict

_BARE_SHAPE = re.compile(r"(`[^`\n]*`)|(?<![\w\]])(\w*\[\d+(?:, \d+)*\])")
_ITEM = re.compile(r"^ {0,3}(?:\d+[.)]|[-*]) +(.+(?:\n {2,}\S.*)*)", re.MULTILINE)
_NAMED_ROW = re.compile(r"\A\|\s*`(\w+)`[^|]*\|")
_SHAPE_CELL = re.compile(r"`(\[[^`\n]+\])`")
_CODE_NAME = re.compile(r"`([A-Za-z_]\w*)`")
_SAYS_LITTLE = "its message says what did not fit"  # of the grader's explanation for what it has no words for
_LINE_CHARS = 120
_WORD = re.compile(r"\w+")
_QUOTED_WORDS = 3
_ABOUT_ENDS = {  # what students call these verdicts
    Verdict.TIME_LIMIT: "time out slow slower server hangs stops forever endless program runs long",
    Verdict.MEMORY_LIMIT: "memory ram killed large big",
    Verdict.OUTPUT_LIMIT: "print prints output too much text",
    Verdict.CRASHED: "crash crashed killed signal segfault",
}


@dataclass(frozen=True)
class Diagnosis:
    """What is known of the student's last attempt, if something is wrong with it."""

    said: str
    """What happened: a sentence or two of facts, in Markdown."""
    teacher: str
    """What a teacher would say of the idea behind it; empty if the idea was not recognised."""
    about: str
    """More words that belong to it, for finding out whether a question is about it."""

    @property
    def text(self) -> str:
        """All its text."""
        return f"{self.said} {self.teacher} {self.about}"


def in_code(text: str) -> str:
    """Set shapes and places as code, as the page does."""
    return _BARE_SHAPE.sub(lambda found: found[1] or f"`{found[2]}`", text)


def passed(context: TutorContext) -> bool:
    """Did the last attempt pass?"""
    return context.report is not None and context.report.verdict is Verdict.PASSED


def checks(context: TutorContext, *statuses: CheckStatus) -> list[CheckResult]:
    """Return the checks of the last report, those with a status among `statuses` if any are named."""
    found = context.report.checks if context.report else ()
    return [one for one in found if not statuses or one.status in statuses]


def tensors(context: TutorContext) -> tuple[TensorShape, ...]:
    """Return the shapes that the last report shows."""
    return context.report.tensors if context.report else ()


def error(context: TutorContext) -> StudentError | None:
    """Return the exception of the last report."""
    found = context.report.error if context.report else None
    return found if found and found.type != "AnswerRefused" else None


def diagnose(context: TutorContext) -> Diagnosis | None:
    """Say what is wrong with the last attempt; None if there was none, or if it passed."""
    report = context.report
    if report is None or passed(context):
        return None
    idea = report.misconception
    teacher = in_code(idea.message) if idea else ""
    tag = idea.tag.replace("-", " ") if idea else ""
    stopped = error(context)
    if stopped and report.verdict is Verdict.ERROR:
        return Diagnosis(_stopped(context, stopped, known=bool(teacher)), teacher, f"{tag} {stopped.message}")
    failing = checks(context, CheckStatus.FAILED)
    if failing:
        first = failing[0]
        words = " ".join(f"{one.id} {one.title} {one.message}" for one in failing)
        return Diagnosis(_fails(first, teacher), teacher, f"{tag} {words} {stopped.message if stopped else ''}")
    note = report.note or "It did not come to an end that could be judged."
    return Diagnosis(in_code(note), teacher, f"{tag} {_ABOUT_ENDS.get(report.verdict, '')}")


def first_failing(context: TutorContext) -> str:
    """Return the name of what fails first, as code; empty if its check is about none."""
    titles = [one.title for one in checks(context, CheckStatus.FAILED)]
    found = _CODE_NAME.search(titles[0]) if titles else None
    return f"`{found[1]}`" if found else ""


def quotes_error(context: TutorContext, question: str) -> bool:
    """Does a question repeat a few words of the last exception's message, or its type?"""
    stopped = error(context)
    if stopped is None:
        return False
    asked = f" {' '.join(_WORD.findall(question.lower()))} "
    said = _WORD.findall(stopped.message.lower())
    runs = (" ".join(said[index : index + _QUOTED_WORDS]) for index in range(len(said) - _QUOTED_WORDS + 1))
    return stopped.type.lower() in asked.split() or any(f" {run} " in asked for run in runs)


def line_of(source: str, number: int | None) -> str:
    """Return a line of the student's code, to be shown as code; empty if it is not there or is long."""
    lines = source.splitlines()
    line = lines[number - 1].strip() if number and 0 < number <= len(lines) else ""
    return line if len(line) <= _LINE_CHARS and "`" not in line else ""


def steps(context: TutorContext) -> list[str]:
    """Return the items of the task, in order, each on one line."""
    return [" ".join(item.split()) for item in _ITEM.findall(context.statement)]


def next_step(context: TutorContext) -> str:
    """Return the item of the task that comes next: the first whose names are not all in the student's code."""
    for item in (found := steps(context)):
        names = [name for name in _CODE_NAME.findall(item) if name in context.names]
        if any(not re.search(rf"\b{name}\b", context.source) for name in names):
            return item
    return found[0] if found and not context.source else ""


def setup_note(context: TutorContext, name: str) -> str:
    """Say what the starting code says of a name that it makes, in the comment beside it; empty if it says nothing."""
    found = re.search(
        rf"^{re.escape(name)} {{0,20}}= {{0,20}}(?P<value>[^#\n]{{1,60}}?) {{0,40}}# {{0,20}}(?P<note>.+)$",
        context.setup,
        re.MULTILINE,
    )
    return f"The starting code makes it: `{name} = {found['value']}`, {found['note']}." if found else ""


def asked_shape(context: TutorContext, name: str) -> str:
    """Return the shape that the task's table gives for a name, as it is written there; empty if it has none."""
    rows = (line for line in context.statement.split("\n") if (found := _NAMED_ROW.match(line)) and found[1] == name)
    shapes = [shape[1] for line in rows if (shape := _SHAPE_CELL.search(line, line.index("|", 1)))]
    return shapes[-1] if shapes else ""


def mentioned(context: TutorContext, question: str) -> list[str]:
    """Return the names of the task that a question has in it, in the question's order."""
    names: Sequence[str] = (*context.names, *(one.name for one in tensors(context)))
    matches = {name: re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", question) for name in names}
    return sorted((name for name, index in matches.items() if index), key=lambda name: matches[name].start())  # type: ignore[union-attr]


def _stopped(context: TutorContext, stopped: StudentError, *, known: bool) -> str:
    line = line_of(context.source, stopped.line)
    where = f" at line {stopped.line}" if stopped.line else ""
    shown = f", `{line}`," if line else ""
    explanation = in_code(stopped.explanation)
    if _SAYS_LITTLE in explanation:
        entry = general_knowledge().on_error(stopped.message)
        explanation = entry.says if entry else f"Its message is: {_quoted(stopped.message)}."
    if known:
        explanation = _without_questions(explanation) or explanation
    return f"Your code stopped{where}{shown} with `{stopped.type}`. {explanation}"


def _fails(first: CheckResult, teacher: str) -> str:
    message = in_code(first.message)
    if message == teacher:
        return f"The check “{first.title}” does not hold yet."
    if teacher:
        message = _without_questions(message) or message
    return f"The check “{first.title}” does not hold yet: {message}"


def _without_questions(text: str) -> str:
    """Leave the questions out: where a teacher's words follow, two questions would be one too many."""
    return " ".join(one for one in re.split(r"(?<=[.?!])\s+(?=[A-Z`])", text) if not one.endswith("?"))


def _quoted(message: str) -> str:
    flat = " ".join(message.replace("`", "'").split())[:200]
    return f"`{flat}`" if flat else "empty"
