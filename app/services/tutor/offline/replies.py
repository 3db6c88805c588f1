"""
What is answered to each kind of question.

The building blocks are the diagnosis, what the author and the lesson say, and what is known of PyTorch; the reference
is none of them, because it is not there. A reply ends with a question wherever the student's own work is to go on.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from app.clients.tutor.port import Passage, TutorContext
from app.services.tutor.offline import shape_answers
from app.services.tutor.offline.diagnosis import (
    Diagnosis,
    checks,
    diagnose,
    error,
    first_failing,
    in_code,
    mentioned,
    next_step,
    passed,
    quotes_error,
    setup_note,
)
from app.services.tutor.offline.evidence import Evidence, Topic
from app.services.tutor.offline.intents import Intent
from app.services.tutor.offline.sentences import COUNTER, NOT_SEEN, PASSED, WHO_I_AM
from graders.report import CheckResult, CheckStatus, Verdict

_ABOUT_MINE = 0.3  # of a question that the diagnosis must cover to be what the question is about
_MINE = re.compile(r"\b(my|mine|i (wrote|never|did|made))\b", re.IGNORECASE)
_A_LINE = re.compile(r"\bline \d", re.IGNORECASE)
_FREE = "costs no message"
_ON_DOUBT = "If you go by your last attempt: "


@dataclass(frozen=True)
class Reply:
    """An answer, in paragraphs of Markdown."""

    paragraphs: tuple[str, ...]
    sources: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class QuestionContext:
    """A question with all that a reply is made of."""

    context: TutorContext
    question: str
    evidence: Evidence
    diagnosis: Diagnosis | None

    @property
    def topic(self) -> Topic | None:
        """What answers it best, if anything does."""
        topics = self.evidence.topics
        return topics[0] if topics else None

    @property
    def is_about_mine(self) -> bool:
        """Is it about what is wrong with the last attempt?"""
        return self.closeness >= _ABOUT_MINE

    @cached_property
    def closeness(self) -> float:
        """How much of it the diagnosis covers, 0 to about 1."""
        return self.evidence.relevance(self.diagnosis.text) if self.diagnosis else 0.0

    @property
    def speaks_of_mine(self) -> bool:
        """Does it say "my" of something, while something is wrong?"""
        return self.diagnosis is not None and _MINE.search(self.question) is not None

    @property
    def points_at_fault(self) -> bool:
        """Does it repeat the message of the error, or name what fails?"""
        if self.diagnosis is None:
            return False
        if quotes_error(self.context, self.question) or _A_LINE.search(self.question):
            return True
        named = [f"`{name}`" for name in mentioned(self.context, self.question)]
        failing = [one.title + one.message for one in checks(self.context, CheckStatus.FAILED)]
        return any(name in text for name in named for text in failing)


def reply(kind: Intent, context: TutorContext, question: str) -> Reply:
    """Answer a question of that kind."""
    return _REPLIES[kind](QuestionContext(context, question, Evidence(context, question), diagnose(context)))


def _answer(asked: QuestionContext) -> Reply:
    no = "I won't write it for you: the line that you find yourself is the one you keep."
    return Reply((no, *_onwards(asked)))


def _stuck(asked: QuestionContext) -> Reply:
    return Reply(("Let us look together.", *_onwards(asked)))


def _foreign(asked: QuestionContext) -> Reply:
    topic = asked.topic
    if topic and topic.sure:
        return _idea(asked)
    sorry = "I read English best, so forgive me if I miss your point; could you ask it in English?"
    return Reply((sorry, *_onwards(asked)))


def _hint(asked: QuestionContext) -> Reply:
    if asked.context.hints_left:
        said = _hint_offer(asked.context)
    elif asked.context.hints:
        said = "All hints are open already; it pays to read the last one once more, slowly."
    else:
        said = "This exercise has no hints, so let us go by what there is."
    return Reply((said, *_onwards(asked, hints=False)))


def _next(asked: QuestionContext) -> Reply:
    if passed(asked.context):
        return _all_passed()
    return Reply(_onwards(asked))


def _verify(asked: QuestionContext) -> Reply:
    if asked.diagnosis is None or not (asked.is_about_mine or _short(asked)):
        topic = asked.topic
        if topic and not _short(asked):
            return _idea(asked)
    if passed(asked.context):
        return _all_passed()
    free = f"Press Check to be sure: it {_FREE}, and it looks at more than I can."
    if asked.diagnosis is None:
        return Reply((free, *_onwards(asked)))
    return Reply(("Your last attempt was not right yet.", *_diagnosis(asked.diagnosis), free))


def _check(asked: QuestionContext) -> Reply:
    found = _named_check(asked)
    if found is None:
        return _idea(asked)
    wants = f"That check wants what its title says: {in_code(found.title)}."
    if found.status is CheckStatus.PASSED:
        return _with_topic(asked, wants, "On your last attempt it holds already.")
    if found.status is CheckStatus.NOT_RUN:
        blocked = f"On your last attempt it could not be judged: {in_code(found.message)}"
        return Reply((wants, blocked, *(_diagnosis(asked.diagnosis) if asked.diagnosis else ())))
    return Reply((wants, *(_diagnosis(asked.diagnosis) if asked.diagnosis else ())))


def _shape(asked: QuestionContext) -> Reply:
    seen = shape_answers.shape_answer(asked.context, asked.question)
    if seen is None:
        return _wrong(asked) if asked.is_about_mine else _idea(asked)
    if seen.wrong and asked.diagnosis:
        teacher = asked.diagnosis.teacher or f"Which axis of `{seen.name}` is not as you expected?"
        return Reply((seen.said, teacher))
    return _with_topic(asked, seen.said)


def _error(asked: QuestionContext) -> Reply:
    if asked.diagnosis and error(asked.context):
        return _diagnosed(asked)
    return _idea(asked) if asked.topic else _wrong(asked)


def _wrong(asked: QuestionContext) -> Reply:
    if asked.diagnosis is None:
        if asked.topic:
            return _idea(asked)
        return _all_passed() if passed(asked.context) else Reply(_onwards(asked))
    topic = asked.topic
    if _ended_early(asked) or asked.points_at_fault or topic is None:
        return _diagnosed(asked)
    return _on_topic(asked, topic) if topic.sure and _fits(asked, topic) else _diagnosed(asked)


def _ended_early(asked: QuestionContext) -> bool:
    """Was the last run ended by a limit? Then there is nothing else to be said of it."""
    report = asked.context.report
    return report is not None and report.verdict not in {Verdict.PASSED, Verdict.FAILED, Verdict.ERROR}


def _again(asked: QuestionContext) -> Reply:
    earlier = asked.context.earlier
    if not earlier:
        return _wrong(asked) if asked.diagnosis else _stuck(asked)
    before = Evidence(asked.context, f"{earlier[-1].question} {asked.question}")
    again = QuestionContext(asked.context, asked.question, before, asked.diagnosis)
    topic = again.topic
    if topic is None:
        return Reply(("Let me try it from your work instead.", *_onwards(again)))
    return _on_topic(again, topic, "Put another way:")


def _idea(asked: QuestionContext) -> Reply:
    topic = asked.topic
    if not asked.evidence.question and not mentioned(asked.context, asked.question):
        return _stuck(asked)
    if note := _of_setup(asked):
        return Reply((note, "Where in your own code does it come in?"))
    is_told = topic is not None and topic.sure and topic.is_own
    if quotes_error(asked.context, asked.question) or (asked.points_at_fault and not is_told):
        return _diagnosed(asked)
    if topic and _fits(asked, topic):
        return _on_topic(asked, topic)
    return _diagnosed(asked) if asked.is_about_mine or asked.speaks_of_mine else _unknown(asked)


def _fits(asked: QuestionContext, topic: Topic) -> bool:
    """Is a topic rather what is asked for than the diagnosis? Who speaks of their own work wants to hear of it."""
    if asked.speaks_of_mine and not topic.is_own:
        return topic.sure and not asked.closeness
    return topic.sure or (topic.score > asked.closeness and not asked.speaks_of_mine)


def _of_setup(asked: QuestionContext) -> str:
    """Say what a name of the starting code stands for, if that is all that is asked."""
    names = [word for word in re.findall(r"[A-Za-z_]\w*", asked.question) if word not in asked.context.names]
    notes = (setup_note(asked.context, name) for name in names if len(asked.evidence.question) == 1)
    return next(filter(None, notes), "")


def _unknown(asked: QuestionContext) -> Reply:
    titles = list(dict.fromkeys(one.title for one in asked.context.passages))
    where = f" The section nearest to your words is “{titles[0]}”." if titles else ""
    no = f"I do not know: neither this lesson nor what I know of PyTorch has an answer to that.{where}"
    try_this = "Try it with the name of a variable, a check or an error in it, or ask your instructor."
    onwards = _onwards(asked, hints=False, lead=_ON_DOUBT if asked.diagnosis else "")
    return Reply((no, try_this, *onwards), asked.context.passages[:1])


def _elsewhere(asked: QuestionContext) -> Reply:
    return Reply(
        (
            "I can only help with this exercise and its lesson, so that one has to wait.",
            *_onwards(asked),
        )
    )


def _greeting(asked: QuestionContext) -> Reply:
    return Reply(("Hello! Good that you are here.", *_onwards(asked)))


def _thanks(asked: QuestionContext) -> Reply:
    if passed(asked.context):
        return Reply(("You are welcome, and well done: your last attempt passed.",))
    return Reply(("You are welcome. Carry on, and ask again whenever it helps: which step do you take next?",))


def _person(_: QuestionContext) -> Reply:
    return Reply((WHO_I_AM, "What would you like to look at?"))


def _count(_: QuestionContext) -> Reply:
    return Reply((COUNTER,))


def _sight(asked: QuestionContext) -> Reply:
    lines = len(asked.context.source.splitlines())
    mine = f"the code that you sent last ({lines} lines)" if lines else "your code, once you have pressed Run or Check"
    seen = f"I see the task, the lesson, {mine}, its report and the hints you have opened. {NOT_SEEN}"
    return Reply((seen, "What shall we look at in it?" if lines else "What do you have so far?"))


def _all_passed() -> Reply:
    return Reply((PASSED, "Before you do: could you say in one sentence why it works?"))


def _on_topic(asked: QuestionContext, topic: Topic, lead: str = "") -> Reply:
    said = f"{lead} {topic.card.says}".strip()
    sources = _sources(asked, topic.card.says)
    under = (f"The lesson has it under “{sources[0].title}”.",) if sources and not _is_task(sources[0]) else ()
    first = f"{said} {under[0]}" if under else said
    return Reply((first, _back(asked, topic)), sources)


def _diagnosed(asked: QuestionContext) -> Reply:
    """Say what is wrong with the last attempt."""
    if asked.diagnosis is None:
        return Reply(_onwards(asked))
    said = (*_first_things_first(asked), *_diagnosis(asked.diagnosis))
    return Reply(said, _sources(asked, asked.diagnosis.text))


def _with_topic(asked: QuestionContext, *said: str) -> Reply:
    topic = next((one for one in asked.evidence.topics if one.is_own), None)
    if topic is None:
        return Reply((" ".join(said), _back(asked, None)))
    sources = _sources(asked, topic.card.says)
    return Reply((" ".join(said), topic.card.says, _back(asked, topic)), sources)


def _back(asked: QuestionContext, topic: Topic | None) -> str:
    """Ask something back: of the topic, or of the student's own work."""
    if asked.diagnosis and asked.diagnosis.teacher.endswith("?") and asked.is_about_mine:
        return f"And in your code: {asked.diagnosis.teacher}"
    if topic and topic.card.then:
        return topic.card.then
    return "Where in your own code does that come in?"


def _diagnosis(diagnosis: Diagnosis) -> tuple[str, ...]:
    said = (diagnosis.said, diagnosis.teacher) if diagnosis.teacher else (diagnosis.said,)
    if any("?" in one for one in said):
        return said
    return (*said, "Which line of yours decides that, and what would you expect of it?")


def _onwards(asked: QuestionContext, *, hints: bool = True, lead: str = "") -> tuple[str, ...]:
    """Say what the next step is, and which hint is there."""
    if passed(asked.context):
        return _all_passed().paragraphs
    hint = (_hint_offer(asked.context),) if hints and asked.context.hints_left else ()
    if asked.diagnosis is not None:
        said = _diagnosis(asked.diagnosis)
        return (f"{lead}{said[0]}", *said[1:], *hint)
    if not asked.context.names:  # a question, answered in a line
        return (
            "Read the task once more: what is given, and what is asked for?",
            *hint,
            "What have you worked out so far?",
        )
    step = next_step(asked.context)
    begin = (
        f"The next step of the task is this: {step}" if step else "Read the task once more, and begin at its beginning."
    )
    return (begin, *hint, "What do you have for it so far, and what does Run show? It costs nothing.")


def _hint_offer(context: TutorContext) -> str:
    """Point to the next hint, without a word of it."""
    return f"Hint {len(context.hints) + 1} is still closed; opening it {_FREE}."


def _first_things_first(asked: QuestionContext) -> tuple[str, ...]:
    """Say that something else comes first, where the student asks for what could not be judged."""
    names = _own_names(asked)
    waiting = {one.id for one in checks(asked.context, CheckStatus.NOT_RUN)}
    if names and names[0] in waiting:
        return (
            f"`{names[0]}` could not be judged yet: {first_failing(asked.context) or 'something else'} comes first.",
        )
    return ()


def _named_check(asked: QuestionContext) -> CheckResult | None:
    words = asked.question.replace("`", " ").lower().split()
    bare = [word.strip("?!.,:;\"'“”()") for word in words]
    found = [one for one in checks(asked.context) if one.id in bare or one.id.replace("-", " ") in " ".join(bare)]
    names = _own_names(asked)
    by_title = [one for one in checks(asked.context) if names and f"`{names[0]}`" in one.title]
    return next(iter(found or by_title), None)


def _own_names(asked: QuestionContext) -> list[str]:
    return mentioned(asked.context, asked.question)


def _short(asked: QuestionContext) -> bool:
    return len(asked.evidence.question) <= 2  # noqa: PLR2004  "is this right": nothing that could be looked up


def _sources(asked: QuestionContext, text: str) -> tuple[Passage, ...]:
    return asked.evidence.sources(text)


def _is_task(passage: Passage) -> bool:
    return passage.address.endswith("#task-title")


_REPLIES: dict[Intent, Callable[[QuestionContext], Reply]] = {
    Intent.STUCK: _stuck,
    Intent.ANSWER: _answer,
    Intent.PERSON: _person,
    Intent.COUNT: _count,
    Intent.SIGHT: _sight,
    Intent.GREETING: _greeting,
    Intent.THANKS: _thanks,
    Intent.ELSEWHERE: _elsewhere,
    Intent.HINT: _hint,
    Intent.NEXT: _next,
    Intent.VERIFY: _verify,
    Intent.CHECK: _check,
    Intent.SHAPE: _shape,
    Intent.ERROR: _error,
    Intent.WRONG: _wrong,
    Intent.AGAIN: _again,
    Intent.FOREIGN: _foreign,
    Intent.IDEA: _idea,
}
