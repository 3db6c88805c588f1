"""Asking the tutor: by the API, as a stream, and from the page."""

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.clients.tutor import EngineFailed, Piece, TutorContext
from app.models import PlanLimit, Rule
from app.services.tutor import policy
from app.services.tutor.policy import Policy
from app.web.http.site import Site
from app.web.tutor.answer_tasks import STAND_IN, AnswerDesk
from tests.web.conftest import BROWSER, EXERCISE, PAGE

TUTOR = f"/api/v1/exercises/{EXERCISE}/tutor"
WHY = {"text": "Why is pos [8, 32] and not [32, 8, 32]?", "client_message_id": "first"}
GIVEN_AWAY = "Just write\n\n```python\npos = pos_emb(torch.arange(block_size))\n```\n"

Token = Callable[..., dict[str, str]]


class Says:
    """An engine that says what a test wants, or fails in the middle."""

    name = "says"

    def __init__(self, *pieces: str, fails: str = "") -> None:
        """`fails` is the reason for which it fails after its pieces."""
        self.pieces, self.fails = pieces, fails
        self.asked: list[TutorContext] = []

    async def answer(self, context: TutorContext) -> AsyncGenerator[Piece]:
        """Say it."""
        self.asked.append(context)
        for piece in self.pieces:
            yield Piece(piece)
        if self.fails:
            raise EngineFailed(self.fails)

    def most_tokens(self, _context: TutorContext) -> int:
        """Cost nothing."""
        return 0


@pytest.fixture
def engine(site: Site, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Says]:
    """Return a function that puts an engine in place of the site's own."""

    def use(*pieces: str, fails: str = "") -> Says:
        said = Says(*pieces, fails=fails)
        monkeypatch.setattr(site.parts.get(AnswerDesk), "_engine", said)
        return said

    return use


def allow(site: Site, amount: int) -> None:
    """Let the free plan have so many messages."""
    with site.database.write() as session:
        rule = (PlanLimit.plan_name == "free", PlanLimit.rule == Rule.TUTOR_MESSAGES)
        session.execute(update(PlanLimit).where(*rule).values(amount=amount))


def events(text: str) -> list[tuple[str, Any]]:
    """Read server-sent events."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_answer_comes_with_sources_and_the_quota(client: TestClient, student: dict[str, str]) -> None:
    """The tutor explains, says which section it used, and what is left."""
    told = client.post(TUTOR, headers=student, json=WHY).json()
    assert "broadcast" in told["answer"].lower()
    assert told["sources"][0]["address"].startswith(f"/exercises/{EXERCISE}#")
    assert (told["quota"]["limit"], told["quota"]["used"], told["quota"]["left"]) == (30, 1, 29)
    assert (told["quota"]["period"], told["quota"]["resets_at"]) == ("lifetime", None)
    assert client.get("/api/v1/me", headers=student).json()["quotas"]["tutor_messages"] == told["quota"]


def test_same_message_again_is_the_same_answer(client: TestClient, student: dict[str, str]) -> None:
    """A program that lost the answer on the way asks again under the same id, and pays once."""
    first = client.post(TUTOR, headers=student, json=WHY).json()
    assert client.post(TUTOR, headers=student, json=WHY).json() == first
    clash = client.post(TUTOR, headers=student, json=WHY | {"text": "Another question?"})
    assert (clash.status_code, clash.json()["type"]) == (409, "urn:kelolo:problem:message-clash")


def test_stream_brings_pieces_and_then_the_whole(
    client: TestClient, student: dict[str, str], engine: Callable[..., Says]
) -> None:
    """With Accept: text/event-stream the answer comes as it is written, and once more as a whole."""
    engine("One line.\n\n", "And another.")
    answer = client.post(TUTOR, headers=student | {"Accept": "text/event-stream"}, json=WHY)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, (last, whole) = events(answer.text)
    assert {name for name, _ in pieces} == {"piece"}
    assert last == "answer"
    assert "".join(data["text"] for _, data in pieces) == whole["answer"] == "One line.\n\nAnd another."


def test_failed_answer_costs_nothing(client: TestClient, student: dict[str, str], engine: Callable[..., Says]) -> None:
    """An answer that breaks off is a problem that says so, and the message is given back; also in a stream."""
    engine("Half an answer.\n\n", "And", fails="cut-off")
    answer = client.post(TUTOR, headers=student, json=WHY)
    assert answer.status_code == 502
    assert "it was cut off" in answer.json()["detail"]
    streamed = client.post(
        TUTOR, headers=student | {"Accept": "text/event-stream"}, json=WHY | {"client_message_id": "second"}
    )
    assert events(streamed.text)[-1][0] == "problem"
    assert client.get("/api/v1/me", headers=student).json()["quotas"]["tutor_messages"]["used"] == 0


@pytest.mark.parametrize("reason", ["unreachable", "busy", "refused", "malformed", "empty", "timeout"])
def test_offline_tutor_stands_in_for_a_model_that_is_down(
    client: TestClient, student: dict[str, str], engine: Callable[..., Says], reason: str
) -> None:
    """Before its first line the offline tutor answers in its place, says so, and the message is not charged."""
    engine(fails=reason)
    answer = client.post(TUTOR, headers=student, json=WHY)
    assert answer.status_code == 200
    assert answer.json()["answer"].startswith("The hosted tutor cannot be reached just now")
    assert len(answer.json()["answer"]) > len(STAND_IN)
    assert answer.json()["quota"]["used"] == 0
    assert client.get("/api/v1/me", headers=student).json()["quotas"]["tutor_messages"]["used"] == 0


def test_what_the_tutor_does_not_know_costs_no_message(client: TestClient, student: dict[str, str]) -> None:
    """It says so, names who may know, and the counter stays where it was."""
    asked = {"text": "which laptop under 1000 euros is good", "client_message_id": "laptop"}
    answer = client.post(TUTOR, headers=student, json=asked).json()
    assert "This answer cost you no message." in answer["answer"]
    assert answer["quota"]["used"] == 0


def test_counter_says_how_long_its_messages_last_and_how_to_get_more(
    client: TestClient, site: Site, student: dict[str, str]
) -> None:
    """Beside the box stands what it counts, and the page of the plan has the administrator's words."""
    with site.database.write() as session:
        policy.set_policy(session, Policy(0, 30, "Write to the office for PRO."), by=None)
    page = client.get(f"/exercises/{EXERCISE}", headers=student).text
    assert "messages left, " in page
    assert '<a href="/account/plan#more">how to get more</a>' in page
    assert "Write to the office for PRO." in client.get("/account/plan", headers=student).text


def test_limit_is_a_problem_with_its_rule(client: TestClient, site: Site, student: dict[str, str]) -> None:
    """At the limit the answer is 429 with the rule's name and the figures, and it says what goes on."""
    allow(site, 0)
    answer = client.post(TUTOR, headers=student, json=WHY)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (429, "application/problem+json")
    assert (problem["rule"], problem["limit"], problem["used"], problem["resets_at"]) == ("tutor_messages", 0, 0, None)
    assert "hints go on" in problem["detail"]


def test_line_of_the_solution_is_held_back(
    client: TestClient, student: dict[str, str], engine: Callable[..., Says]
) -> None:
    """What gives the solution away never leaves the server, however it is cut into pieces."""
    engine("Think of places.\n\n", *GIVEN_AWAY)
    answer = client.post(TUTOR, headers=student | {"Accept": "text/event-stream"}, json=WHY).text
    assert "Think of places." in answer
    assert "pos_emb(torch.arange" not in answer
    assert "which value goes in" in answer


def test_engine_is_given_the_students_own_work_alone(
    client: TestClient, site: Site, student: dict[str, str], token: Token, engine: Callable[..., Says]
) -> None:
    """It sees the student's code, task, hints and lesson; never the reference, and nobody else's code."""
    said = engine("Well?")
    client.post(f"/api/v1/exercises/{EXERCISE}/submissions", headers=student, json={"source": "tok = 'mine'"})
    other = token("other@example.org")
    client.post(f"/api/v1/exercises/{EXERCISE}/submissions", headers=other, json={"source": "tok = 'theirs'"})
    client.post(f"/api/v1/exercises/{EXERCISE}/hints/next", headers=student)
    client.post(TUTOR, headers=student, json=WHY)
    context = said.asked[0]
    assert context.source == "tok = 'mine'"
    assert (len(context.hints), context.hints_left) == (1, 2)
    assert context.passages
    everything = repr(context)
    assert "theirs" not in everything
    assert "pos_emb(torch.arange(block_size))" not in everything


@pytest.mark.parametrize(
    "body",
    [
        {"text": "", "client_message_id": "a"},
        {"text": " \n ", "client_message_id": "a"},
        {"text": "x" * 2001, "client_message_id": "a"},
        {"text": "why?\x00", "client_message_id": "a"},
        {"text": "why?", "client_message_id": ""},
        {"text": "why?", "client_message_id": "a" * 101},
        {"text": "why?"},
        {"text": 3, "client_message_id": "a"},
    ],
)
def test_question_that_cannot_be_asked_is_refused(
    client: TestClient, student: dict[str, str], body: dict[str, Any]
) -> None:
    """Bad input is a sentence about itself, and costs nothing."""
    answer = client.post(TUTOR, headers=student, json=body)
    assert answer.status_code == 422
    assert client.get("/api/v1/me", headers=student).json()["quotas"]["tutor_messages"]["used"] == 0


def test_unknown_exercise_is_not_found(client: TestClient, student: dict[str, str]) -> None:
    """There is no tutor beside nothing."""
    assert client.post("/api/v1/exercises/none/tutor", headers=student, json=WHY).status_code == 404


def test_guest_asks_from_the_page_without_javascript(client: TestClient) -> None:
    """The form works by itself: the answer stands on the page, with the counter."""
    page = client.get(PAGE, headers=BROWSER)
    assert "<strong>30</strong> of 30 messages left" in page.text
    sent = client.post(
        f"/exercises/{EXERCISE}/tutor", headers=BROWSER, data={"text": WHY["text"], "client_message_id": "one"}
    )
    assert (sent.status_code, sent.headers["location"]) == (303, f"{PAGE}#tutor")
    page = client.get(PAGE, headers=BROWSER)
    assert "<strong>29</strong> of 30 messages left" in page.text
    assert "broadcast" in page.text


def test_answer_is_followed_on_the_page(client: TestClient, engine: Callable[..., Says]) -> None:
    """The page gets the question at once, then the answer as HTML that is safe, then an end."""
    engine("See `x`. <script>alert(1)</script> ![spy](http://spy.example/x.png)")
    client.get(PAGE, headers=BROWSER)
    asked = client.post(
        f"/exercises/{EXERCISE}/tutor",
        headers={"HX-Request": "true"},
        data={"text": "<b>why</b>?", "client_message_id": "one"},
    ).text
    assert "&lt;b&gt;why&lt;/b&gt;?" in asked
    message_id = asked.split('id="message-', 1)[1].split('"', 1)[0]
    stream = client.get(f"/tutor/{message_id}/events").text
    assert "<code>x</code>" in stream
    assert "<script" not in stream
    assert "<img" not in stream
    assert "This helped" in stream
    assert stream.rstrip().endswith("data: over")


def test_answer_can_be_rated_and_the_rating_taken_back(client: TestClient, student: dict[str, str]) -> None:
    """Whether it helped is kept with the message, and only its owner says so."""
    message_id = client.post(TUTOR, headers=student, json=WHY).json()["id"]
    rated = client.post(f"/tutor/{message_id}/rating", headers=student | {"HX-Request": "true"}, data={"rating": "1"})
    assert 'aria-pressed="true" title="This helped"' in rated.text
    back = client.post(f"/tutor/{message_id}/rating", headers=student | {"HX-Request": "true"}, data={"rating": "0"})
    assert 'aria-pressed="true"' not in back.text
    assert client.post(f"/tutor/{message_id}/rating", headers=student, data={"rating": "7"}).status_code == 404


def test_message_of_another_is_not_there(client: TestClient, student: dict[str, str], token: Token) -> None:
    """Changing an id reaches nobody else's conversation, for no role."""
    message_id = client.post(TUTOR, headers=student, json=WHY).json()["id"]
    for role in ("student", "instructor", "admin"):
        other = token(f"{role}-other@example.org", role)
        assert client.get(f"/tutor/{message_id}/events", headers=other).status_code == 404
        assert client.post(f"/tutor/{message_id}/rating", headers=other, data={"rating": "1"}).status_code == 404


def test_what_the_tutor_sees_is_shown(client: TestClient, student: dict[str, str]) -> None:
    """One click away stands all that it is given, and that the solution is not among it."""
    client.post(f"/api/v1/exercises/{EXERCISE}/submissions", headers=student, json={"source": "tok = 'mine'"})
    page = client.get(f"{PAGE}/tutor/sees", headers=student | BROWSER).text
    assert "tok = &#39;mine&#39;" in page
    assert "never sees the solution" in page
    assert "pos_emb(torch.arange(block_size))" not in page


def test_teachers_have_no_limit(client: TestClient, site: Site, token: Token) -> None:
    """Plans do not bind those who teach."""
    allow(site, 0)
    told = client.post(TUTOR, headers=token("teacher@example.org", "instructor"), json=WHY).json()
    assert told["quota"]["limit"] is None


def test_instructors_see_what_was_not_answered_and_not_who_asked(
    client: TestClient, token: Token, student: dict[str, str]
) -> None:
    """The question stands there with the beginning of a card; students do not get the page."""
    question = "how does a quaternion rotate my hamster"
    client.post(TUTOR, headers=student, json={"text": question, "client_message_id": "q"})
    page = client.get("/tutor/unanswered", headers=token("teacher@example.org", "instructor"))
    assert page.status_code == 200
    assert question in page.text
    assert "Write a card" in page.text
    assert client.get("/api/v1/me", headers=student).json()["email"] not in page.text
    assert client.get("/tutor/unanswered", headers=student).status_code in {403, 404}
