"""
Who may do what: every route tried as everyone, and the table in docs/access.md, which must say the same.

The objects in the addresses are one student's own: for anyone else who may not read all, another's id in an address
must look as if there were nothing. There are no classes yet, so every instructor is one of another class.
"""

from typing import Any
from uuid import uuid4

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from app.models import Role
from app.services.accounts import access
from app.services.accounts.access import add_token, open_session
from app.services.accounts.sessions import list_browsers
from app.services.plans.codes import Offer, make_batch
from app.settings import ROOT
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from tests.web.conftest import EXERCISE, SUBMISSIONS, Worker, make_report

TABLE = ROOT / "docs" / "access.md"
ROLES = ("anonymous", "guest", "other student", "instructor", "admin", "student")
"""The owner comes last: what is deleted by being tried is deleted then."""
SECRET = ("{token}", "{secret}", "/metrics")
ENDS_SESSIONS = {"POST /sign-out", "DELETE /api/v1/me", "POST /account/delete"}
OWN = ("{submission_id}", "{message_id}", "{token_id}", "{browser_id}")

HEAD = f"""\
# Who may do what

This table is what `tests/web/auth/test_authorisation.py` finds when it tries every route as everyone; the test fails
where the two differ. An object in an address (a submission, a message, a token, a browser) is one student's own:
*student* is that student, and *other student* another. There are no classes yet, so an instructor is one of any class.
A dot means that the answer is 401, 403 or 404, or that the way leads to the sign-in page.

| route | {" | ".join(ROLES)} |
|---|{"---|" * len(ROLES)}
"""


@pytest.fixture
def people(site: Site) -> dict[str, dict[str, str]]:
    """Return, by role, the cookie that names somebody."""
    found: dict[str, dict[str, str]] = {"anonymous": {}}
    with site.database.write() as session:
        found["guest"] = {"Cookie": f"{COOKIE}={access.create_guest(session)[1]}"}
        for name in ROLES[2:]:
            role = Role.STUDENT if name.endswith("student") else Role(name)
            account = access.add_user(session, email=f"{name.replace(' ', '-')}@example.org", role=role.value)
            found[name] = {"Cookie": f"{COOKIE}={open_session(session, account)}"}
    return found


@pytest.fixture
def addressed(client: TestClient, site: Site, people: dict[str, dict[str, str]], worker: Worker) -> dict[str, str]:
    """Return what stands for the names in addresses: a student's own objects, and what everyone shares."""
    student = people["student"]
    submission = client.post(SUBMISSIONS, headers=student, json={"source": "tok = 1"}).json()["id"]
    worker.grade(make_report())
    asked = {"text": "why?", "client_message_id": uuid4().hex}
    message = client.post(f"/api/v1/exercises/{EXERCISE}/tutor", headers=student, json=asked).json()["id"]
    with site.database.write() as session:
        make_batch(session, Offer(label="spring", plan="pro", plan_days=None, expires_at=None), 1, by=None)
    return {
        "{exercise_id}": EXERCISE,
        "{submission_id}": submission,
        "{message_id}": message,
        "{identity_id}": "none",
        "{user_id}": "student@example.org",
        "{name}": "free",
        "{rule}": "tutor_messages",
        "{what}": "plan",
        "{label:path}": "spring",
    }


def passing(site: Site) -> dict[str, str]:
    """Return what stands for a token and a browser of the student's, new each time: trying may do away with them."""
    with site.database.write() as session:
        account = access.add_user(session, email="student@example.org", role="student")
        open_session(session, account)
        token, _ = add_token(session, account, label="mine")
        newest = list_browsers(session, account)[0]  # not the one that the cookie stands for
        return {"{token_id}": token.id, "{browser_id}": newest.id}


def routes_of(client: TestClient) -> list[str]:
    """Return method and path of every route, in order of paths. HEAD goes with GET."""
    app: Any = client.app
    found = {(route.path, method) for route in _flat(app.routes) for method in (route.methods or set()) - {"HEAD"}}
    return [f"{method} {path}" for path, method in sorted(found)]


def _flat(routes: list[Any]) -> list[APIRoute]:
    """Return all routes, those inside an included router too."""
    found: list[APIRoute] = []
    for route in routes:
        inside = getattr(route, "original_router", None)
        if isinstance(route, APIRoute):
            found.append(route)
        elif inside is not None:
            found += _flat(inside.routes)
    return found


def may(client: TestClient, route: str, addressed: dict[str, str], who: dict[str, str]) -> bool:
    """Try a route with hardly a body: whoever may not is told so before anybody reads it."""
    method, path = route.split()
    for name, value in addressed.items():
        path = path.replace(name, value)
    body: dict[str, Any] = {"json": {}} if "/api/" in path else {"data": {"rating": "1"}}
    client.cookies.clear()
    answer = client.request(method, path, headers=who, **({} if method in {"GET", "DELETE"} else body))
    leads_away = answer.is_redirect and answer.headers["location"].startswith("/sign-in")
    assert answer.status_code in {*range(500), 503}, (route, answer.text)  # a full queue is no fault
    return answer.status_code not in {401, 403, 404} and not leads_away


def test_table_of_who_may_is_as_it_is_found(
    client: TestClient, site: Site, addressed: dict[str, str], people: dict[str, dict[str, str]]
) -> None:
    """Every route × every role: what is found is what docs/access.md says, and a new route must be put there."""
    lines = []
    for route in routes_of(client):
        if any(name in route for name in SECRET):
            marks = ["by its secret"] * len(ROLES)
        elif route in ENDS_SESSIONS:
            marks = ["oneself"] * len(ROLES)
        else:
            there = addressed | passing(site)
            marks = ["yes" if may(client, route, there, people[role]) else "·" for role in ROLES]
        lines.append(f"| `{route}` | {' | '.join(marks)} |")
    found = HEAD + "\n".join(lines) + "\n"
    said = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
    missing = [line for line in found.splitlines() if line not in said.splitlines()]
    (ROOT / "test-results").mkdir(exist_ok=True)
    (ROOT / "test-results" / "access.md").write_text(found, encoding="utf-8")
    assert found == said, "test-results/access.md has what was found; different are:\n" + "\n".join(missing)


def rows() -> dict[str, dict[str, str]]:
    """Return the committed table by route and role."""
    table = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    split = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {route.strip("`"): dict(zip(ROLES, marks, strict=True)) for route, *marks in split}


def test_administration_is_for_administrators_alone() -> None:
    """No route below an administrators' address is open to anybody else."""
    found = {route: marks for route, marks in rows().items() if "/admin" in route and "first-admin" not in route}
    assert len(found) > 25
    for route, marks in found.items():
        assert [role for role, mark in marks.items() if mark == "yes"] == ["admin"], route


def test_object_of_another_is_not_reached_by_changing_an_id() -> None:
    """A student's own things are the student's alone; submissions are also read by those who teach."""
    found = {route: marks for route, marks in rows().items() if any(name in route for name in OWN)}
    assert len(found) > 7
    for route, marks in found.items():
        expected = {"student"} | ({"instructor", "admin"} if "{submission_id}" in route else set())
        assert {role for role, mark in marks.items() if mark == "yes"} == expected, route


def test_nobody_unknown_writes_through_the_api() -> None:
    """Without a cookie or a token no call of the API changes anything."""
    for route, marks in rows().items():
        if "/api/" in route and not route.startswith("GET"):
            assert marks["anonymous"] in {"·", "oneself"}, route
