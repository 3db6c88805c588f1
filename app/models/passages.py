"""The sections of lessons and tasks, to be searched."""

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class PassageRow(Base):
    """
    A section of a lesson, or an exercise's task. Written anew when a course is imported and the text has changed.

    What the search needs besides stands in the migration: SQLite has the table `passage_search` beside this one,
    PostgreSQL the column `words` in it. Both keep in step by themselves.
    """

    __tablename__ = "passage"

    id: Mapped[int] = mapped_column(primary_key=True)
    """A number, because SQLite's search knows rows by number."""
    lesson_id: Mapped[str] = mapped_column(ForeignKey("lesson.id"), index=True)
    exercise_id: Mapped[str | None] = mapped_column(ForeignKey("exercise.id"))
    """None for a section of the lesson's own text, which is on the page of each of its exercises."""
    position: Mapped[int]
    title: Mapped[str]
    anchor: Mapped[str]
    """The `id` of the heading on the page; empty at the beginning of a text that has none there."""
    text: Mapped[str]
    """Markdown."""
