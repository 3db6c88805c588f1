"""Submissions: sending code or an answer, waiting for the verdict, and reading it."""
