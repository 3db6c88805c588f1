"""Drafts over HTTP: saved, told, refused with what is stored; and a form that is sent twice makes one submission."""

from collections.abc import Callable

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from app.models import Account, Draft, Submission
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from app.web.limits.rate_limits import DRAFTS
from tests.web.conftest import BROWSER, EXERCISE, PAGE, Worker, make_report

DRAFTS_PATH = f"/api/v1/exercises/{EXERCISE}/drafts"
FORM = f"/exercises/{EXERCISE}/submissions"


def count(site: Site, model: type) -> int:
    """Return how many rows a table has."""
    with site.database.read() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_saved_draft_is_listed(client: TestClient, student: dict[str, str]) -> None:
    """Another device of the same account is told the text and its version."""
    saved = client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": "a = 'ü'"})
    assert (saved.status_code, saved.json()["version"], saved.json()["is_sent"]) == (200, 1, False)
    listed = client.get(DRAFTS_PATH, headers=student)
    assert [(one["id"], one["text"], one["version"]) for one in listed.json()] == [("tab", "a = 'ü'", 1)]
    assert listed.headers["cache-control"] == saved.headers["cache-control"] == "no-store"


def test_stale_draft_is_a_problem_document_with_the_stored_text(client: TestClient, student: dict[str, str]) -> None:
    """The page can keep both."""
    for version, text in enumerate(["a = 1", "theirs = 2"]):
        client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": text, "version": version})
    refused = client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": "mine = 3", "version": 1})
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.json()["text"], refused.json()["version"]) == ("theirs = 2", 2)
    assert client.delete(f"{DRAFTS_PATH}/tab?version=1", headers=student).status_code == 409
    assert client.delete(f"{DRAFTS_PATH}/tab?version=2", headers=student).status_code == 204
    assert client.get(DRAFTS_PATH, headers=student).json() == []


def test_too_long_a_draft_is_refused_with_a_sentence(client: TestClient, student: dict[str, str]) -> None:
    """One byte over 64 KiB."""
    refused = client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": "x" * (64 * 1024 + 1)})
    assert refused.status_code == 413
    assert "65536" in refused.json()["detail"]


def test_saving_again_and_again_is_bounded(client: TestClient, site: Site, student: dict[str, str]) -> None:
    """A program that has run wild is told when to come back, and writes nothing more."""
    with site.database.read() as session:
        owner = session.scalars(select(Account.id)).one()
    for _ in range(DRAFTS.amount):
        site.rates.take(DRAFTS, owner)
    refused = client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": "a = 1"})
    assert (refused.status_code, count(site, Draft)) == (429, 0)
    assert int(refused.headers["retry-after"]) > 0


def test_first_draft_of_nobody_makes_a_guest_who_owns_it(client: TestClient, site: Site) -> None:
    """The cookie comes with the answer, and the same browser goes on through the API."""
    saved = client.post(f"/exercises/{EXERCISE}/drafts", json={"id": "tab", "text": "a = 1"})
    assert (saved.status_code, saved.json()["version"]) == (200, 1)
    assert COOKIE in saved.cookies
    assert [one["text"] for one in client.get(DRAFTS_PATH).json()] == ["a = 1"]
    assert (count(site, Account), count(site, Draft)) == (1, 1)


def test_page_of_nobody_names_no_account(client: TestClient, site: Site) -> None:
    """So that its first draft goes where a guest is made; from then on it is the guest's own."""
    assert 'data-account="" data-drafts="guest"' in client.get(PAGE, headers=BROWSER).text
    client.post(f"/exercises/{EXERCISE}/drafts", json={"id": "tab", "text": "a = 1"})
    with site.database.read() as session:
        guest = session.scalars(select(Account.id)).one()
    assert f'data-account="{guest}" data-drafts="guest"' in client.get(PAGE, headers=BROWSER).text


def test_draft_from_another_site_is_refused(client: TestClient, site: Site) -> None:
    """No page of another site writes into somebody's editor."""
    forged = {"Sec-Fetch-Site": "cross-site"}
    sent = client.post(f"/exercises/{EXERCISE}/drafts", json={"id": "tab", "text": "a = 1"}, headers=forged)
    assert (sent.status_code, count(site, Draft), count(site, Account)) == (403, 0, 0)


def test_looking_at_an_exercise_makes_no_draft(client: TestClient, site: Site) -> None:
    """There is one when something was typed."""
    client.get(PAGE, headers=BROWSER)
    assert count(site, Draft) == 0


@pytest.mark.parametrize(("second", "submissions"), [("h = 1", 1), ("h = 2", 2)])
def test_form_with_the_same_key_is_one_submission_of_the_same_text(
    client: TestClient, site: Site, second: str, submissions: int
) -> None:
    """A double click, and a request that is repeated; another text from the same page is another submission."""
    sent = [{"source": source, "idempotency_key": "k"} for source in ("h = 1", second)]
    answers = [client.post(FORM, data=one, headers=BROWSER) for one in sent]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert len({answer.headers["location"] for answer in answers}) == count(site, Submission) == submissions


def test_form_that_is_sent_again_is_answered_with_the_verdict(client: TestClient, worker: Worker) -> None:
    """The first answer was lost, and the code is graded meanwhile: nobody waits for what has been."""
    form = {"source": "h = 1", "idempotency_key": "k"}
    client.post(FORM, data=form, headers=BROWSER | {"HX-Request": "true"})
    worker.grade(make_report())
    again = client.post(FORM, data=form, headers=BROWSER | {"HX-Request": "true"})
    assert 'data-check="pos" data-status="failed"' in again.text


def test_every_page_has_a_key_of_its_own(client: TestClient, questions: None) -> None:
    """Without a script the page's own key is sent, for code and for answers: a new page is a new submission."""
    for address in (PAGE, "/exercises/how-many-numbers"):
        keys = {key_of(client.get(address, headers=BROWSER).text) for _ in range(2)}
        assert len(keys) == 2


def key_of(page: str) -> str:
    """Return the key in the form of a page."""
    return page.split('name="idempotency_key" value="')[1].split('"', maxsplit=1)[0]


def test_draft_is_gone_once_its_text_is_checked(client: TestClient, token: Callable[..., dict[str, str]]) -> None:
    """By the API as by the form."""
    student = token()
    client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": "h = 1"})
    client.post(f"/api/v1/exercises/{EXERCISE}/submissions", headers=student, json={"source": "h = 1"})
    assert client.get(DRAFTS_PATH, headers=student).json() == []
    again = client.put(f"{DRAFTS_PATH}/tab", headers=student, json={"text": "h = 1", "version": 1})
    assert again.json()["is_sent"]
