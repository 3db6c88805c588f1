"""The HTTP API of submissions: what is sent is stored once, and its verdict can be had in three ways."""

import json
import threading
import time
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from app.clients.wakeups.local_sockets import LocalWakeups
from app.web.http.site import Site
from tests.web.conftest import EXERCISE, SUBMISSIONS, Worker, make_report

Headers = dict[str, str]


def test_submission_is_accepted_and_says_where_its_verdict_will_be(client: TestClient, student: Headers) -> None:
    """A POST answers at once, with 202, the id, and its address in `Location`."""
    answer = client.post(SUBMISSIONS, json={"source": "h = 1"}, headers=student)
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    assert answer.headers["Location"] == f"/api/v1/submissions/{answer.json()['id']}"


def test_waiting_submission_tells_its_place(client: TestClient, student: Headers) -> None:
    """Whoever waits is told how many are graded before."""
    client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    second = client.post(SUBMISSIONS, json={"source": "2"}, headers=student)
    answer = client.get(second.headers["Location"], headers=student).json()
    assert (answer["state"], answer["place"]) == ("queued", 2)


def test_running_submission_says_so(client: TestClient, student: Headers, worker: Worker) -> None:
    """A claimed job is running."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    worker.begin()
    assert client.get(sent.headers["Location"], headers=student).json()["state"] == "running"


def test_graded_submission_is_the_report(client: TestClient, student: Headers, worker: Worker) -> None:
    """Once graded, the answer is the report, with what the submission itself was."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    worker.grade(make_report())
    answer = client.get(sent.headers["Location"], headers=student).json()
    assert answer["state"] == "graded"
    assert answer["verdict"] == "failed"
    assert answer["exercise"] == EXERCISE
    assert [check["status"] for check in answer["checks"]] == ["passed", "failed", "not_run"]
    assert answer["id"] == sent.json()["id"]


def test_waiting_ends_with_the_verdict(client: TestClient, student: Headers, worker: Worker, site: Site) -> None:
    """`?wait=` answers when the bell rings, long before its seconds are over."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    claim = worker.begin()

    def finish() -> None:
        worker.record(claim, make_report())
        LocalWakeups(site.settings.data_dir).notify_webs(sent.json()["id"], "graded")

    threading.Timer(0.2, finish).start()
    began = time.monotonic()
    answer = client.get(f"{sent.headers['Location']}?wait=30", headers=student)
    assert answer.json()["state"] == "graded"
    assert time.monotonic() - began < 10


def test_waiting_ends_when_its_time_is_over(client: TestClient, student: Headers) -> None:
    """`?wait=` answers with how things stand, which is no error."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    answer = client.get(f"{sent.headers['Location']}?wait=0.05", headers=student)
    assert (answer.status_code, answer.json()["state"]) == (200, "queued")


@pytest.mark.parametrize("wait", ["-1", "soon", "nan", "inf"])
def test_wait_that_is_no_time_is_refused(client: TestClient, student: Headers, wait: str) -> None:
    """A wait that is negative or no number is the caller's mistake, and is named."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    answer = client.get(f"{sent.headers['Location']}?wait={wait}", headers=student)
    assert answer.status_code == 422
    assert "wait" in answer.json()["detail"]


def test_events_tell_each_state_and_end_with_the_verdict(client: TestClient, student: Headers, worker: Worker) -> None:
    """The stream has an event `state` for each change, with the same JSON, and ends after the verdict."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    timer = threading.Timer(0.2, lambda: worker.grade(make_report()))
    timer.start()
    answer = client.get(f"{sent.headers['Location']}/events", headers=student)
    timer.join()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    assert {lines[0] for lines in events} == {"event: state"}
    states = [json.loads(lines[1].removeprefix("data: ")) for lines in events]
    assert states[0]["state"] == "queued"
    assert (states[-1]["state"], states[-1]["verdict"]) == ("graded", "failed")


def test_run_is_executed_and_not_judged(client: TestClient, student: Headers, worker: Worker) -> None:
    """`runs` is the same road for code that only wants to be run."""
    sent = client.post(SUBMISSIONS.replace("submissions", "runs"), json={"source": "1"}, headers=student)
    assert sent.status_code == 202
    worker.grade(make_report(checks=(), misconception=None))
    answer = client.get(sent.headers["Location"], headers=student).json()
    assert (answer["kind"], answer["checks"]) == ("run", [])


def test_same_key_makes_one_submission(client: TestClient, student: Headers) -> None:
    """Sending twice with one Idempotency-Key gives the same id, and one job."""
    headers = student | {"Idempotency-Key": "6f2c"}
    first, second = (client.post(SUBMISSIONS, json={"source": "1"}, headers=headers) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    assert client.get(first.headers["Location"], headers=student).json()["place"] == 1


def test_same_key_for_other_code_is_a_clash(client: TestClient, student: Headers) -> None:
    """A key that comes back with other code is a mistake of the client, and nothing is stored."""
    headers = student | {"Idempotency-Key": "6f2c"}
    client.post(SUBMISSIONS, json={"source": "1"}, headers=headers)
    answer = client.post(SUBMISSIONS, json={"source": "2"}, headers=headers)
    assert answer.status_code == 409
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_full_queue_says_when_to_come_back(client: TestClient, student: Headers) -> None:
    """A full queue refuses before it stores, with 503 and Retry-After."""
    answers = [client.post(SUBMISSIONS, json={"source": str(n)}, headers=student) for n in range(6)]
    assert [answer.status_code for answer in answers] == [202] * 5 + [503]
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_stranger_cannot_see_a_submission(client: TestClient, student: Headers, token: Callable[..., Headers]) -> None:
    """Another's submission looks exactly like one that does not exist, in every way of asking."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    stranger = token("stranger@example.org")
    for tail in ("", "?wait=1", "/events"):
        answer = client.get(sent.headers["Location"] + tail, headers=stranger)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_instructor_can_see_a_submission(client: TestClient, student: Headers, token: Callable[..., Headers]) -> None:
    """Whoever teaches may read what students sent."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    teacher = token("teacher@example.org", "instructor")
    assert client.get(sent.headers["Location"], headers=teacher).status_code == 200


def test_call_without_account_is_asked_to_sign_in(client: TestClient) -> None:
    """Neither cookie nor token: 401, saying what to send."""
    answer = client.post(SUBMISSIONS, json={"source": "1"})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answer.json()["detail"]


def test_unknown_token_is_not_replaced_by_a_cookie(client: TestClient) -> None:
    """A token that is wrong is an error, even where the browser has a good cookie."""
    client.get(f"/exercises/{EXERCISE}")
    assert client.get("/api/v1/me").json()["role"] == "guest"
    assert client.get("/api/v1/me", headers={"Authorization": "Bearer kel_wrong"}).status_code == 401


def test_me_names_the_account(client: TestClient, student: Headers) -> None:
    """`/me` says whose token this is."""
    answer = client.get("/api/v1/me", headers=student).json()
    assert (answer["email"], answer["role"]) == ("student@example.org", "student")


def test_half_a_surrogate_in_the_output_is_no_fault_of_ours(
    client: TestClient, student: Headers, worker: Worker
) -> None:
    """What a program printed can be anything, and still be answered as JSON."""
    sent = client.post(SUBMISSIONS, json={"source": "1"}, headers=student)
    worker.grade(make_report(output="\ud800 and \x00"))
    answer = client.get(sent.headers["Location"], headers=student)
    assert answer.json()["output"] == "\ud800 and \x00"
