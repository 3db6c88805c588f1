"""What those who watch the site are told, by whom it was counted, and who may ask."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app import metrics as counting
from app.db import Database
from app.main import create_app
from app.models import Rule
from app.services import metrics
from app.services.accounts.access import add_user, create_token
from app.services.tutor.ledger import FAILURES
from app.settings import Settings
from app.web.http.site import Site
from app.web.tutor.answer_tasks import _WORDS as ANSWER_WORDS
from tests.web.conftest import EXERCISE, SUBMISSIONS, Worker, make_report

TOKEN = "a-token-of-prometheus"  # noqa: S105
LOCAL = ("127.0.0.1", 50000)


def samples(client: TestClient, **headers: str) -> dict[str, float]:
    """Return the samples at /metrics."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.fixture
def local(settings: Settings) -> Any:  # noqa: ANN401
    """Return a client on the same machine."""
    with TestClient(create_app(settings), client=LOCAL) as client:
        yield client


@pytest.fixture
def local_site(local: TestClient) -> Site:
    """Return the inside of the site that the client on the same machine sees."""
    app: Any = local.app
    found: Site = app.state.site
    return found


def test_queue_and_verdicts_are_counted_in_the_database(
    local: TestClient, client: TestClient, student: dict[str, str], worker: Worker
) -> None:
    """Whichever server is asked, and whoever graded."""
    for number in range(3):
        client.post(SUBMISSIONS, json={"source": f"{number}"}, headers=student)
    worker.grade(make_report())
    now = samples(local)
    assert now["kelolo_queue_waiting"] == 2
    assert now["kelolo_queue_oldest_seconds"] > 0
    assert now['kelolo_verdicts_total{verdict="failed"}'] == 1


def test_requests_are_counted_by_the_template_of_their_route(local: TestClient) -> None:
    """However many addresses are asked for, there are as many samples as routes."""
    before = samples(local)
    for address in ("/exercises/one", "/exercises/two", f"/exercises/{EXERCISE}", "/nowhere/1", "/nowhere/2"):
        local.get(address)
    after = samples(local)
    grown = {name: after[name] - before.get(name, 0) for name in after if "http_requests_total" in name}
    assert grown['kelolo_http_requests_total{method="GET",route="/exercises/{exercise_id}",status="404"}'] == 2
    assert grown['kelolo_http_requests_total{method="GET",route="none",status="404"}'] == 2
    assert not [name for name in after if "nowhere" in name or EXERCISE in name]


def test_figures_of_all_processes_are_added_up(local: TestClient, local_site: Site) -> None:
    """A worker adds what it has counted to the same row, and what it added stays when it is gone."""
    key = counting.sample_key("kelolo_grading_phase_seconds_count", {"phase": "run"})
    before = samples(local).get('kelolo_grading_phase_seconds_count{phase="run"}', 0)
    for _ in range(2):
        with local_site.database.write() as session:
            metrics.add(session, {key: 5.0})
    counting.graded(queued=1.0, run=20.0, judge=10.0)
    assert samples(local)['kelolo_grading_phase_seconds_count{phase="run"}'] == before + 11


def test_counts_are_written_once_even_if_the_database_was_away() -> None:
    """What could not be written is written next time, and what was is not written again."""
    unwritten = counting.Unwritten()
    with unwritten.taken():
        pass
    counting.grader_failed()
    with pytest.raises(OSError, match="away"), unwritten.taken() as lost:
        raise OSError("away")
    with unwritten.taken() as changes:
        assert changes == lost == {counting.sample_key("kelolo_grader_faults_total", {}): 1.0}
    with unwritten.taken() as changes:
        assert changes == {}


def test_refusals_are_counted_by_rule(local: TestClient, local_site: Site, student: dict[str, str]) -> None:
    """An operator sees whom a limit hits, and which."""
    with local_site.database.write() as session:
        session.execute(text("UPDATE plan_limit SET amount = 0 WHERE rule = 'checks'"))
    before = samples(local)
    assert local.post(SUBMISSIONS, json={"source": "x"}, headers=student).status_code == 429
    after = samples(local)
    (denied,) = [name for name in after if "quota_denials_total" in name and after[name] > before.get(name, 0)]
    assert 'rule="checks' in denied


def test_counters_that_are_watched_begin_at_zero(local: TestClient, local_site: Site) -> None:
    """Else the first fault would not be seen to be one more than none."""
    with local_site.database.write() as session:
        session.execute(text("DELETE FROM figure"))
    now = samples(local)
    outcomes = {"settled", "fault", *ANSWER_WORDS}
    rules = {*(rule.value for rule in Rule), FAILURES}
    for name in (
        "kelolo_grader_faults_total",
        "kelolo_warm_process_restarts_total",
        *(f'kelolo_tutor_answers_total{{outcome="{outcome}"}}' for outcome in outcomes),
        *(f'kelolo_quota_denials_total{{rule="{rule}"}}' for rule in rules),
        *(f'kelolo_verdicts_total{{verdict="{verdict}"}}' for verdict in ("passed", "failed", "grader_fault")),
    ):
        assert now[name] >= 0, name


def test_adding_at_once_loses_nothing(database: Database) -> None:
    """Two processes add to the same rows."""
    keys = [counting.sample_key("x", {"n": str(number)}) for number in range(3)]
    for order in (keys, keys[::-1]):
        with database.write() as session:
            metrics.add(session, dict.fromkeys(order, 1.0))
    with database.read() as session:
        assert metrics.totals(session) == dict.fromkeys(keys, 2.0)


@pytest.mark.parametrize(
    ("settings_", "headers", "from_", "status"),
    [
        ({}, {}, LOCAL, 200),
        ({}, {}, ("192.0.2.7", 1), 404),
        ({}, {"X-Forwarded-For": "192.0.2.7"}, LOCAL, 404),
        ({"public_url": "https://learn.example.org"}, {}, LOCAL, 404),
        ({"metrics_token": TOKEN}, {}, LOCAL, 404),
        ({"metrics_token": TOKEN}, {"Authorization": "Bearer something-else"}, LOCAL, 404),
        ({"metrics_token": TOKEN}, {"Authorization": f"Bearer {TOKEN}"}, ("192.0.2.7", 1), 200),
    ],
)
def test_figures_are_for_this_machine_or_for_who_has_the_token(
    settings: Settings, settings_: dict[str, Any], headers: dict[str, str], from_: tuple[str, int], status: int
) -> None:
    """To all others there is nothing at that address."""
    chosen = Settings(**settings.model_dump(include={"data", "queue_limit"}) | settings_)
    with TestClient(create_app(chosen), client=from_) as client:
        assert client.get("/metrics", headers=headers).status_code == status


def test_readiness_says_how_long_the_oldest_has_waited(client: TestClient, student: dict[str, str]) -> None:
    """A load balancer's operator sees a queue that does not move."""
    assert client.get("/readyz").json()["oldest_s"] == 0
    client.post(SUBMISSIONS, json={"source": "x"}, headers=student)
    assert client.get("/readyz").json()["oldest_s"] > 0


def test_administrators_see_the_same_figures(
    client: TestClient, token: Callable[..., dict[str, str]], student: dict[str, str], worker: Worker
) -> None:
    """On a page, in words."""
    client.post(SUBMISSIONS, json={"source": "x"}, headers=student)
    worker.grade(make_report())
    counting.graded(queued=5.0, run=20.0, judge=10.0)
    page = client.get("/admin/health", headers=token("admin@example.org", "admin")).text
    shown = re.sub(r"<[^>]+>", " ", page)
    for said in ("Longest wait", "Verdicts: failed", "Mean time of running"):
        assert said in shown


@pytest.mark.parametrize(
    ("settings_", "said", "unsaid"),
    [
        ({}, ["Letters do not leave", "outbox"], "nobody new"),
        ({"confirm_email": True}, ["Letters do not leave", "nobody new can get in"], "mail server mail."),
        ({"smtp_url": "smtp://me:a-password@mail.example.org"}, ["mail.example.org:587"], "a-password"),
    ],
)
def test_administrators_see_whether_mail_leaves(
    settings: Settings, settings_: dict[str, Any], said: list[str], unsaid: str
) -> None:
    """Where there is no mail server, links to confirm an address lie in a folder."""
    chosen = Settings(**settings.model_dump(include={"data", "queue_limit"}) | settings_)
    with TestClient(create_app(chosen)) as client:
        app: Any = client.app
        site: Site = app.state.site
        with site.database.write() as session:
            add_user(session, email="admin@example.org", role="admin")
            bearer = create_token(session, email="admin@example.org")
        page = client.get("/admin/health", headers={"Authorization": f"Bearer {bearer}"}).text
    shown = re.sub(r"<[^>]+>", "", page)
    assert all(one in shown for one in said)
    assert unsaid not in shown
