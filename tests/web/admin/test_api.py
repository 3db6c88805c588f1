"""The HTTP API of administrators does what it says, for administrators alone."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from app.services.accounts import access
from app.services.administration import users
from app.services.plans import quotas
from app.web.http.site import Site
from tests.web.conftest import BROWSER

PLANS = "/api/v1/admin/plans"
USERS = "/api/v1/admin/users"
AUDIT = "/api/v1/admin/audit"
Token = Callable[..., dict[str, str]]


@pytest.fixture
def admin(token: Token) -> dict[str, str]:
    """Return the header that names an administrator."""
    return token("root@example.org", "admin")


@pytest.fixture
def ada(site: Site) -> str:
    """Make a student, and return the id."""
    with site.database.write() as session:
        return access.add_user(session, email="ada@example.org", role="student").id


def administrative(client: TestClient) -> list[tuple[str, str]]:
    """Return method and address of every route below an administrators' address."""
    app: Any = client.app
    found = []
    for route in _routes(app.routes):
        if "/admin" in route.path:
            address = route.path.replace("{label:path}", "x").replace("{rule}", "checks")
            for name in ("user_id", "name", "what", "label"):
                address = address.replace(f"{{{name}}}", "x")
            found += [(method, address) for method in sorted(route.methods - {"HEAD"})]
    return found


def _routes(routes: list[Any]) -> list[Any]:
    """Return all routes, those inside an included router too."""
    found: list[Any] = []
    for route in routes:
        inside = getattr(route, "original_router", None)
        if isinstance(route, APIRoute):
            found.append(route)
        elif inside is not None:
            found += _routes(inside.routes)
    return found


@pytest.mark.parametrize("role", ["student", "instructor"])
def test_nobody_but_administrators_reaches_any_of_it(client: TestClient, token: Token, role: str) -> None:
    """Whatever is sent: every route that there is below /admin, so that a new one is covered too."""
    header = token(f"{role}@example.org", role)
    routes = administrative(client)
    assert len(routes) > 25
    for method, address in routes:
        body: dict[str, Any] = {"json": {}} if "/api/" in address else {"data": {"x": "y"}}
        sent = {} if method in {"GET", "DELETE"} else body
        assert client.request(method, address, headers=header, **sent).status_code == 403, (method, address)
        assert client.request(method, address, **sent).status_code == 401, (method, address)


def test_bodies_are_read_by_nobody_who_may_not_send_them(client: TestClient, student: dict[str, str]) -> None:
    """A good body is refused as well, with the same sentence for all."""
    good = {"tutor_messages": {"amount": 40, "period": "lifetime"}}
    assert client.put(f"{PLANS}/free", json=good, headers=student).status_code == 403
    assert client.put(f"{USERS}/student@example.org/plan", json={"plan": "pro"}, headers=student).status_code == 403
    assert client.put(f"{USERS}/student@example.org/role", json={"role": "admin"}, headers=student).status_code == 403
    batch = {"label": "mine", "count": 1, "plan": "pro"}
    assert client.post("/api/v1/admin/codes", json=batch, headers=student).status_code == 403


def test_plan_is_changed_and_the_log_says_so(client: TestClient, admin: dict[str, str]) -> None:
    """From 30 to 40, with before, after, who and why."""
    limit = {"amount": 40, "period": "lifetime"}
    answer = client.put(f"{PLANS}/free", json={"tutor_messages": limit, "reason": "Generous"}, headers=admin)
    assert answer.status_code == 200
    assert answer.json()["tutor_messages"]["words"] == "40 tutor messages, ever"
    (entry,) = client.get(AUDIT, headers=admin).json()["entries"]
    assert (entry["actor"], entry["action"], entry["reason"]) == ("root@example.org", "plan.limits", "Generous")
    assert entry["before"]["tutor_messages"]["amount"] == 30
    assert entry["after"]["tutor_messages"]["amount"] == 40


def test_limit_acts_on_the_next_request(client: TestClient, admin: dict[str, str], site: Site, ada: str) -> None:
    """Up, down and without limit."""

    def left() -> int | None:
        with site.database.read() as session:
            return quotas.quota_of(session, users.named(session, ada)).left

    for amount in (40, 0, None, 7):
        limit = {"amount": amount, "period": "lifetime"}
        client.put(f"{PLANS}/free", json={"tutor_messages": limit}, headers=admin)
        assert left() == amount


def test_all_plans_are_told(client: TestClient, admin: dict[str, str]) -> None:
    """What one gets can be sent back."""
    free, pro = client.get(PLANS, headers=admin).json()["plans"]
    assert (free["name"], pro["name"], pro["tutor_messages"]["amount"]) == ("free", "pro", None)
    assert pro["tutor_messages"]["fair_use_per_day"] == 500
    assert free["checks"] == {
        "amount": 600, "period": "minute", "fair_use_per_day": None, "words": "600 checks a minute",
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tutor_messages": None},
        {"tutor_messages": {"amount": True, "period": "lifetime"}},
        {"tutor_messages": {"amount": 1.5, "period": "lifetime"}},
        {"tutor_messages": {"amount": "40", "period": "lifetime"}},
        {"tutor_messages": {"amount": -1, "period": "lifetime"}},
        {"tutor_messages": {"amount": 10**7, "period": "lifetime"}},
        {"tutor_messages": {"amount": 40, "period": "minute"}},
        {"tutor_messages": {"amount": 40}},
        {"tutor_messages": {"period": "lifetime"}},
        {"tutor_messages": {"amount": 40, "period": "lifetime", "colour": "red"}},
        {"tutor_messages": {"amount": None, "period": "day", "fair_use_per_day": 0}},
        {"checks": {"amount": 0}},
        {"tutor_massages": {"amount": 40, "period": "lifetime"}},
        {"checks": {"amount": 5}, "reason": "x" * 501},
    ],
)
def test_limit_that_cannot_be_changes_nothing(client: TestClient, admin: dict[str, str], body: dict[str, Any]) -> None:
    """It is a problem document with a sentence, and nothing is recorded."""
    answer = client.put(f"{PLANS}/free", json=body, headers=admin)
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert client.get(AUDIT, headers=admin).json()["entries"] == []


def test_user_is_given_a_plan_by_id_or_address(client: TestClient, admin: dict[str, str], ada: str) -> None:
    """Until a moment with its zone, or without end."""
    body = {"plan": "pro", "ends_at": "2100-01-31T12:00:00+02:00", "reason": ""}
    told = client.put(f"{USERS}/{ada}/plan", json=body, headers=admin).json()
    assert (told["plan"], told["plan_ends_at"]) == ("pro", "2100-01-31T10:00:00+00:00")
    told = client.put(f"{USERS}/ADA@example.org/plan", json={"plan": "free", "ends_at": None}, headers=admin).json()
    assert (told["plan"], told["plan_ends_at"], [one["plan"] for one in told["history"]]) == (
        "free", None, ["free", "pro"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"plan": "gold"}, 404),
        ({"plan": "pro", "ends_at": "2100-01-31T12:00:00"}, 422),
        ({"plan": "pro", "ends_at": "2100-01-31"}, 422),
        ({"plan": "pro", "ends_at": 4102444800}, 422),
        ({"plan": "pro", "ends_at": "9999-12-31T23:59:59-12:00"}, 422),
        ({"plan": "pro", "ends_at": "2001-01-31T12:00:00Z"}, 422),
        ({"plan": "pro", "until": "2100-01-31T12:00:00Z"}, 422),
        ({}, 422),
    ],
)
def test_plan_that_cannot_be_given_is_refused(
    client: TestClient, admin: dict[str, str], ada: str, body: dict[str, Any], status: int
) -> None:
    """A moment without its zone would be a guess."""
    answer = client.put(f"{USERS}/{ada}/plan", json=body, headers=admin)
    assert answer.status_code == status
    assert answer.json()["detail"].endswith(".")


def test_user_has_a_limit_of_its_own_until_it_is_taken_back(
    client: TestClient, admin: dict[str, str], ada: str
) -> None:
    """Messages on top and a new beginning are seen at once too."""
    address = f"{USERS}/{ada}/limits/tutor_messages"
    told = client.put(address, json={"amount": 5, "period": "day"}, headers=admin).json()
    assert told["overrides"]["tutor_messages"]["words"] == "5 tutor messages a day"
    told = client.post(f"{USERS}/{ada}/extra", json={"amount": 3}, headers=admin)
    assert (told.status_code, told.json()["quotas"]["tutor_messages"]["left"]) == (201, 8)
    assert client.delete(address, headers=admin, params={"reason": "over"}).json()["overrides"] == {}
    assert client.post(f"{USERS}/{ada}/reset", json={}, headers=admin).json()["quotas"]["tutor_messages"]["left"] == 33
    wrong = client.put(f"{USERS}/{ada}/limits/checks", json={"amount": 5, "period": "day"}, headers=admin)
    assert wrong.status_code == 422
    assert client.put(f"{USERS}/{ada}/limits/sleep", json={}, headers=admin).status_code == 422


def test_users_are_found(client: TestClient, admin: dict[str, str], ada: str) -> None:
    """By a part of the address, in pages; and one by its id."""
    told = client.get(USERS, params={"q": "ADA"}, headers=admin).json()
    assert (told["total"], told["users"][0]["id"]) == (1, ada)
    assert client.get(USERS, params={"limit": 1, "offset": 1}, headers=admin).json()["total"] == 2
    assert client.get(f"{USERS}/{ada}", headers=admin).json()["submissions"] == 0
    for name in ("no-such", "%00", "x" * 5000):
        assert client.get(f"{USERS}/{name}", headers=admin).status_code == 404
    assert client.get(USERS, params={"q": "a\0da"}, headers=admin).json()["total"] == 1


def test_last_administrator_stays_one(client: TestClient, admin: dict[str, str], token: Token) -> None:
    """Nobody demotes or blocks themselves, and what one administrator did to another is a 409 no more."""
    for body, what in (({"role": "student"}, "role"), ({"blocked": True}, "blocked")):
        answer = client.put(f"{USERS}/root@example.org/{what}", json=body, headers=admin)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:kelolo:problem:own-account")
    token("second@example.org", "admin")
    told = client.put(f"{USERS}/second@example.org/blocked", json={"blocked": True}, headers=admin).json()
    assert told["blocked_at"]
    told = client.put(f"{USERS}/second@example.org/blocked", json={"blocked": False}, headers=admin).json()
    assert told["blocked_at"] is None
    assert client.put(f"{USERS}/second@example.org/blocked", json={"blocked": 1}, headers=admin).status_code == 422
    told = client.put(f"{USERS}/second@example.org/role", json={"role": "student"}, headers=admin).json()
    assert told["role"] == "student"


def test_codes_are_made_redeemed_and_revoked(
    client: TestClient, admin: dict[str, str], student: dict[str, str]
) -> None:
    """Each once; the answer that makes them is the only one that holds them."""
    batch = {"label": "Spring/1", "count": 3, "plan": "pro", "plan_days": 30}
    made = client.post("/api/v1/admin/codes", json=batch, headers=admin)
    assert made.status_code == 201
    codes = made.json()["codes"]
    told = client.post("/api/v1/codes/redeem", json={"code": codes[0].lower()}, headers=student)
    assert (told.status_code, told.json()["plan"]) == (200, "pro")
    again = client.post("/api/v1/codes/redeem", json={"code": codes[0]}, headers=student)
    assert (again.status_code, again.json()["type"]) == (422, "urn:kelolo:problem:code-refused")
    assert client.post("/api/v1/admin/codes/Spring/1/revoke", json={}, headers=admin).json() == {"revoked": 2}
    (told,) = client.get("/api/v1/admin/codes", headers=admin).json()["batches"]
    assert (told["redeemed"], told["expired"], told["unused"]) == (1, 2, 0)
    assert codes[1][4:] not in client.get("/api/v1/admin/codes", headers=admin).text
    assert client.post("/api/v1/admin/codes", json=batch, headers=admin).status_code == 422


def test_guest_is_told_to_sign_up_before_redeeming(client: TestClient, admin: dict[str, str]) -> None:
    """The code stays good."""
    client.get("/account/plan")
    answer = client.post("/api/v1/codes/redeem", json={"code": "KEL-0000-0000-0000-0000"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:kelolo:problem:sign-up-first")


def test_codes_cannot_be_tried_without_end(client: TestClient, student: dict[str, str], token: Token) -> None:
    """Ten tries, then the account waits; others do not."""
    wrong = {"code": "KEL-0000-0000-0000-0000"}
    tried = [client.post("/api/v1/codes/redeem", json=wrong, headers=student) for _ in range(11)]
    assert [one.status_code for one in tried] == [422] * 10 + [429]
    assert int(tried[-1].headers["Retry-After"]) > 0
    other = token("ada@example.org")
    assert client.post("/api/v1/codes/redeem", json=wrong, headers=other).status_code == 422


def test_log_is_read_in_pages_and_by_filters(client: TestClient, admin: dict[str, str], ada: str) -> None:
    """Each page says where the next one begins."""
    for plan in ("pro", "free", "pro"):
        client.put(f"{USERS}/{ada}/plan", json={"plan": plan}, headers=admin)
    first = client.get(AUDIT, params={"limit": 2}, headers=admin).json()
    second = client.get(AUDIT, params={"limit": 2, "after": first["next"]}, headers=admin).json()
    assert [one["after"]["plan"] for one in first["entries"] + second["entries"]] == ["pro", "free", "pro"]
    assert second["next"] is None
    assert client.get(AUDIT, params={"subject": "ada", "action": "user."}, headers=admin).json()["entries"]
    assert not client.get(AUDIT, params={"actor": "ada"}, headers=admin).json()["entries"]
    assert not client.get(AUDIT, params={"since": "2199-01-01T00:00:00Z"}, headers=admin).json()["entries"]
    for name, value, status in (("since", "2027-01-01", 422), ("after", "no-such", 404), ("limit", "0", 422)):
        assert client.get(AUDIT, params={name: value}, headers=admin).status_code == status


def test_ceilings_of_the_tutor_are_told_and_changed(client: TestClient, admin: dict[str, str]) -> None:
    """At first no hosted model may cost anything."""
    assert client.get("/api/v1/admin/tutor", headers=admin).json()["month_token_ceiling"] == 0
    body = {"month_token_ceiling": 1000, "failures_per_day": 5}
    assert client.put("/api/v1/admin/tutor", json=body, headers=admin).json()["failures_per_day"] == 5
    body["month_token_ceiling"] = 2**31
    assert client.put("/api/v1/admin/tutor", json=body, headers=admin).status_code == 422


def test_table_of_the_log_runs_nothing_in_a_spreadsheet(client: TestClient, admin: dict[str, str], site: Site) -> None:
    """What looks like a formula is text, wherever people could have written it."""
    with site.database.write() as session:
        found = access.add_user(session, email="=cmd|'/c'!a1@example.org", role="student").id
    for reason in ("=1+1", "@SUM(A1)", "+1", "-1", "  =1"):
        assert client.post(f"{USERS}/{found}/reset", json={"reason": reason}, headers=admin).status_code == 200
    answer = client.get("/admin/audit.csv", headers=admin | BROWSER)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["Content-Disposition"]
    cells = [cell.strip('"') for line in answer.text.splitlines()[1:] for cell in line.split(",")]
    assert "'=1+1" in cells
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))]
