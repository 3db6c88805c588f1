"""Messages to the tutor, reserved as its routes do."""

import itertools
from collections.abc import Callable

import pytest

from app.db import Database
from app.models import Account, ExerciseVersion
from app.services.process_identity import this_process
from app.services.tutor import ledger
from app.services.tutor.ledger import MessageRequest, Reservation


@pytest.fixture
def reserve(database: Database, account: Account, version: ExerciseVersion) -> Callable[..., Reservation]:
    """Return a function that reserves a message, each under an id of its own unless told otherwise."""
    numbers = itertools.count(1)

    def make(
        name: str = "", question: str = "why?", owner: str = "", who: Account = account, of: ExerciseVersion = version
    ) -> Reservation:
        wish = MessageRequest(of.id, name or f"message-{next(numbers)}", question)
        with database.write() as session:
            return ledger.reserve(session, who, wish, owner=owner or this_process())

    return make
