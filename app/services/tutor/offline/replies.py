"""
What is answered to each kind of question.

The building blocks are the diagnosis, what the author and the lesson say, and what is known of PyTorch; the reference
is none of them, because it is not there. A reply ends with a question wherever the student's own work is to go on.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from app.clients.tutor.port import Passage, TutorContext
from app.services.tutor.offline import quantities, shape_answers, small_talk, tongue
from app.services.tutor.offline.asked import QuestionContext, Reply
from app.services.tutor.offline.diagnosis import (
    checks,
    diagnose,
    error,
    first_failing,
    in_code,
    mentioned,
    passed,
    quotes_error,
    setup_note,
)
from app.services.tutor.offline.evidence import Evidence, Topic
from app.services.tutor.offline.intents import Intent
from app.services.tutor.offline.onwards import all_passed, diagnosis_of, hint_offer, onwards
from app.services.tutor.offline.sentences import COSTS_NOTHING
from graders.report import CheckResult, CheckStatus, Verdict

_WHY = re.compile(r"\b(why|how come|shouldn'?t|do i have to|must i|do i need)\b", re.IGNORECASE)
_DEMAND = re.compile(r"\b(me|please|pls|plz|solution|answer|code|line|fix)\b", re.IGNORECASE)
_CARRIES_ON = re.compile(r"^\W*(and|so|but|then|also|what if|what about|how about|even if|or)\b", re.IGNORECASE)
_FEW_WORDS = 4  # of a question that only makes sense after the one before


def reply(kind: Intent, context: TutorContext, question: str) -> Reply:
    """Answer a question of that kind."""
    asked = QuestionContext(context, question, Evidence(context, question), diagnose(context))
    if kind is Intent.ANSWER and quotes_error(context, question) and not _DEMAND.search(question):
        kind = Intent.ERROR  # the message is quoted, and nothing is demanded
    if kind in _MAY_BE_WORKED_OUT and (answer := quantities.worked_out(context, question)):
        return Reply((answer, "Does it fit what you expected, and could you say why?"))
    if kind in _MAY_BE_FOREIGN and (language := tongue.tongue_of(question)) and not quotes_error(context, question):
        if said := tongue.answer_in(language, question):
            return Reply(said)
        return _foreign(asked)
    if kind in _MAY_FOLLOW and _follows(asked):
        return _follow_up(asked)
    return _REPLIES[kind](asked)


def _follows(asked: QuestionContext) -> bool:
    """Does it only make sense after the question before?"""
    few = len(asked.evidence.question) <= _FEW_WORDS
    return bool(asked.context.earlier) and few and _CARRIES_ON.search(asked.question) is not None


def _follow_up(asked: QuestionContext) -> Reply:
    """Answer with the words of the question before as well: "and if it is larger?"."""
    before = asked.context.earlier[-1].question
    joined = f"{asked.question} {before}"
    if answer := quantities.worked_out(asked.context, joined):
        return Reply((answer, "Does it fit what you expected, and could you say why?"))
    again = replace(asked, question=joined, evidence=Evidence(asked.context, joined))
    alone = asked.topic
    if alone and alone.sure:
        return _on_topic(asked, alone)
    return _on_topic(again, again.topic) if again.topic else _idea(asked)


def _answer(asked: QuestionContext) -> Reply:
    no = "I won't write it for you: the line that you find yourself is the one you keep."
    return Reply((no, *onwards(asked)))


def _stuck(asked: QuestionContext) -> Reply:
    return Reply(("Let us look together.", *onwards(asked)))


def _foreign(asked: QuestionContext) -> Reply:
    if asked.topic:
        return _idea(asked)
    if asked.diagnosis:
        return _diagnosed(asked)
    return small_talk.unknown(asked)


def _hint(asked: QuestionContext) -> Reply:
    if asked.context.hints_left:
        said = hint_offer(asked.context)
    elif asked.context.hints:
        said = "All hints are open already; it pays to read the last one once more, slowly."
    else:
        said = "This exercise has no hints, so let us go by what there is."
    return Reply((said, *onwards(asked, hints=False)))


def _next(asked: QuestionContext) -> Reply:
    if passed(asked.context):
        return all_passed()
    return Reply(onwards(asked))


def _verify(asked: QuestionContext) -> Reply:
    if typed := quantities.literal_sizes(asked.context, asked.question):
        return Reply((typed, "Which name of the starting code says what you mean?"))
    if asked.diagnosis is None or not (asked.is_about_mine or _short(asked)):
        topic = asked.topic
        if topic and not _short(asked):
            return _idea(asked)
    if shape_answers.names_a_shape(asked.question) and (
        seen := shape_answers.shape_answer(asked.context, asked.question)
    ):
        return _of_shape(asked, seen)
    if passed(asked.context):
        return all_passed()
    free = f"Press Check to be sure: it {COSTS_NOTHING}, and it looks at more than I can."
    if asked.diagnosis is None:
        return Reply((free, *onwards(asked)))
    return Reply(("Your last attempt was not right yet.", *diagnosis_of(asked.diagnosis), free))


def _check(asked: QuestionContext) -> Reply:
    found = _named_check(asked)
    if found is None:
        return _idea(asked)
    wants = f"That check wants what its title says: {in_code(found.title)}."
    if found.status is CheckStatus.PASSED:
        return _with_topic(asked, wants, "On your last attempt it holds already.")
    if found.status is CheckStatus.NOT_RUN:
        blocked = f"On your last attempt it could not be judged: {in_code(found.message)}"
        return Reply((wants, blocked, *(diagnosis_of(asked.diagnosis) if asked.diagnosis else ())))
    return Reply((wants, *(diagnosis_of(asked.diagnosis) if asked.diagnosis else ())))


def _shape(asked: QuestionContext) -> Reply:
    topic = asked.topic
    if topic and topic.sure and _WHY.search(asked.question):
        return _idea(asked)
    seen = shape_answers.shape_answer(asked.context, asked.question)
    if seen is None:
        return _wrong(asked) if asked.is_about_mine else _idea(asked)
    return _of_shape(asked, seen)


def _of_shape(asked: QuestionContext, seen: shape_answers.ShapeAnswer) -> Reply:
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
        return all_passed() if passed(asked.context) else Reply(onwards(asked))
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
        return Reply(("Let me try it from your work instead.", *onwards(again)))
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
    return _diagnosed(asked) if asked.is_about_mine or asked.speaks_of_mine else small_talk.unknown(asked)


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


def _on_topic(asked: QuestionContext, topic: Topic, lead: str = "") -> Reply:
    said = f"{lead} {topic.card.says}".strip()
    sources = _sources(asked, topic.card.says)
    under = (f"The lesson has it under “{sources[0].title}”.",) if sources and not _is_task(sources[0]) else ()
    first = f"{said} {under[0]}" if under else said
    return Reply((first, _back(asked, topic)), sources)


def _diagnosed(asked: QuestionContext) -> Reply:
    """Say what is wrong with the last attempt."""
    if asked.diagnosis is None:
        return Reply(onwards(asked))
    said = (*_first_things_first(asked), *diagnosis_of(asked.diagnosis))
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
    Intent.PERSON: small_talk.person,
    Intent.COUNT: small_talk.count,
    Intent.SIGHT: small_talk.sight,
    Intent.GREETING: small_talk.greeting,
    Intent.THANKS: small_talk.thanks,
    Intent.ELSEWHERE: small_talk.elsewhere,
    Intent.MOOD: small_talk.mood,
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
_MAY_BE_WORKED_OUT = {
    Intent.SHAPE,
    Intent.IDEA,
    Intent.WRONG,
    Intent.VERIFY,
    Intent.CHECK,
    Intent.FOREIGN,
    Intent.AGAIN,
}
_MAY_BE_FOREIGN = {Intent.SHAPE, Intent.IDEA, Intent.ERROR, Intent.VERIFY, Intent.FOREIGN}
_MAY_FOLLOW = {Intent.IDEA, Intent.SHAPE, Intent.WRONG}
