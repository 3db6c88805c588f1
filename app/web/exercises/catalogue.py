"""The first page: every course with its lessons and exercises, and how far the visitor has come."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from app.services.exercises import catalogue
from app.services.exercises.catalogue import LessonView
from app.services.exercises.progress import Progress, next_exercise, progress_of
from app.web.auth.dependencies import OptionalAccount
from app.web.http.site import SiteOfRequest

router = APIRouter(include_in_schema=False)


@router.head("/")
@router.get("/")
def get_contents(site: SiteOfRequest, account: OptionalAccount) -> Response:
    """Show what there is to learn, and where to go on; while there is one exercise only, go straight to it."""
    with site.database.read() as session:
        lessons = catalogue.list_lessons(session)
        progress = progress_of(session, account) if account else {}
    listed = [exercise for lesson in lessons for exercise in lesson.exercises]
    if len(listed) == 1:
        return RedirectResponse(f"/exercises/{listed[0].id}", status_code=303)
    onward = next_exercise(listed, progress)
    return site.pages.page(
        "courses/contents.html",
        courses=_courses(lessons, progress),
        onward=onward,
        begun=any(exercise.id in progress for exercise in listed),
    )


def _courses(lessons: Sequence[LessonView], progress: Mapping[str, Progress]) -> list[dict[str, Any]]:
    """Return the courses as the page shows them; a lesson without exercises has nothing to open."""
    shown = [lesson for lesson in lessons if lesson.exercises]
    return [_course(list(group), progress) for _, group in groupby(shown, key=lambda lesson: lesson.course_id)]


def _course(lessons: Sequence[LessonView], progress: Mapping[str, Progress]) -> dict[str, Any]:
    states = [progress.get(one.id, Progress.NEW) for lesson in lessons for one in lesson.exercises]
    return {
        "title": lessons[0].course_title,
        "summary": lessons[0].course_summary,
        "done": states.count(Progress.DONE),
        "total": len(states),
        "lessons": [
            {
                "title": lesson.title,
                "exercises": [
                    {"id": one.id, "title": one.title, "kind": one.kind, "progress": progress.get(one.id, Progress.NEW)}
                    for one in lesson.exercises
                ],
            }
            for lesson in lessons
        ],
    }
