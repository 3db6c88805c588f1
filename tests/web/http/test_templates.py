"""What a browser is given, with and without JavaScript."""

import html
import re
import threading
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from app.clients.wakeups.local_sockets import LocalWorkerWakeup
from app.settings import ROOT, Settings
from app.web.submissions import pages as submission_pages
from graders.report import CheckResult, CheckStatus, Misconception, Verdict
from tests.web.conftest import BROWSER, EXERCISE, PAGE, Worker, make_error, make_report

FORM = PAGE + "/submissions"
HTMX = BROWSER | {"HX-Request": "true"}


def send(client: TestClient, source: str = "h = 1", kind: str = "check") -> str:
    """Send the form as a browser without JavaScript, and return where it leads."""
    answer = client.post(FORM, data={"source": source, "kind": kind}, headers=BROWSER)
    assert answer.status_code == 303
    return answer.headers["Location"]


def editor(page: str) -> str:
    """Return what stands in the editor's text field."""
    found = re.search(r'<textarea id="source"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found
    return html.unescape(found[1])


def test_first_address_leads_to_the_only_exercise(client: TestClient) -> None:
    """While there is one exercise, nobody has to choose."""
    answer = client.get("/", headers=BROWSER)
    assert (answer.status_code, answer.headers["Location"]) == (303, PAGE)


def test_exercise_page_has_lesson_task_and_starting_code(client: TestClient) -> None:
    """The newcomer finds all that the task needs on one page, and never the solution."""
    page = client.get(PAGE, headers=BROWSER).text
    assert "Your task" in page
    assert "Starting code" in page
    assert "Hint" in page
    assert "torch.arange(block_size))\nh" not in html.unescape(page)


def test_editor_starts_with_the_starter_and_then_with_what_was_sent_last(client: TestClient) -> None:
    """Code that was sent is there again on the next visit, exactly."""
    starter = editor(client.get(PAGE, headers=BROWSER).text)
    assert starter.startswith("# token_emb")
    source = "\n\nh = '<b>&amp;</textarea>'  # ✓\n"
    send(client, source)
    assert editor(client.get(PAGE, headers=BROWSER).text) == source


def test_line_ends_of_forms_do_not_reach_the_code(client: TestClient) -> None:
    """Browsers send CR LF from forms; the code keeps the line ends that were typed."""
    page = client.get(send(client, "a = 1\r\nb = 2\r\n"), headers=BROWSER).text
    assert editor(page) == "a = 1\nb = 2\n"


def test_without_javascript_the_result_page_waits_for_the_verdict(
    client: TestClient, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page after sending is held back a little, and then has the result."""
    monkeypatch.setattr(submission_pages, "PAGE_WAIT_S", 60)  # however busy the machine is
    where = send(client)
    timer = threading.Timer(0.2, lambda: worker.grade(make_report()))
    timer.start()
    page = client.get(where, headers=BROWSER).text
    timer.join()
    assert "1 of 3 checks failed" in page
    assert 'http-equiv="refresh"' not in page


def test_without_javascript_a_waiting_page_loads_itself_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there is still no verdict, the page says so and comes back by itself."""
    monkeypatch.setattr("app.web.submissions.pages.PAGE_WAIT_S", 0.05)
    page = client.get(send(client), headers=BROWSER).text
    assert '<noscript><meta http-equiv="refresh"' in page
    assert "Getting ready" in page


def test_whoever_waits_is_told_whether_somebody_is_there_to_grade(client: TestClient, settings: Settings) -> None:
    """Right after the start nobody is ready yet, which is another kind of waiting than in a queue."""
    where = client.post(FORM, data={"source": "1"}, headers=HTMX)
    assert "Getting ready" in where.text
    with LocalWorkerWakeup(settings.data_dir):
        page = client.post(FORM, data={"source": "1"}, headers=HTMX).text
    assert "Getting ready" not in page
    assert "Your place in the queue: 2" in page


def test_result_shows_each_check_in_words(client: TestClient, worker: Worker) -> None:
    """Each check has a word, the first failure is open, and the mix-up is named before them."""
    where = send(client)
    worker.grade(make_report())
    page = client.get(where, headers=BROWSER).text
    words = re.findall(r'data-check="(\w+)".*?class="word">([^<]+)<', page, re.DOTALL)
    assert words == [("tok", "Passed"), ("pos", "Failed"), ("h", "Not judged")]
    assert '<li class="skipped" data-check="h"' in page
    assert len(re.findall(r"<details open>", page)) == 1
    assert page.index("A likely mix-up") < page.index('data-check="tok"')
    assert "<code>x</code> in the position table" in page


def test_error_names_its_line_for_the_editor(client: TestClient, worker: Worker) -> None:
    """The line is in the words, and where the editor's script finds it."""
    where = send(client)
    worker.grade(make_error())
    page = client.get(where, headers=BROWSER).text
    assert 'data-error-line="4"' in page
    assert "IndexError on line 4" in page
    assert "The table does not have that row." in page


def test_explanation_of_an_error_is_said_once(client: TestClient, worker: Worker) -> None:
    """The mix-up speaks first, then the error; the check that failed by it only refers to them."""
    where = send(client)
    report = make_error()
    why = f"Your code stopped on the way to `pos`: {report.error.explanation}" if report.error else ""
    mixed_up = make_report().misconception
    checks = (CheckResult("pos", "`pos`", CheckStatus.FAILED, why),)
    worker.grade(replace(report, checks=checks, misconception=mixed_up))
    page = client.get(where, headers=BROWSER).text
    assert page.count("The table does not have that row.") == 1
    assert page.index("A likely mix-up") < page.index("IndexError on line 4") < page.index('data-check="pos"')
    assert "Your code stopped on the way to <code>pos</code>, as said above." in page


def test_headline_points_at_a_mix_up_only_where_one_is_shown(client: TestClient, worker: Worker) -> None:
    """Of a syntax error the box about the error says all there is to say; other mix-ups have a box of their own."""
    for tag in ("syntax", "x-overwritten"):
        where = send(client)
        worker.grade(replace(make_error("h = ("), misconception=Misconception(tag=tag, message="Mixed up.")))
        page = client.get(where, headers=BROWSER).text
        shown = tag != "syntax"
        assert ("A likely mix-up" in page) == shown
        assert ("It looks like one known mix-up: read that first." in page) == shown
        assert ("See below what happened and where." in page) != shown


def test_wrong_shape_stands_beside_the_expected_one(client: TestClient, worker: Worker) -> None:
    """Both shapes are shown with the names of their axes, and the size that differs is marked."""
    where = send(client)
    worker.grade(make_report())
    page = client.get(where, headers=BROWSER).text
    assert '<span class="dim off">channel <b>31</b></span>' in page
    assert '<span class="dim">channel <b>32</b></span>' in page


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("kind", ["check", "run"])
def test_every_verdict_has_a_headline(client: TestClient, worker: Worker, verdict: Verdict, kind: str) -> None:
    """No way of ending leaves the student without words, and no word is a name from inside."""
    where = send(client, kind=kind)
    checks = () if kind == "run" else (CheckResult("h", "h", CheckStatus.FAILED, "No."),) * 2
    worker.grade(make_report(verdict, checks=checks))
    page = client.get(where, headers=BROWSER).text
    assert re.search(r'class="verdict \w+".*?<h2>[A-Z0-9][^<]+</h2>\s*<p>[A-Z][^<]+</p>', page, re.DOTALL)
    assert "_limit" not in page


def test_text_of_a_run_is_never_markup(client: TestClient, worker: Worker) -> None:
    """Whatever a program says is shown, not obeyed."""
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\ud800\x00"
    where = send(client, evil.replace("\ud800\x00", ""))
    worker.grade(
        make_report(
            report=evil,
            output=evil,
            note=evil,
            checks=(CheckResult("h", evil, CheckStatus.FAILED, f"`{evil}`"),),
        )
    )
    answer = client.get(where, headers=BROWSER)
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "<img" not in answer.text


def test_htmx_gets_a_part_that_listens(client: TestClient) -> None:
    """With JavaScript the form answers with the place in the queue and the stream to follow."""
    answer = client.post(FORM, data={"source": "1", "kind": "check"}, headers=HTMX)
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert re.search(r'sse-connect="/submissions/\w{32}/events"', answer.text)


def test_stream_of_a_page_brings_result_and_history(client: TestClient, worker: Worker) -> None:
    """The last event of the stream replaces the result and the list of attempts; `end` closes it."""
    where = send(client)
    worker.grade(make_report())
    events = client.get(f"{where}/events").text
    assert "event: state" in events
    assert 'id="result"' in events
    assert 'id="history"' in events
    assert events.strip().split("\n\n")[-1].startswith("event: end")


def test_refusal_on_the_page_is_a_line_on_the_page(client: TestClient) -> None:
    """Too long code is refused in the words of the page, and htmx can show them."""
    answer = client.post(FORM, data={"source": "#" * 70_000}, headers=HTMX)
    assert answer.status_code == 413
    assert "at most 65536" in answer.text
    assert "<html" not in answer.text


def test_earlier_attempt_brings_its_code_back(client: TestClient, worker: Worker) -> None:
    """The list of attempts loads code and result of each, also with JavaScript into the open page."""
    first = send(client, "first = 1\n")
    worker.grade(make_report())
    send(client, "second = 2\n")
    worker.grade(make_report(Verdict.PASSED))
    page = client.get(PAGE, headers=BROWSER).text
    assert page.count('hx-get="/submissions/') == 2
    assert editor(client.get(first, headers=BROWSER).text) == "first = 1\n"
    part = client.get(first, headers=HTMX).text
    assert "data-attempt-source" in part
    assert "first = 1" in part


def test_stranger_cannot_open_an_attempt(client: TestClient) -> None:
    """Another visitor gets a page that says there is nothing."""
    where = send(client)
    client.cookies.clear()
    answer = client.get(where, headers=BROWSER)
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")


def test_unknown_address_is_a_page_for_people(client: TestClient) -> None:
    """A browser is told in a page, a program in a document."""
    page = client.get("/no-such", headers=BROWSER)
    assert page.status_code == 404
    assert "Back to the first page" in page.text
    assert client.get("/no-such").headers["Content-Type"] == "application/problem+json"


def test_reference_describes_every_call(client: TestClient) -> None:
    """The page of the API names each path of its OpenAPI description."""
    page = client.get("/api/docs").text
    for path in client.get("/api/openapi.json").json()["paths"]:
        assert path in page
    assert f"/exercises/{EXERCISE}" not in page


@pytest.mark.parametrize("area", ["accounts", "admin"])
def test_forms_of_an_area_are_drawn_by_one_kit(area: str) -> None:
    """Their frame, fields and errors come from `forms.html`, so that what is wrong is said in the same way on all."""
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "templates" / area).glob("*.html")}
    own = re.compile(r'<form[^>]*method="post"|<select|class="wrong"')
    assert [name for name, page in pages.items() if own.search(page)] == []
    assert any("{% call posted(" in page for page in pages.values())
