"""The page of an exercise, with its lesson: code to be written, or a question to be answered."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Response

from app.models import Role, Submission
from app.services.exercises.catalogue import ExerciseView
from app.services.exercises.progress import Progress, next_exercise
from app.web.auth.dependencies import CurrentVisitor, Visitor
from app.web.exercises.answer_forms import answer_form
from app.web.exercises.context import HISTORY_LIMIT, PageContext
from app.web.hints.routes import hints_context
from app.web.http.markdown import highlight_code, render_markdown
from app.web.http.site import SiteOfRequest
from app.web.tutor.routes import tutor_context

router = APIRouter(include_in_schema=False)


@router.head("/exercises/{exercise_id}")
@router.get("/exercises/{exercise_id}")
def get_exercise(site: SiteOfRequest, visitor: CurrentVisitor, exercise_id: str) -> Response:
    """Show an exercise, with what the visitor sent last in the editor."""
    with site.database.read() as session:
        context = PageContext(session, visitor.account, exercise_id)
        shown = whole_page(context, visitor, sent=context.latest)
    page = site.pages.page(
        "exercises/exercise.html",
        **shown,
        attempt=None,
        shown_attempt=None,
        refresh_s=None,
        load_source=None,
        swap=False,
    )
    visitor.remember(page)
    return page


def whole_page(context: PageContext, visitor: Visitor, *, sent: Submission | None) -> dict[str, Any]:
    """
    Return all that the page of an exercise shows, but for the attempt that is looked at.

    Args:
        context: of the request.
        visitor: who looks.
        sent: what is to stand in the editor or the answer; None for what is there at first.

    Raises:
        NotFound: there is no such exercise.
    """
    return {
        **exercise_context(context, sent=sent),
        **around_context(context),
        **visitor_context(visitor),
        **tutor_context(context.session, context.account, context.exercise_id, context.usage),
    }


def exercise_context(context: PageContext, *, sent: Submission | None) -> dict[str, Any]:
    """Return what the page shows of an exercise and its lesson: never the solution or the right answer."""
    # Stored content leaves out what an author has left out.
    content, lesson = context.version.content, context.lesson
    setup = content.get("setup", "").rstrip("\n")
    starter = content.get("starter", "")
    source = sent.source if sent else None
    return {
        "exercise": {
            "id": context.exercise_id,
            "title": content["title"],
            "statement": render_markdown(content["statement"]),
            "setup": highlight_code(setup),
            "setup_lines": setup.count("\n") + 1,
            "starter": starter,
        },
        "answer": answer_form(content, given=source or "") if context.is_question else None,
        "source": starter if source is None else source,
        "sent": sent,
        "idempotency_key": uuid4().hex,
        "lesson": {
            "title": lesson.title if lesson else content["title"],
            "course": lesson.course_title if lesson else "",
            "html": render_markdown(lesson.markdown) if lesson else "",
        },
    }


def around_context(context: PageContext) -> dict[str, Any]:
    """
    Return what stands around an exercise and changes with each attempt: earlier ones, and where to go on.

    Raises:
        NotFound: there is no such exercise.
    """
    exercise_id, listed, progress = context.exercise_id, context.outline, context.progress
    return {
        "question": context.is_question,
        "history": context.attempts[:HISTORY_LIMIT],
        "history_more": len(context.attempts) > HISTORY_LIMIT,
        "listed": len(listed),
        "onward": next_exercise(listed, progress, after=exercise_id),
        "steps": [
            {"id": one.id, "title": one.title, "progress": progress.get(one.id, Progress.NEW)}
            for one in _same_lesson(listed, exercise_id)
        ],
        "here": exercise_id,
        "exercise_id": exercise_id,
        **hints_context(context.session, context.account, context.version, context.report),
    }


def visitor_context(visitor: Visitor) -> dict[str, Any]:
    """
    Return what the page keeps of the visitor: whose drafts they are. A guest's become those of an account.

    Who is nobody yet has no account that a draft could be saved for: without one the page sends the first by POST.
    """
    account = visitor.account
    return {
        "account_id": account.id if visitor.is_stored else "",
        "drafts_of": "guest" if account.role is Role.GUEST else account.id,
    }


def _same_lesson(listed: Sequence[ExerciseView], exercise_id: str) -> list[ExerciseView]:
    lesson_id = next((one.lesson_id for one in listed if one.id == exercise_id), None)
    return [one for one in listed if one.lesson_id == lesson_id]
