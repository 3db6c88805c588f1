"""What is said beside the matter: who the tutor is, what is left of the quota, moods, and that it does not know."""

import re

from app.clients.tutor.port import Allowance, AttemptOutcome
from app.services.tutor.offline.asked import QuestionContext, Reply
from app.services.tutor.offline.diagnosis import passed
from app.services.tutor.offline.onwards import onwards
from app.services.tutor.offline.sentences import (
    COUNTER,
    GOES_ON,
    HOW_TO_GET_MORE,
    NOT_SEEN,
    ONLY_THIS,
    WHO_I_AM,
)

_ON_DOUBT = "If you go by your last attempt: "
_MORE = re.compile(r"\b(pro|plan|plans|upgrade|pay|price|buy|cost|costs|more messages|subscri\w+)\b", re.IGNORECASE)


def unknown(asked: QuestionContext) -> Reply:
    """Say plainly that it is not known, where to look, and whom to ask. It costs no message."""
    section = asked.evidence.nearest_section()
    where = f" The section nearest to your words is “{section}”." if section else ""
    no = f"I do not know the answer to that. {ONLY_THIS}{where} This answer cost you no message."
    ask = (
        "Try it with the name of a variable, a check or an error in it. Your instructor can answer what I cannot, and "
        "so can a hosted tutor where an administrator has set one up."
    )
    mine = onwards(asked, hints=False, lead=_ON_DOUBT) if asked.diagnosis and asked.speaks_of_mine else ()
    sources = tuple(one for one in asked.context.passages if one.title == section)[:1]
    return Reply((no, ask, *mine), sources, AttemptOutcome.UNKNOWN)


def elsewhere(_: QuestionContext) -> Reply:
    """Lead back from another subject, kindly; it costs no message."""
    kind = f"That one is outside of what I can help with, sorry. {ONLY_THIS} This answer cost you no message."
    return Reply((kind, "Shall we go on with the task: which step are you at?"), outcome=AttemptOutcome.ELSEWHERE)


def greeting(asked: QuestionContext) -> Reply:
    """Greet, and say what is next."""
    return Reply(("Hello! Good that you are here.", *onwards(asked)))


def thanks(asked: QuestionContext) -> Reply:
    """Let them carry on."""
    if passed(asked.context):
        return Reply(("You are welcome, and well done: your last attempt passed.",))
    return Reply(("You are welcome. Carry on, and ask again whenever it helps: which step do you take next?",))


def mood(asked: QuestionContext) -> Reply:
    """Take a feeling seriously, and make the next step small."""
    said = (
        "That happens to everybody who learns this, and it says nothing about you: one step at a time is enough. "
        "A wrong attempt costs nothing here."
    )
    return Reply((said, *onwards(asked)))


def person(_: QuestionContext) -> Reply:
    """Say what the tutor is."""
    return Reply((WHO_I_AM, "What would you like to look at?"))


def count(asked: QuestionContext) -> Reply:
    """Say what is left, by the account's own numbers, and what goes on when nothing is."""
    allowance = asked.context.allowance
    said = [_left(allowance) if allowance else COUNTER, GOES_ON]
    if _MORE.search(asked.question):
        said.append(HOW_TO_GET_MORE)
    return Reply((" ".join(said), "What would you like to look at next?"))


def sight(asked: QuestionContext) -> Reply:
    """Say what the tutor sees."""
    lines = len(asked.context.source.splitlines())
    mine = f"the code that you sent last ({lines} lines)" if lines else "your code, once you have pressed Run or Check"
    seen = f"I see the task, the lesson, {mine}, its report and the hints you have opened. {NOT_SEEN}"
    return Reply((seen, "What shall we look at in it?" if lines else "What do you have so far?"))


def _left(allowance: Allowance) -> str:
    if allowance.amount is None:
        return f"Your plan, {allowance.plan}, has no limit on messages."
    back = (
        f" New ones come on {allowance.resets_at}." if allowance.resets_at else " They do not come back by themselves."
    )
    return (
        f"You have {allowance.left} of {allowance.amount} messages left {allowance.period} in your plan, "
        f"{allowance.plan}.{back} The counter beside the box you type in shows the same."
    )
