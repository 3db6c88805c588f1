"""The tutor without a network: rules, the report, the lesson and a little knowledge of PyTorch."""

from collections.abc import AsyncGenerator

from app.clients.tutor.port import AttemptOutcome, Piece, TutorContext
from app.services.tutor.offline.asked import Reply
from app.services.tutor.offline.intents import intent_of
from app.services.tutor.offline.replies import reply


class RetrievalEngine:
    """
    Answers from what it is given, the same to the same question.

    What it cannot find there it does not say: it has no words of its own for what neither the report nor the author
    nor the lesson has said. So it cannot give a solution away that none of them holds.
    """

    name = "retrieval"

    async def answer(self, context: TutorContext) -> AsyncGenerator[Piece]:
        """Answer paragraph by paragraph; the last piece names the section that was used."""
        whole = answer_to(context)
        for index, paragraph in enumerate(whole.paragraphs):
            last = index == len(whole.paragraphs) - 1
            yield Piece(
                paragraph if last else f"{paragraph}\n\n",
                whole.sources if last else (),
                outcome=whole.outcome if last else AttemptOutcome.ANSWERED,
            )

    def most_tokens(self, context: TutorContext) -> int:  # noqa: ARG002  as the port has it
        """Return 0: nothing is spent."""
        return 0


def answer_to(context: TutorContext) -> Reply:
    """Return the whole answer."""
    return reply(intent_of(context.question), context, context.question)
