"""
The ledger through the front door: a real web server, a real model's endpoint that fails, and many at once.

    .venv/bin/python -m pytest -n 0 -s tests/tutor/test_ledger_over_http.py     # prints the figures
"""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import func, select

from app.db import Database
from app.models import MessageState, TutorMessage, TutorPolicy
from app.services.accounts import access
from app.services.exercises.catalogue import import_course
from app.web.tutor.answer_tasks import STAND_IN
from tests.conftest import first_course, run_apart
from tests.tutor.provider import Provider, Share, answers, hangs

EXERCISE = "token-and-position-embeddings"
TUTOR = f"/api/v1/exercises/{EXERCISE}/tutor"
SENDS = 200
FAILING_PERCENT = 30
LIMIT = 30


@dataclass
class House:
    """A database with the course, a student, and a model that may cost something."""

    url: str
    data: Path
    provider: Provider
    token: str

    @contextmanager
    def served(self) -> Iterator[tuple[str, subprocess.Popen[str]]]:
        """Run a web server in a process of its own; its address, and the process."""
        environment = os.environ | {
            "KELOLO_DATABASE_URL": self.url,
            "KELOLO_TUTOR_BASE_URL": self.provider.base_url,
            "KELOLO_TUTOR_MODEL": "one-of-ours",
        }
        program = str(Path(sys.executable).parent / "kelolo")
        command = [program, "web", "--port", "0", "--data", str(self.data)]
        with (self.data / "web.log").open("a") as log:
            web = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
            assert web.stdout is not None
            try:
                said = web.stdout.readline()
                assert "is ready on " in said, (self.data / "web.log").read_text()
                yield said.split()[-1], web
            finally:
                web.kill()
                web.wait()
                web.stdout.close()

    def client(self, address: str) -> httpx2.AsyncClient:
        """Return a program with the student's token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        limits = httpx2.Limits(max_connections=SENDS)
        return httpx2.AsyncClient(base_url=address, headers=headers, timeout=60, limits=limits, trust_env=False)

    def charged(self) -> Counter[MessageState]:
        """Count the messages on the ledger by state, those that cost nothing too."""
        database = Database(self.url)
        with database.read() as session:
            rows = session.execute(select(TutorMessage.state, func.count()).group_by(TutorMessage.state)).all()
        database.dispose()
        return Counter(dict(rows))


@pytest.fixture(params=["sqlite", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """Prepare everything but the server."""
    url = request.getfixturevalue(f"{request.param}_url")
    database = Database(url)
    with database.write() as session:
        import_course(session, first_course())
        access.add_user(session, email="student@example.org", role="student")
        token = access.create_token(session, email="student@example.org")
        session.get_one(TutorPolicy, 1).month_token_ceiling = 10**9
    database.dispose()
    with Provider() as provider:
        yield House(url, tmp_path, provider, token)


async def ask_until_settled(client: httpx2.AsyncClient, number: int) -> tuple[str, Counter[int]]:
    """Ask one question as a patient program would: again after a failure, and until nothing is left."""
    met: Counter[int] = Counter()
    body = {"text": f"Why are there two tables? ({number})", "client_message_id": f"message-{number}"}
    while True:
        try:
            answer = await client.post(TUTOR, json=body)
        except httpx2.TransportError:  # a connection that was closed for being idle; the same id is asked again
            continue
        met[answer.status_code] += 1
        told = answer.json()
        if answer.status_code == 200:
            return "stood in" if told["answer"].startswith(STAND_IN) else "delivered", met
        if answer.status_code == 429 and told["type"].endswith("quota-spent"):
            assert (told["limit"], told["rule"]) == (LIMIT, "tutor_messages")
            return "spent", met
        assert answer.status_code in {429, 502, 503}, answer.text
        await asyncio.sleep(told.get("retry_after_s", 0.1))


def test_two_hundred_at_once_get_exactly_thirty_answers(house: House) -> None:
    """With a third of all answers failing, thirty are delivered and charged: none lost, none double, stand-ins free."""
    house.provider.failing = Share(FAILING_PERCENT)

    async def all_at_once(address: str) -> list[tuple[str, Counter[int]]]:
        async with house.client(address) as client:
            return await asyncio.gather(*(ask_until_settled(client, number) for number in range(SENDS)))

    with house.served() as (address, _):
        ended = run_apart(all_at_once(address))
        me = httpx2.get(f"{address}/api/v1/me", headers={"Authorization": f"Bearer {house.token}"}, trust_env=False)
    outcomes, statuses = Counter(how for how, _ in ended), sum((met for _, met in ended), Counter[int]())
    states = house.charged()
    print(  # noqa: T201  the figures, with -s
        f"\n{house.url.partition(':')[0]}: {SENDS} sends, {dict(outcomes)}, answers by status {dict(statuses)}, "
        f"asked of the model {len(house.provider.asked)}, on the ledger {dict(states)}"
    )
    assert outcomes["delivered"] == LIMIT
    assert outcomes["stood in"] + statuses[502] > 0
    assert outcomes["delivered"] + outcomes["stood in"] + outcomes["spent"] == SENDS
    assert states[MessageState.SETTLED] == LIMIT + outcomes["stood in"]
    assert states[MessageState.RESERVED] == 0
    quota = me.json()["quotas"]["tutor_messages"]
    assert (quota["limit"], quota["used"], quota["left"], quota["resets_at"]) == (LIMIT, LIMIT, 0, None)


def test_same_message_sent_ten_times_is_charged_once(house: House) -> None:
    """All ten senders of one client message id get the one answer that was paid for."""
    body = {"text": "Why are there two tables?", "client_message_id": "once"}

    async def ten_times(address: str) -> list[httpx2.Response]:
        async with house.client(address) as client:
            return await asyncio.gather(*(client.post(TUTOR, json=body) for _ in range(10)))

    with house.served() as (address, _):
        got = run_apart(ten_times(address))
    assert {answer.status_code for answer in got} == {200}
    assert len({answer.json()["answer"] for answer in got}) == 1
    assert got[0].json()["quota"]["used"] == 1
    assert len(house.provider.asked) == 1
    assert house.charged() == {MessageState.SETTLED: 1}


def test_killed_server_gives_the_message_back(house: House) -> None:
    """A server that is killed in the middle of an answer has charged nothing once another one looks."""
    house.provider.behaviour = hangs("What does")
    body = {"text": "Why are there two tables?", "client_message_id": "killed"}

    async def ask_and_kill(address: str, web: subprocess.Popen[str]) -> None:
        async with house.client(address) as client:
            asking = asyncio.create_task(client.post(TUTOR, json=body))
            await asyncio.to_thread(house.provider.first.wait)
            web.kill()
            with pytest.raises(httpx2.HTTPError):
                await asking

    with house.served() as (address, web):
        run_apart(ask_and_kill(address, web))
    assert house.charged() == {MessageState.RESERVED: 1}
    house.provider.behaviour = answers()
    headers = {"Authorization": f"Bearer {house.token}"}
    with house.served() as (address, _):
        before = httpx2.get(f"{address}/api/v1/me", headers=headers, trust_env=False).json()
        again = httpx2.post(f"{address}{TUTOR}", headers=headers, json=body, timeout=60, trust_env=False)
    assert before["quotas"]["tutor_messages"]["used"] == 0
    assert again.status_code == 200
    assert again.json()["quota"]["used"] == 1
