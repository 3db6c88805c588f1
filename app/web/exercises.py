"""The pages of exercises: the contents, and each exercise with its lesson."""

from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from sqlalchemy.orm import Session

from app.models import Account
from app.services import exercises, submissions
from app.web.prose import highlight_code, render_markdown
from app.web.site import SiteOfRequest
from app.web.visitors import CurrentVisitor, Visitor

router = APIRouter(include_in_schema=False)

HISTORY_LIMIT = 50

# The same texts are shown again and again, and only a few of them exist.
_markdown = lru_cache(maxsize=512)(render_markdown)
_code = lru_cache(maxsize=128)(highlight_code)


@router.get("/")
def get_contents(site: SiteOfRequest) -> Response:
    """Show what there is to learn; while there is one exercise only, go straight to it."""
    with site.database.read() as session:
        lessons = exercises.list_lessons(session)
    found = [
        {"id": exercise.id, "title": exercise.title, "lesson": lesson.title}
        for lesson in lessons
        for exercise in lesson.exercises
    ]
    if len(found) == 1:
        return RedirectResponse(f"/exercises/{found[0]['id']}", status_code=303)
    title = lessons[0].course_title if lessons else "Contents"
    return site.pages.page("exercises/contents.html", title=title, exercises=found)


@router.get("/exercises/{exercise_id}")
def get_exercise(site: SiteOfRequest, visitor: CurrentVisitor, exercise_id: str) -> Response:
    """Show an exercise, with what the visitor sent last in the editor."""
    with site.database.read() as session:
        exercise = exercise_context(session, exercise_id)
        sent = submissions.latest_source(session, account=visitor.account, exercise_id=exercise_id)
        history = history_context(session, visitor.account, exercise_id)
    page = site.pages.page(
        "exercises/exercise.html",
        **exercise,
        **history,
        **visitor_context(visitor),
        source=exercise["exercise"]["starter"] if sent is None else sent,
        attempt=None,
        shown_attempt=None,
        refresh_s=None,
        load_source=None,
        swap=False,
    )
    visitor.remember(page)
    return page


def exercise_context(session: Session, exercise_id: str) -> dict[str, Any]:
    """
    Return what the page shows of an exercise and its lesson: never the solution.

    Raises:
        NotFound: there is no such exercise.
    """
    content = exercises.current_version(session, exercise_id).content
    lesson = exercises.lesson_of(session, exercise_id)
    setup = content["setup"].rstrip("\n")
    return {
        "exercise": {
            "id": exercise_id,
            "title": content["title"],
            "statement": _markdown(content["statement"]),
            "setup": _code(setup),
            "setup_lines": setup.count("\n") + 1,
            "starter": content["starter"],
            "hints": [_markdown(hint) for hint in content["hints"]],
        },
        "lesson": {
            "title": lesson.title if lesson else content["title"],
            "course": lesson.course_title if lesson else "",
            "html": _markdown(lesson.markdown) if lesson else "",
        },
    }


def history_context(session: Session, account: Account, exercise_id: str) -> dict[str, Any]:
    """Return the list of the visitor's earlier attempts."""
    past = submissions.history(session, account=account, exercise_id=exercise_id, limit=HISTORY_LIMIT + 1)
    return {"history": past[:HISTORY_LIMIT], "history_more": len(past) > HISTORY_LIMIT}


def visitor_context(visitor: Visitor) -> dict[str, Any]:
    """Return what the page shows of the visitor."""
    return {"who": visitor.called, "account_id": visitor.account.id}
