"""Hints by the API and from the page."""

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.models import HintOpening
from app.web.http.site import Site
from tests.web.conftest import BROWSER, EXERCISE, PAGE

HINTS = f"/api/v1/exercises/{EXERCISE}/hints"


def test_hints_open_one_after_the_other(client: TestClient, student: dict[str, str]) -> None:
    """Each call opens the next one and says how many are left; the list has those that are open."""
    assert client.get(HINTS, headers=student).json() == {"hints": [], "left": 3}
    opened = [client.post(f"{HINTS}/next", headers=student).json() for _ in range(4)]
    assert [(one["rung"], one["left"]) for one in opened] == [(1, 2), (2, 1), (3, 0), (3, 0)]
    assert client.get(HINTS, headers=student).json()["hints"][2]["text"] == opened[2]["text"]


def test_hint_that_is_named_may_be_sent_twice(client: TestClient, student: dict[str, str]) -> None:
    """A program that lost the answer sends the same number again, and opens nothing more."""
    first = client.post(f"{HINTS}/next", headers=student, json={"rung": 2})
    assert client.post(f"{HINTS}/next", headers=student, json={"rung": 2}).json() == first.json()
    assert [one["rung"] for one in client.get(HINTS, headers=student).json()["hints"]] == [2]


@pytest.mark.parametrize(("rung", "status"), [(4, 404), (0, 422), (-1, 422), ("x", 422), (10**30, 422)])
def test_hint_that_is_not_there_is_refused(
    client: TestClient, student: dict[str, str], rung: object, status: int
) -> None:
    """A number too many, or none at all, is a sentence, not a fault."""
    assert client.post(f"{HINTS}/next", headers=student, json={"rung": rung}).status_code == status


def test_hints_cost_no_messages(client: TestClient, student: dict[str, str]) -> None:
    """However many are opened, the tutor's quota stays."""
    for _ in range(3):
        client.post(f"{HINTS}/next", headers=student)
    assert client.get("/api/v1/me", headers=student).json()["quotas"]["tutor_messages"]["used"] == 0


def test_page_shows_only_what_was_opened(client: TestClient) -> None:
    """A hint that is closed is not on the page, not even hidden; without JavaScript the button opens it."""
    page = client.get(PAGE, headers=BROWSER).text
    assert "A table does not know" not in page
    assert "Open hint 1 of 3" in page
    sent = client.post(f"{PAGE}/hints", headers=BROWSER, data={"rung": "1"})
    assert (sent.status_code, sent.headers["location"]) == (303, f"{PAGE}#hint-1")
    page = client.get(PAGE, headers=BROWSER).text
    assert "A table does not know" in page
    assert "Open hint 2 of 3" in page


def test_page_records_what_it_offered(client: TestClient, site: Site) -> None:
    """Whether a hint was asked for or offered after a verdict is kept."""
    client.get(PAGE, headers=BROWSER)
    part = client.post(f"{PAGE}/hints", headers={"HX-Request": "true"}, data={"rung": "1", "offered": "true"})
    assert "A table does not know" in part.text
    assert "Open hint 2 of 3" in part.text
    with site.database.read() as session:
        assert session.scalars(select(HintOpening.offered)).all() == [True]


def test_use_of_hints_is_for_those_who_teach(client: TestClient, token: object, student: dict[str, str]) -> None:
    """Instructors see how often each hint was opened; students do not."""
    client.post(f"{HINTS}/next", headers=student)
    assert client.get(f"{PAGE}/hints/use", headers=student | BROWSER).status_code == 403
    teacher = token("teacher@example.org", "instructor")  # type: ignore[operator]
    page = client.get(f"{PAGE}/hints/use", headers=teacher | BROWSER).text
    assert "Which hint helped?" in page
    assert "<dt>Opened by</dt><dd>1</dd>" in page
