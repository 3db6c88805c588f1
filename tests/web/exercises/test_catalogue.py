"""The first page: what there is to learn, how far the visitor has come, and where to go on."""

import re

import pytest
from starlette.testclient import TestClient

from app.authoring import load_course
from app.services.exercises.catalogue import import_course
from app.web.http.site import Site
from graders.report import Verdict
from tests.web.conftest import BROWSER, EXERCISE, PAGE, QUESTIONS, Worker, make_report

IN_ORDER = [EXERCISE, "how-many-numbers", "how-much-memory", "which-rows-learn", "which-shape", "what-stays"]


def home(client: TestClient) -> str:
    """Return the first page."""
    answer = client.get("/", headers=BROWSER)
    assert answer.status_code == 200
    return answer.text


def states(page: str) -> dict[str, str]:
    """Return how far each exercise of the page has come, in its own words."""
    found = re.findall(r'data-exercise="([^"]+)".*?class="word">([^<]+)<', page, re.DOTALL)
    return dict(found)


def onward(page: str) -> tuple[str, str]:
    """Return what the button says, and where it leads."""
    found = re.search(r'class="button primary" href="([^"]+)">(.*?) *<svg', page)
    assert found
    return found[2], found[1]


def do(client: TestClient, worker: Worker, verdict: Verdict, exercise: str = EXERCISE) -> str:
    """Send something, have it judged, and return the address of its result."""
    sent = client.post(f"/exercises/{exercise}/submissions", data={"source": "1"}, headers=BROWSER)
    worker.grade(make_report(verdict, exercise=exercise))
    return sent.headers["Location"]


def test_first_page_lists_courses_lessons_and_exercises_in_order(client: TestClient, questions: None) -> None:
    """Everything is there, and for a newcomer all of it is new."""
    page = home(client)
    assert list(states(page)) == IN_ORDER
    assert set(states(page).values()) == {"New"}
    places = [page.index(text) for text in ("Questions about tables", "Counting", "How many numbers", "Looking up")]
    assert places == sorted(places)
    assert onward(page) == ("Start here", PAGE)


def test_looking_at_the_first_page_makes_nobody_a_guest(client: TestClient, questions: None) -> None:
    """Only who opens an exercise needs an account to keep code in."""
    assert "Set-Cookie" not in client.get("/", headers=BROWSER).headers


def test_course_alone_is_the_title_of_the_page(client: TestClient, site: Site) -> None:
    """With one course there is no heading above it."""
    course = load_course(QUESTIONS).model_copy(update={"id": "embeddings"})
    with site.database.write() as session:
        import_course(session, course)
    assert "<h1>Questions about tables</h1>" in home(client)


def test_each_exercise_says_how_far_the_visitor_has_come(client: TestClient, questions: None, worker: Worker) -> None:
    """Tried until it is passed once, and done from then on; the button leads to the first that is not done."""
    do(client, worker, Verdict.FAILED)
    assert states(home(client))[EXERCISE] == "Tried"
    assert onward(home(client)) == ("Continue", PAGE)
    do(client, worker, Verdict.PASSED)
    do(client, worker, Verdict.FAILED)
    assert states(home(client)) == dict.fromkeys(IN_ORDER, "New") | {EXERCISE: "Done"}
    assert onward(home(client)) == ("Continue", "/exercises/how-many-numbers")


def test_progress_is_the_visitors_own(client: TestClient, questions: None, worker: Worker) -> None:
    """Another visitor begins at the beginning."""
    do(client, worker, Verdict.PASSED)
    client.cookies.clear()
    assert set(states(home(client)).values()) == {"New"}


def test_whoever_has_done_everything_is_told_so(client: TestClient, questions: None, worker: Worker) -> None:
    """Then there is no button any more, and the last result leads back."""
    results = [do(client, worker, Verdict.PASSED, exercise) for exercise in IN_ORDER]
    assert "All done." in home(client)
    assert "Back to the course" in client.get(results[-1], headers=BROWSER).text


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
def test_after_passing_the_next_exercise_is_offered(
    client: TestClient, questions: None, worker: Worker, verdict: Verdict
) -> None:
    """On the page and in the stream; after failing it is not."""
    where = do(client, worker, verdict)
    for told in (client.get(where, headers=BROWSER).text, client.get(f"{where}/events").text):
        assert ('href="/exercises/how-many-numbers">Next' in told) == (verdict is Verdict.PASSED)


def test_next_is_what_was_left_out_before(client: TestClient, questions: None, worker: Worker) -> None:
    """After the last exercise comes the first that is not done."""
    page = client.get(do(client, worker, Verdict.PASSED, "what-stays"), headers=BROWSER).text
    assert f'href="{PAGE}">Next' in page


def test_exercise_leads_back_and_to_its_neighbours(client: TestClient, questions: None) -> None:
    """The course is one press away, and so are the other exercises of the lesson."""
    page = client.get("/exercises/which-shape", headers=BROWSER).text
    assert re.search(r'<a href="/">.*Questions about tables</a>', page)
    steps = re.findall(r'<a href="/exercises/([^"/]+)"( aria-current="page")?', page)
    assert [name for name, _ in steps] == ["which-rows-learn", "which-shape", "what-stays"]
    assert [name for name, here in steps if here] == ["which-shape"]


def test_lesson_is_folded_after_its_first_exercise(client: TestClient, questions: None) -> None:
    """Who goes on has read it: the next task should be in sight."""
    first, second = (client.get(f"/exercises/{name}", headers=BROWSER).text for name in IN_ORDER[1:3])
    assert "The lesson’s text" not in first
    assert "The lesson’s text" in second


@pytest.mark.parametrize("address", ["/", PAGE, "/api/docs", "/healthz", "/readyz"])
def test_head_answers_as_get_does(client: TestClient, questions: None, address: str) -> None:
    """Whoever only asks whether a page is there is told so."""
    asked = client.head(address, headers=BROWSER)
    assert asked.status_code == 200
    assert asked.headers["Content-Type"] == client.get(address, headers=BROWSER).headers["Content-Type"]
