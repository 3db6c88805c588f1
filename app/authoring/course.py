"""A course: lessons in order, each with its text and its exercises."""

from typing import Annotated

from pydantic import Field

from app.authoring.exercise import CodeExercise
from app.authoring.parts import Line, Part, Slug, Text
from app.authoring.question import Question


class LessonEntry(Part):
    """A lesson as `course.yaml` names it."""

    id: Slug = Field(description="Permanent; also the name of the lesson's folder.")
    title: Line = Field(description="As it stands above the lesson.")
    exercises: list[Slug] = Field(default=[], max_length=60, description="Folders of its exercises, in order.")


class CourseFile(Part):
    """What stands in `course.yaml`."""

    id: Slug = Field(description="Permanent.")
    title: Line = Field(description="The course's name.")
    summary: Text = Field(description="One or two sentences for those who choose.")
    lessons: Annotated[list[LessonEntry], Field(min_length=1, max_length=100)]


class LessonContent(Part):
    """A lesson, read."""

    id: str
    title: str
    markdown: str
    exercises: list[CodeExercise | Question]


class CourseContent(Part):
    """A course, read."""

    id: str
    title: str
    summary: str
    lessons: list[LessonContent]
