"""What comes next: what the last attempt says, the next step of the task, and which hint is there."""

from app.clients.tutor.port import TutorContext
from app.services.tutor.offline.asked import QuestionContext, Reply
from app.services.tutor.offline.diagnosis import Diagnosis, next_step, passed
from app.services.tutor.offline.sentences import COSTS_NOTHING, PASSED


def all_passed() -> Reply:
    """Say that the exercise is done."""
    return Reply((PASSED, "Before you do: could you say in one sentence why it works?"))


def diagnosis_of(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Say what is wrong, and ask something back."""
    said = (diagnosis.said, diagnosis.teacher) if diagnosis.teacher else (diagnosis.said,)
    if any("?" in one for one in said):
        return said
    return (*said, "Which line of yours decides that, and what would you expect of it?")


def onwards(asked: QuestionContext, *, hints: bool = True, lead: str = "") -> tuple[str, ...]:
    """Say what the next step is, and which hint is there."""
    if passed(asked.context):
        return all_passed().paragraphs
    hint = (hint_offer(asked.context),) if hints and asked.context.hints_left else ()
    if asked.diagnosis is not None:
        said = diagnosis_of(asked.diagnosis)
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


def hint_offer(context: TutorContext) -> str:
    """Point to the next hint, without a word of it."""
    return f"Hint {len(context.hints) + 1} is still closed; opening it {COSTS_NOTHING}."
