"""Reading what authors write: exercises and courses as YAML and Markdown."""

from app.authoring.course import Course, Lesson
from app.authoring.exercise import Exercise
from app.authoring.faults import ExerciseFaults, Fault
from app.authoring.files import CourseFiles
from app.authoring.loading import load_code_exercise, load_course, load_exercise, stored_exercise
from app.authoring.question import Question

__all__ = [
    "Course",
    "CourseFiles",
    "Exercise",
    "ExerciseFaults",
    "Fault",
    "Lesson",
    "Question",
    "load_code_exercise",
    "load_course",
    "load_exercise",
    "stored_exercise",
]
