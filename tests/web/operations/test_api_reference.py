"""The page of the API says what each call takes, and takes it from the schemas."""

import re

from starlette.testclient import TestClient

from app.web.operations.api_reference import calls_of
from tests.web.conftest import BROWSER


def test_each_call_with_a_body_says_what_is_in_it(client: TestClient) -> None:
    """All members that a schema has are named, down to those of an object within."""
    calls = {(one.method, one.path): one for one in calls_of(client.get("/api/openapi.json").json())}
    named = {key: [one.name for one in call.parameters if one.where == "JSON body"] for key, call in calls.items()}
    assert named["POST", "/api/v1/exercises/{exercise_id}/submissions"] == ["source"]
    assert named["POST", "/api/v1/tokens"] == ["label", "scopes", "days"]
    assert named["DELETE", "/api/v1/me"] == ["password", "email"]
    assert named["PUT", "/api/v1/admin/plans/{name}"] == [
        "tutor_messages",
        "tutor_messages.amount",
        "tutor_messages.period",
        "tutor_messages.fair_use_per_day",
        "checks",
        "checks.amount",
        "checks.period",
        "reason",
    ]
    assert sum(bool(members) for members in named.values()) >= 17
    assert [key for key, members in named.items() if members == ["source"]] == [
        ("POST", "/api/v1/exercises/{exercise_id}/submissions"),
        ("POST", "/api/v1/exercises/{exercise_id}/runs"),
    ]


def test_each_call_says_what_it_answers_with(client: TestClient) -> None:
    """In a sentence, and with all members of a body, down to those of objects in a list within it."""
    calls = {(one.method, one.path): one for one in calls_of(client.get("/api/openapi.json").json())}
    answered = {key: {one.status: one for one in call.answers} for key, call in calls.items()}
    assert not [key for key, answers in answered.items() for one in answers.values() if "Successful" in one.description]
    report = answered["GET", "/api/v1/submissions/{submission_id}"]
    assert "Where a submission stands" in report["200"].description
    assert {"verdict", "checks", "checks[].status", "error.line"} <= {one.name for one in report["200"].members}
    assert report["404"].members == []
    assert [one.name for one in answered["GET", "/api/v1/tokens"]["200"].members][:1] == ["[].id"]
    assert answered["DELETE", "/api/v1/me"]["204"].description == "Done; there is nothing more to say."


def test_page_shows_what_the_schemas_say(client: TestClient) -> None:
    """What a member means, of which kind it is, and whether it may be left out."""
    page = re.sub(r"\s+", " ", client.get("/api/docs", headers=BROWSER).text)
    assert "At most 2000 characters." in page
    assert "A whole number, or null. null is unlimited." in page
    assert "One of “student”, “instructor”, “admin”." in page
