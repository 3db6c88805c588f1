"""Texts as code: the author's compiled ahead, the student's read but never run."""
