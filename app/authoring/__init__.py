"""Reading what authors write: exercises and courses as YAML and Markdown."""

from app.authoring.course import Course, Lesson
from app.authoring.exercise import Exercise
from app.authoring.faults import ExerciseFaults, Fault
from app.authoring.loading import load_course, load_exercise

__all__ = ["Course", "Exercise", "ExerciseFaults", "Fault", "Lesson", "load_course", "load_exercise"]
