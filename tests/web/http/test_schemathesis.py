"""The API as its own description says it is: made-up requests to every call, as everyone."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance
from starlette.testclient import TestClient

from app.services.accounts import access
from app.services.accounts.access import open_session
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from tests.web.conftest import EXERCISE, PAGE, Worker, make_error, make_report

EXAMPLES = 6
"""For each call and role; more find no more, and take their time."""
BODY_CHECKS = [content_type_conformance, response_schema_conformance]
"""A body is of the kind, and has the members, that its status is described with."""
ROLES = ("anonymous", "guest", "student", "instructor", "admin")


@pytest.fixture
def name(site: Site) -> Callable[[str], dict[str, str]]:
    """Return a function that gives the header which names somebody with a role."""

    def make(role: str) -> dict[str, str]:
        if role == "anonymous":
            return {}
        with site.database.write() as session:
            if role == "guest":
                return {"Cookie": f"{COOKIE}={access.create_guest(session)[1]}"}
            account = access.add_user(session, email=f"{role}@example.org", role=role)
            return {"Cookie": f"{COOKIE}={open_session(session, account)}"}

    return make


def described_statuses(operation: APIOperation[Any, Any, Any, Any]) -> list[str]:
    """Return the statuses that a call says it can answer with."""
    return sorted(operation.definition.raw["responses"])


def try_call(
    client: TestClient, operation: APIOperation[Any, Any, Any, Any], headers: dict[str, str], known: dict[str, str]
) -> Counter[int]:
    """Send made-up requests to one call, every other one about what is there; a full queue is no fault."""
    described, met = described_statuses(operation), Counter[int]()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: schemathesis.Case[Any]) -> None:
        if met.total() % 2 == 0:
            case.path_parameters |= {name: known[name] for name in case.path_parameters if name in known}
        sent = case.as_transport_kwargs(base_url="http://testserver")
        sent["headers"] = {name: value for name, value in sent["headers"].items() if value.isprintable()} | headers
        del sent["cookies"]
        if "data" in sent:
            sent["content"] = sent.pop("data")
        client.cookies.clear()
        answer = client.request(**sent)
        met[answer.status_code] += 1
        assert str(answer.status_code) in described, f"{operation.label}: {answer.status_code}, not of {described}"
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        case.validate_response(answer, checks=BODY_CHECKS)

    send()
    return met


def graded_submission(client: TestClient, worker: Worker, headers: dict[str, str]) -> dict[str, str]:
    """Send code as somebody, have it graded with a report that has everything in it, and return its id."""
    client.cookies.clear()
    sent = client.post(f"/api/v1{PAGE}/submissions", headers=headers, json={"source": "h = 1"})
    worker.grade(make_report(error=make_error().error))
    return {"submission_id": sent.json()["id"]}


@pytest.mark.parametrize("role", ROLES)
def test_no_call_fails_or_answers_as_it_does_not_say(
    client: TestClient, site: Site, worker: Worker, name: Callable[[str], dict[str, str]], role: str
) -> None:
    """Whatever is sent to whichever call: no fault of ours, and no status or body that its description leaves out."""
    schema = schemathesis.openapi.from_dict(client.get("/api/openapi.json").json())
    headers, met = name(role), dict[str, Counter[int]]()
    with site.database.write() as session:
        other = access.add_user(session, email="other@example.org", role="student").id
    known = {"exercise_id": EXERCISE, "user_id": other, "name": "pro", "rule": "tutor_messages"}
    known |= graded_submission(client, worker, headers) if headers else {}
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) > 30
    # whoever deletes their account is nobody from then on
    for operation in sorted(operations, key=lambda one: one.label == "DELETE /api/v1/me"):
        met[operation.label] = try_call(client, operation, headers, known)
    assert sum(one[200] for one in met.values()) > 0
    assert sum(one[401 if role == "anonymous" else 422] for one in met.values()) > 0
    # a whole report is among the bodies that were compared with their description
    assert (met["GET /api/v1/submissions/{submission_id}"][200] > 0) == (role != "anonymous")
