"""Whatever is sent, the answer is a clear 4xx problem document, and the site goes on."""

import sqlite3
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from app.db import database
from app.main import create_app
from app.settings import Settings
from tests.web.conftest import PAGE, SUBMISSIONS

JSON = {"Content-Type": "application/json"}
BAD_BODIES = {
    "nothing": (b"", JSON, 422),
    "not JSON": (b"source=1", JSON, 400),
    "half a JSON": (b'{"source": "h = ', JSON, 400),
    "not UTF-8": (b'{"source": "\xff\xfe"}', JSON, 400),
    "deeply nested": (b"[" * 100_000, JSON, 400),
    "a list": (b'["h = 1"]', JSON, 422),
    "text alone": (b'"h = 1"', JSON, 422),
    "null": (b"null", JSON, 422),
    "no source": (b"{}", JSON, 422),
    "source null": (b'{"source": null}', JSON, 422),
    "source a number": (b'{"source": 1}', JSON, 422),
    "source a list": (b'{"source": ["h"]}', JSON, 422),
    "a huge number": (b'{"source": ' + b"9" * 10_000 + b"}", JSON, 400),
    "NUL": (b'{"source": "h = 1\\u0000"}', JSON, 422),
    "half a surrogate pair": (b'{"source": "h = \\"\\ud800\\""}', JSON, 422),
    "66 KB of source": (b'{"source": "' + b"#" * 66_000 + b'"}', JSON, 413),
    "1 MB of source": (b'{"source": "' + b"#" * 1_000_000 + b'"}', JSON, 413),
    "raw bytes": (b"h = 1", {"Content-Type": "application/octet-stream"}, 422),
    "a form": (b"source=h", {"Content-Type": "application/x-www-form-urlencoded"}, 422),
    "no type": (b'{"source": "h"}', {"Content-Type": ""}, 422),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_bad_body_is_a_problem_document(client: TestClient, student: dict[str, str], name: str) -> None:
    """Each kind of bad body gets its status and a sentence, and the next good one is taken."""
    body, headers, status = BAD_BODIES[name]
    answer = client.post(SUBMISSIONS, content=body, headers=student | headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"].endswith((".", "!", "?"))
    assert client.post(SUBMISSIONS, json={"source": "h = 1"}, headers=student).status_code == 202


def test_empty_source_is_taken(client: TestClient, student: dict[str, str]) -> None:
    """Nothing at all is an answer too: it is graded."""
    assert client.post(SUBMISSIONS, json={"source": ""}, headers=student).status_code == 202


def test_body_that_does_not_say_its_length_is_cut_off(client: TestClient, student: dict[str, str]) -> None:
    """A stream of chunks is counted as it comes."""
    chunks = (b"#" * 65_536 for _ in range(64))
    answer = client.post(SUBMISSIONS, content=chunks, headers=student | JSON)
    assert answer.status_code == 413
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("key", ["", "a" * 256, "tab\there", "é"])
def test_key_that_cannot_be_kept_is_refused(client: TestClient, student: dict[str, str], key: str) -> None:
    """An Idempotency-Key is printable and short."""
    headers = [*student.items(), ("Idempotency-Key", key.encode("latin-1"))]
    answer = client.post(SUBMISSIONS, json={"source": "1"}, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 422
    assert "Idempotency-Key" in answer.json()["detail"]


@pytest.mark.parametrize(
    "address",
    [
        "/api/v1/exercises/no-such/submissions",
        "/api/v1/exercises/%00/submissions",
        "/api/v1/exercises/%ff%fe/runs",
        "/api/v1/exercises/..%2f..%2fetc/runs",
    ],
)
def test_unknown_exercise_is_not_found(client: TestClient, student: dict[str, str], address: str) -> None:
    """An exercise that does not exist is a 404, whatever its name."""
    answer = client.post(address, json={"source": "1"}, headers=student)
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["no-such", "%00", "%ff", "a" * 5000, "'; drop table submission; --"])
def test_unknown_submission_is_not_found(client: TestClient, student: dict[str, str], name: str) -> None:
    """So is a submission."""
    for tail in ("", "?wait=1", "/events"):
        answer = client.get(f"/api/v1/submissions/{name}{tail}", headers=student)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_wrong_method_is_a_problem_document(client: TestClient, student: dict[str, str]) -> None:
    """A method that an address does not take is answered like every other mistake."""
    answer = client.delete(SUBMISSIONS, headers=student)
    assert answer.status_code == 405
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Allow"] == "POST"


def test_fault_of_ours_is_a_calm_sentence(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of ours is a 500 that says nothing of the inside, and has the safe headers."""

    def fail(*_: object, **__: object) -> None:
        error = "secret detail"
        raise RuntimeError(error)

    monkeypatch.setattr("app.services.exercises.catalogue.list_lessons", fail)
    answer = client.get("/")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_database_that_is_locked_for_long_is_told_as_busy(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process holds the database: nothing is stored, and the answer says when to come back."""
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    with (
        TestClient(create_app(settings)) as client,
        closing(sqlite3.connect(settings.data_dir / "kelolo.db", isolation_level=None)) as holder,
    ):
        client.get(PAGE)
        holder.execute("BEGIN EXCLUSIVE")
        refused = client.post(SUBMISSIONS, json={"source": "1"})
        holder.execute("ROLLBACK")
        taken = client.post(SUBMISSIONS, json={"source": "1"})
    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == "5"
    assert taken.status_code == 202


@pytest.mark.parametrize(
    "address", ["/exercises/%00", "/api/v1/exercises/%00/hints", "/tutor/%00/events", "/submissions/a%00b"]
)
def test_nul_in_an_address_is_nowhere(client: TestClient, student: dict[str, str], address: str) -> None:
    """No name has one, and a database may refuse even to look for it."""
    assert client.get(address, headers=student).status_code == 404
