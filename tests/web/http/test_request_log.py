"""Each request has a name, one line in the log, and nothing of a student in it."""

import json
from collections.abc import Iterator

import pytest
import structlog
from starlette.testclient import TestClient

from app import logs
from app.models import Submission
from app.web.http import request_log
from app.web.http.site import Site
from tests.web.conftest import EXERCISE, PAGE, SUBMISSIONS, Worker, make_report

NAME = "0f3c9a7e-from-the-proxy"
SOURCE = "my_secret_variable = 'nobody reads this in a log'"


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator["Lines"]:
    """Have the log written as machines read it, and give what was written."""
    logs.configure("json")
    yield Lines(capsys)
    structlog.reset_defaults()


class Lines:
    """What was logged."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Nothing was read yet."""
        self._capsys = capsys
        self.text = ""

    def new(self) -> list[dict[str, object]]:
        """Return the lines since the last look."""
        said = self._capsys.readouterr().err
        self.text += said
        return [json.loads(line) for line in said.splitlines()]


def test_request_is_told_in_one_line(client: TestClient, lines: Lines) -> None:
    """With the template of its route, so that no address is in the log."""
    client.get(PAGE)
    (line,) = [one for one in lines.new() if one["event"] == "request"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/exercises/{exercise_id}", 200)
    assert isinstance(line["ms"], float)
    assert EXERCISE not in lines.text


@pytest.mark.parametrize("given", [NAME, "", "short", "x" * 65, "with space in it", "a\x7fbcdefgh", "<script>alert"])
def test_name_is_taken_from_a_proxy_if_it_is_sane(client: TestClient, given: str) -> None:
    """Anything else could break a line, or a reader of it."""
    named = client.get("/healthz", headers={"X-Request-ID": given} if given else {}).headers["X-Request-ID"]
    assert (named == given) == (given == NAME)
    assert 8 <= len(named) <= 64


def test_fault_is_logged_and_answered_with_the_same_name(
    client: TestClient, lines: Lines, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who tells us that name leads us to the traceback."""
    monkeypatch.setattr(site.pages, "text", lambda *_, **__: 1 / 0)
    answer = client.get(PAGE, headers={"X-Request-ID": NAME})
    assert answer.status_code == 500
    assert answer.headers["X-Request-ID"] == NAME
    told = lines.new()
    assert {one["event"] for one in told if one.get("request") == NAME} >= {"request_failed", "request"}
    assert [one["status"] for one in told if one["event"] == "request"][-1] == 500


def test_what_programs_ask_all_the_time_is_not_logged(client: TestClient, lines: Lines) -> None:
    """Or nothing else could be found in there."""
    for address in ("/healthz", "/readyz", "/static/icon.svg"):
        client.get(address)
    assert lines.new() == []
    assert "/metrics" in request_log._QUIET  # noqa: SLF001


def test_submission_carries_the_name_of_its_request(
    client: TestClient, student: dict[str, str], lines: Lines, site: Site, worker: Worker
) -> None:
    """So a worker on another machine logs it too."""
    sent = client.post(SUBMISSIONS, json={"source": SOURCE}, headers=student | {"X-Request-ID": NAME})
    (stored,) = [one for one in lines.new() if one["event"] == "submission stored"]
    assert (stored["request"], stored["submission"]) == (NAME, sent.json()["id"])
    with site.database.read() as session:
        assert session.get_one(Submission, sent.json()["id"]).request_id == NAME
    _, order = worker.begin()
    assert order.request_id == NAME


def test_whole_story_leaves_no_code_question_or_token_in_the_log(
    client: TestClient, student: dict[str, str], lines: Lines, worker: Worker
) -> None:
    """Submitting, waiting, looking, asking, and what goes wrong on the way."""
    question = "why is the seventh moon of my tensor purple?"
    sent = client.post(SUBMISSIONS, json={"source": SOURCE}, headers=student)
    worker.grade(make_report(output="a printed confession"))
    client.get(f"/api/v1/submissions/{sent.json()['id']}?wait=1", headers=student)
    client.post(SUBMISSIONS, json={"source": SOURCE + "\0"}, headers=student)
    client.post(SUBMISSIONS, json={"sauce": SOURCE}, headers=student)
    client.post(
        f"/api/v1/exercises/{EXERCISE}/tutor",
        json={"text": question, "client_message_id": "one"},
        headers=student,
    )
    client.get("/sign-in/kel_link_secret")
    lines.new()
    assert lines.text.count('"event": "request"') >= 5
    bearer = student["Authorization"].removeprefix("Bearer ")
    for secret in (SOURCE, "my_secret_variable", question, "purple", bearer, "confession", "kel_link_secret"):
        assert secret not in lines.text
