"""Reading what authors write: exercises and courses as YAML and Markdown."""

from app.authoring.course import CourseContent, LessonContent
from app.authoring.exercise import CodeExercise
from app.authoring.faults import ExerciseFaults, FileFault
from app.authoring.files import CourseFiles
from app.authoring.loading import load_code_exercise, load_course, load_exercise, stored_exercise
from app.authoring.question import Question

__all__ = [
    "CodeExercise",
    "CourseContent",
    "CourseFiles",
    "ExerciseFaults",
    "FileFault",
    "LessonContent",
    "Question",
    "load_code_exercise",
    "load_course",
    "load_exercise",
    "stored_exercise",
]
