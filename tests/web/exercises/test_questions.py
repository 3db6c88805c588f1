"""Questions: each has the form that fits it, is answered with and without JavaScript, and keeps its secrets."""

import re

import pytest
from starlette.testclient import TestClient

from app.authoring import Question, load_course
from tests.web.conftest import BROWSER, QUESTIONS, Worker

HTMX = BROWSER | {"HX-Request": "true"}
SECRETS = {
    "how-many-numbers": ["1296", "27 \\cdot 48", "added", "75"],
    "how-much-memory": ["six million", "0.01"],
    "which-rows-learn": ["had a part in the loss", "row 3", "all-rows-learn"],
    "which-shape": ["16]", "single id", "gives a row"],
    "what-stays": ["picks the token row", "[&#34;a&#34;, &#34;c&#34;]"],
}
RIGHT = {
    "how-many-numbers": ["27 * 48"],
    "how-much-memory": ["6 MB"],
    "which-rows-learn": ["b"],
    "which-shape": ["(4, 6, 16)"],
    "what-stays": ["a", "c"],
}


def look_at(client: TestClient, name: str) -> str:
    """Return the page of a question."""
    answer = client.get(f"/exercises/{name}", headers=BROWSER)
    assert answer.status_code == 200
    return answer.text


def answer(client: TestClient, worker: Worker, name: str, *given: str) -> str:
    """Send the form as a browser without JavaScript, have it judged, and return the page it leads to."""
    sent = client.post(f"/exercises/{name}/submissions", data={"source": list(given), "kind": "check"}, headers=BROWSER)
    assert sent.status_code == 303
    worker.answer()
    return client.get(sent.headers["Location"], headers=BROWSER).text


def inputs(page: str) -> list[str]:
    """Return the fields of the answer."""
    return re.findall(r'<input [^>]*name="source"[^>]*>', page)


# Names of submissions and files, times, and how long it took, may hold any digits.
CHANCE = re.compile(r'[0-9a-f]{12,}|<p class="timing">.*?</p>|<time.*?</time>|\b[0-9]+ ms\b', re.DOTALL)

pytestmark = pytest.mark.usefixtures("questions")


def test_every_kind_of_question_is_among_those_tested() -> None:
    """A question of the tests' course has its secrets and its right answer above."""
    found = {one.id for lesson in load_course(QUESTIONS).lessons for one in lesson.exercises}
    assert found == SECRETS.keys() == RIGHT.keys()
    assert all(isinstance(one, Question) for lesson in load_course(QUESTIONS).lessons for one in lesson.exercises)


@pytest.mark.parametrize("name", SECRETS)
def test_page_keeps_the_answer_to_itself(client: TestClient, worker: Worker, name: str) -> None:
    """Neither the right answer, nor the wrong ones, nor the explanation is there before it is earned."""
    for page in (look_at(client, name), answer(client, worker, name, "d" if name == "what-stays" else "")):
        told = CHANCE.sub("", page)
        assert [secret for secret in SECRETS[name] if secret in told] == []


def test_number_has_its_unit_beside_the_field(client: TestClient) -> None:
    """A line of text, the unit, and one button; no editor and no Run."""
    page = look_at(client, "how-much-memory")
    (field,) = inputs(page)
    assert 'type="text"' in field
    assert '<span class="unit" aria-hidden="true">MB</span>' in page
    assert "Check answer" in page
    assert 'value="run"' not in page
    assert "editor/exercise.js" not in page
    assert "Hint" in page


def test_choice_of_one_has_radio_buttons_with_its_texts(client: TestClient) -> None:
    """Texts are Markdown of one line, in which HTML is only text."""
    page = look_at(client, "which-rows-learn")
    assert [re.findall(r'type="(\w+)".*value="(\w)"', field) for field in inputs(page)] == [
        [("radio", key)] for key in "abc"
    ]
    assert "Rows <code>10</code> and <code>58</code>" in page
    assert "&lt;b&gt;0&lt;/b&gt;" in page


def test_choice_of_several_has_checkboxes_and_does_not_say_how_many(client: TestClient) -> None:
    """The fields are the same for each option, and so are the words."""
    page = look_at(client, "what-stays")
    assert len(inputs(page)) == 4
    assert all('type="checkbox"' in field and "checked" not in field for field in inputs(page))
    assert "Choose all that fit." in page
    assert "<math" in page


def test_shape_comes_with_an_example_that_is_not_the_answer(client: TestClient) -> None:
    """How to write one is shown by others."""
    page = look_at(client, "which-shape")
    assert "<code>[2, 3]</code> or <code>[2, 3, 5]</code>" in page


@pytest.mark.parametrize("name", RIGHT)
def test_right_answer_is_told_with_its_explanation(client: TestClient, worker: Worker, name: str) -> None:
    """The explanation is set as prose, and the answer stays where it was written."""
    page = answer(client, worker, name, *RIGHT[name])
    assert "<h2>That’s right</h2>" in page
    assert "Why</h3>" in page
    given = [field for field in inputs(page) if "checked" in field or 'value="("' in field or 'type="text"' in field]
    assert len(given) == len(RIGHT[name])
    assert all(f'value="{value}"' in field for value, field in zip(RIGHT[name], given, strict=True))
    assert "shapes of your tensors" not in page.lower()


def test_explanation_is_rendered(client: TestClient, worker: Worker) -> None:
    """Formulas and emphasis of the author are more than their source."""
    assert "<math" in answer(client, worker, "how-many-numbers", "1296").split("Why</h3>")[1]
    assert "<strong>looked up</strong>" in answer(client, worker, "which-rows-learn", "b")


def test_known_wrong_idea_is_named(client: TestClient, worker: Worker) -> None:
    """It is called a mix-up, in the author's words, once, and the answer is kept."""
    page = answer(client, worker, "how-many-numbers", "27 + 48")
    assert "<h2>Not yet right</h2>" in page
    assert "A likely mix-up" in page
    assert page.count("How many numbers stand in one row?") == 1
    assert 'value="27 + 48"' in page


def test_other_wrong_answer_gets_the_authors_message(client: TestClient, worker: Worker) -> None:
    """Where the kind of slip cannot be seen."""
    page = answer(client, worker, "which-shape", "[9, 9, 9]")
    assert "What does each single id turn into?" in page


@pytest.mark.parametrize(
    ("name", "given"), [("how-many-numbers", "many"), ("which-rows-learn", ""), ("which-shape", "?")]
)
def test_what_is_no_answer_gets_a_sentence(client: TestClient, worker: Worker, name: str, given: str) -> None:
    """It says how an answer is written, once, and is not called an error of code."""
    page = answer(client, worker, name, *([given] if given else []))
    assert "<h2>That can’t be read as an answer</h2>" in page
    assert "AnswerRefused" not in page
    assert "your code" not in page.lower().split("<main", 1)[1]
    assert "Not read as an answer" in page


def test_earlier_answers_can_be_looked_at(client: TestClient, worker: Worker) -> None:
    """Each opens with its own answer, also as a part for the open page."""
    answer(client, worker, "how-many-numbers", "1")
    answer(client, worker, "how-many-numbers", "2")
    page = look_at(client, "how-many-numbers")
    assert 'value="2"' in page
    older = re.findall(r'hx-get="(/submissions/\w+)"', page)[-1]
    assert 'value="1"' in client.get(older, headers=BROWSER).text
    part = client.get(older, headers=HTMX).text
    assert re.search(r"data-attempt-source[^>]*>\n1</textarea>", part)
    assert "Not yet right" in part


def test_page_says_answer_where_it_would_say_code(client: TestClient) -> None:
    """A question has no code."""
    sent = client.post("/exercises/what-stays/submissions", data={"source": ["a", "d"]}, headers=HTMX)
    assert "sse-connect" in sent.text
    assert "Your code" not in look_at(client, "what-stays")


def test_run_of_a_question_is_refused(client: TestClient, student: dict[str, str]) -> None:
    """In the API and from a form; nothing is stored."""
    sent = client.post("/api/v1/exercises/which-shape/runs", json={"source": "1"}, headers=student)
    assert sent.status_code == 422
    assert sent.headers["Content-Type"] == "application/problem+json"
    assert sent.json()["type"] == "urn:kelolo:problem:nothing-to-run"
    assert "is a question" in sent.json()["detail"]
    form = client.post("/exercises/which-shape/submissions", data={"source": "1", "kind": "run"}, headers=BROWSER)
    assert form.status_code == 422


def test_answer_goes_through_the_api(client: TestClient, student: dict[str, str], worker: Worker) -> None:
    """For a program an answer is a submission like any other: keys with commas between them."""
    sent = client.post("/api/v1/exercises/what-stays/submissions", json={"source": "c,a"}, headers=student)
    worker.answer()
    told = client.get(sent.headers["Location"], headers=student).json()
    assert (told["verdict"], told["checks"][0]["status"]) == ("passed", "passed")
