"""A request reads each thing once: how many statements it sends does not depend on how many rows a list has."""

from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from pydantic import SecretStr
from starlette.testclient import TestClient

from app.clock import utc_now
from app.main import ROUTERS, create_app
from app.models import Account, AccountPlan, ApiToken, Grant, MessageState, Role, Rule, TutorMessage, UsageCounter
from app.services import hints
from app.services.accounts import access
from app.services.exercises import catalogue
from app.services.plans import codes
from app.services.plans.codes import Offer
from app.settings import Settings
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from tests.web.conftest import BROWSER, EXERCISE, PAGE, Worker, make_report
from tests.web.statements import counted_statements

EXERCISE_PAGE, POST, ADMIN_LIST, ANY = 12, 10, 8, 8
"""How many statements a request may send."""
TABLES = 20
"""An export reads each table once; and an attempt's page reads the attempt beside all of the exercise's page."""
BOUNDS = {
    "/exercises/{exercise_id}": EXERCISE_PAGE,
    "/submissions/{submission_id}": EXERCISE_PAGE + 4,
    "/submissions/{submission_id}/events": EXERCISE_PAGE + 4,
    "/exercises/{exercise_id}/tutor/sees": EXERCISE_PAGE + 2,  # the allowance too, which a question goes with
    "/admin": ADMIN_LIST,
    "/admin/users/{user_id}": ADMIN_LIST,
    "/api/v1/me/export": TABLES,
}
REFUSED = {"/first-admin/{secret}", "/reset/{token}", "/confirm/{token}", "/oidc/start", "/oidc/callback"}
"""Of these only a refusal is measured here: each needs a secret that is good once."""
PEOPLE = 50


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """Return a browser in front of a site that tells its metrics to those with a token."""
    told = settings.model_copy(update={"metrics_token": SecretStr("a-token-for-metrics"), "queue_limit": 50})
    with TestClient(create_app(told), follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def known(client: TestClient, site: Site, worker: Worker) -> dict[str, str]:
    """Fill the site with fifty people and all that one of them can have; return what stands in addresses."""
    with site.database.write() as session:
        root = access.add_user(session, email="root@example.org", role="admin")
        client.cookies.set(COOKIE, access.open_session(session, root))
        ada = access.add_user(session, email="ada@example.org", role="student")
        for number in range(PEOPLE):
            person = Account(email=f"{number}@example.org", role=Role.STUDENT)
            session.add(person)
            session.flush()
            session.add(AccountPlan(account_id=person.id, plan_name="pro", origin="admin"))
            session.add(UsageCounter(account_id=person.id, rule=Rule.TUTOR_MESSAGES, period_key="lifetime", used=1))
            session.add(Grant(account_id=person.id, rule=Rule.TUTOR_MESSAGES, amount=3))
            session.add(ApiToken(account_id=ada.id, token_hash=str(number), label="", scopes="read"))
        for number in range(20):
            codes.make_batch(session, Offer(f"batch {number}", "pro", 30, None), 2, by=root)
        version = catalogue.current_version(session, EXERCISE)
        hints.open_hint(session, account=root, exercise_id=EXERCISE)
        message = TutorMessage(
            account_id=root.id,
            exercise_version_id=version.id,
            client_message_id="one",
            question="Why?",
            answer="Because.",
            state=MessageState.SETTLED,
            charged=True,
            owner="elsewhere",
            lease_until=utc_now(),
        )
        session.add(message)
        session.flush()
        link = access.create_link(session, email="ada@example.org")
    location = ""
    for number in range(5):
        location = client.post(f"{PAGE}/submissions", data={"source": f"x = {number}"}, headers=BROWSER).headers[
            "location"
        ]
        worker.grade(make_report())
    return {
        "exercise_id": EXERCISE,
        "submission_id": location.rpartition("/")[2],
        "message_id": message.id,
        "user_id": ada.id,
        "token": link,
        "secret": "none",
    }


def addresses() -> list[str]:
    """Return the path of every route that answers to GET."""
    routes = [route for module in ROUTERS for route in module.router.routes if isinstance(route, APIRoute)]
    return sorted({route.path for route in routes if "GET" in (route.methods or ())})


def test_no_address_sends_more_statements_than_it_may(client: TestClient, site: Site, known: dict[str, str]) -> None:
    """Whoever adds a route is measured with it: lists of fifty rows, a page of an exercise, and all the others."""
    counted, spent = {}, {}
    for path in addresses():
        headers = {} if path.startswith("/api/") else BROWSER
        if path == "/metrics":
            headers = {"Authorization": "Bearer a-token-for-metrics"}
        with counted_statements(site.database) as sent:
            answer = client.get(path.format(**known), headers=headers)
        assert answer.status_code < 400 or path in REFUSED, f"{path}: {answer.status_code} {answer.text}"
        counted[path] = len(sent)
        if len(sent) > BOUNDS.get(path, ANY):
            spent[path] = sent
    assert len(counted) > 40
    assert {path: len(sent) for path, sent in spent.items()} == {}, spent


@pytest.mark.parametrize("by", ["a page", "a program"])
def test_submission_is_stored_in_few_statements(client: TestClient, site: Site, known: dict[str, str], by: str) -> None:
    """From the cookie to the answer that says its position in the queue."""
    with site.database.write() as session:
        student = access.add_user(session, email="eve@example.org", role="student")
        client.cookies.set(COOKIE, access.open_session(session, student))
    with counted_statements(site.database) as sent:
        if by == "a page":
            fields = {"source": "y = 1", "idempotency_key": "key"}
            answer = client.post(f"{PAGE}/submissions", data=fields, headers=BROWSER | {"HX-Request": "true"})
        else:
            answer = client.post(
                f"/api/v1{PAGE}/submissions", json={"source": "y = 1"}, headers={"Idempotency-Key": "key"}
            )
    assert answer.status_code in {200, 202}
    assert len(sent) <= POST, sent


def test_guest_sends_in_no_more_statements(client: TestClient, site: Site, known: dict[str, str]) -> None:
    """Once a visitor is a guest, what bounds guests is counted with the rest."""
    client.cookies.clear()
    client.post(f"{PAGE}/submissions", data={"source": "y = 1"}, headers=BROWSER)
    with counted_statements(site.database) as sent:
        answer = client.post(f"{PAGE}/submissions", data={"source": "y = 2", "idempotency_key": "k"}, headers=BROWSER)
    assert answer.status_code == 303
    assert len(sent) <= POST, sent
