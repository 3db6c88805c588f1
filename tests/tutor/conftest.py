"""A database with the courses that come with Kelolo, for what the tutor finds in them."""

from collections.abc import Iterator

import pytest

from app.db import Database
from benchmarks.tutor import imported


@pytest.fixture(scope="session")
def courses() -> Iterator[Database]:
    """Give a database with the courses in it."""
    with imported() as database:
        yield database
