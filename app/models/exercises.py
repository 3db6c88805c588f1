"""What is taught: courses of lessons, their exercises, and every version of each."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.clock import utc_now
from app.db import Base, new_id


class ExerciseKind(StrEnum):
    """Code is run and judged; a question is answered in a line."""

    CODE = "code"
    QUESTION = "question"


class Course(Base):
    """A sequence of lessons."""

    __tablename__ = "course"

    id: Mapped[str] = mapped_column(primary_key=True)
    """A permanent slug, from course.yaml; the same holds for lessons and exercises."""
    title: Mapped[str]
    summary: Mapped[str]
    position: Mapped[int]


class Lesson(Base):
    """One text, with the exercises that belong to it."""

    __tablename__ = "lesson"

    id: Mapped[str] = mapped_column(primary_key=True)
    course_id: Mapped[str | None] = mapped_column(ForeignKey("course.id"), index=True)
    """None once the course no longer has it."""
    title: Mapped[str]
    markdown: Mapped[str]
    position: Mapped[int]


class Exercise(Base):
    """An exercise as such: its name, its place, and which version is the one to do now."""

    __tablename__ = "exercise"

    id: Mapped[str] = mapped_column(primary_key=True)
    lesson_id: Mapped[str | None] = mapped_column(ForeignKey("lesson.id"), index=True)
    """None once no lesson has it; what was submitted stays readable."""
    position: Mapped[int]
    current_version_id: Mapped[str | None] = mapped_column(ForeignKey("exercise_version.id", use_alter=True))

    current_version: Mapped["ExerciseVersion | None"] = relationship(
        foreign_keys=current_version_id, lazy="raise", post_update=True
    )


class ExerciseVersion(Base):
    """
    What an exercise said and judged from one day to another. Its content never changes.

    `content` is the whole exercise with its solution: take from it what a page needs, never
    hand it on as it is.
    """

    __tablename__ = "exercise_version"
    __table_args__ = (
        UniqueConstraint("exercise_id", "number"),
        UniqueConstraint("exercise_id", "fingerprint"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    exercise_id: Mapped[str] = mapped_column(ForeignKey("exercise.id"))
    number: Mapped[int]
    """1, 2, 3 … within the exercise."""
    fingerprint: Mapped[str]
    """SHA-256 of the content, in hexadecimal digits."""
    content: Mapped[dict[str, Any]]
    task: Mapped[dict[str, Any]]
    """What the grader needs, derived from the content: a worker must not have to read YAML."""
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
