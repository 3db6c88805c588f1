"""
Five hundred browsers wait for verdicts: is everyone else still served at once, and what do the waiters cost?

    .venv/bin/python benchmarks/waiting.py [--browsers 500] [--mode embedded|split] [--verdicts 50]

Each browser sends one submission and follows its events, while nobody grades: all of them wait, and are shown their
place. Meanwhile a few others open pages, at a rate that a class might. Printed: how long pages took, beside the same
pages before anyone waited, and the web process's threads, database connections and processor time. Then a worker is
started, and what is printed last is how long after its commit a verdict was seen by who waited for it.
Exit code 1 if 95 of a hundred pages did not come within 300 ms (or, where they did not before either, within half as
long again), or there are more threads or connections than there may be.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path

import httpx2
from sqlalchemy import select

from app.clock import utc_now
from app.models import GradingResult
from app.settings import Settings
from tools.local_site import (
    EXERCISE,
    Installation,
    connections,
    installation,
    percentiles,
    postgresql,
    threads,
    waiting_room,
)

PAGE = f"/exercises/{EXERCISE}"
PAGES_PER_S = 4
LOOK_FOR_S = 15.0
MOST_P95_S = 0.300
MOST_SLOWER = 1.5
"""On a machine that is too busy for that by itself: how much slower pages may become by those who wait."""
MOST_THREADS = 60
"""FastAPI has forty for its routes; a few more are ours and the event loop's."""
OURS = 1  # this script's own connection
SOURCE = "token_emb = 1"


class Browsers:
    """All who wait, and what they were told."""

    def __init__(self, site: Installation) -> None:
        """Prepare."""
        self._site = site
        self.web = site.webs[0].address or ""
        self.all_wait, self.enough = asyncio.Event(), asyncio.Event()
        self.wanted = len(site.tokens)
        self.waiting = 0
        self.events = 0
        self.seen: dict[str, datetime] = {}
        """When each submission's verdict was seen."""

    async def send(self, client: httpx2.AsyncClient) -> list[tuple[str, str]]:
        """Send one submission each, a few at a time. Return where to follow each, and as whom."""
        at_once = asyncio.Semaphore(8)

        async def one(token: str) -> tuple[str, str]:
            async with at_once:
                headers = {"Authorization": f"Bearer {token}"}
                address = f"{self.web}/api/v1/exercises/{EXERCISE}/submissions"
                sent = await client.post(address, json={"source": SOURCE}, headers=headers)
                sent.raise_for_status()
                return f"{self.web}{sent.headers['Location']}/events", token

        return list(await asyncio.gather(*(one(token) for token in self._site.tokens)))

    async def follow(self, client: httpx2.AsyncClient, address: str, token: str) -> None:
        """Wait, as the page does."""
        async with client.stream("GET", address, headers={"Authorization": f"Bearer {token}"}) as events:
            self.waiting += 1
            if self.waiting == len(self._site.tokens):
                self.all_wait.set()
            async for line in events.aiter_lines():
                if line.startswith("data:"):
                    self.events += 1
                    state = json.loads(line.removeprefix("data:"))
                    if state["state"] == "graded":
                        self.seen[state["id"]] = utc_now()
                        if len(self.seen) >= self.wanted:
                            self.enough.set()


async def open_pages(client: httpx2.AsyncClient, web: str) -> list[float]:
    """Open a page again and again at a steady rate, whether or not the last has come. Return the seconds of each."""

    async def one() -> float:
        begun_s = time.perf_counter()
        (await client.get(f"{web}{PAGE}", headers={"Accept": "text/html"})).raise_for_status()
        return time.perf_counter() - begun_s

    tasks = []
    for _ in range(int(LOOK_FOR_S * PAGES_PER_S)):
        tasks.append(asyncio.create_task(one()))
        await asyncio.sleep(1 / PAGES_PER_S)
    return list(await asyncio.gather(*tasks))


async def measure(site: Installation, *, verdicts: int) -> bool:
    """Measure and print; say whether all is as it should be."""
    browsers = Browsers(site)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(30.0, read=600.0), limits=limits) as client:
        before = await open_pages(client, browsers.web)
        print(f"pages before:  {percentiles(before)}")
        addresses = await browsers.send(client)
        followers = [asyncio.create_task(browsers.follow(client, *one)) for one in addresses]
        await browsers.all_wait.wait()
        before_s, events = cpu_s(site), browsers.events
        pages = await open_pages(client, browsers.web)
        spent, told = cpu_s(site) - before_s, browsers.events - events
        print(f"pages while {browsers.waiting} wait: {percentiles(pages)}")
        used = threads(site.webs[0])
        held = connections(site.database) if not site.database.is_sqlite else 0
        most = Settings().database_connections + 1  # and the one that listens
        print(f"the web has {used} threads; the database has {held} connections, of which {most} may be the web's")
        print(f"the web used {100 * spent / LOOK_FOR_S:.0f} % of a core, and told {told} places")
        await hear(site, browsers, verdicts=verdicts)
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
    return p95(pages) <= max(MOST_P95_S, MOST_SLOWER * p95(before)) and used <= MOST_THREADS and held <= most + OURS


def p95(values: list[float]) -> float:
    """The time within which 95 of a hundred came."""
    return sorted(values)[len(values) * 95 // 100]


async def hear(site: Installation, browsers: Browsers, *, verdicts: int) -> None:
    """Start a worker, and print how long after the commit its verdicts were seen."""
    worker = site.start_worker()
    try:
        browsers.wanted = verdicts
        await browsers.enough.wait()
    finally:
        await asyncio.to_thread(worker.stop)
    with site.database.read() as session:
        stored = dict(session.execute(select(GradingResult.submission_id, GradingResult.finished_at)).all())
    delays = [max(0.0, (seen - stored[name]).total_seconds()) for name, seen in browsers.seen.items() if name in stored]
    print(f"verdict seen after its commit: {percentiles(delays)}")


def cpu_s(site: Installation) -> float:
    """Processor time of the first web so far, in seconds."""
    process = site.webs[0].process
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--browsers", type=int, default=500, help="how many wait")
    parser.add_argument("--mode", choices=("embedded", "split"), default="split", help="SQLite, or PostgreSQL")
    parser.add_argument("--verdicts", type=int, default=50, help="how many are graded at the end")
    args = parser.parse_args()
    settings: dict[str, object] = {
        "queue_limit": 2 * args.browsers,
        "workers": 1,
        "streams_per_network": 2 * args.browsers,  # they all come from this machine
    }
    with ExitStack() as stack:
        if args.mode == "embedded":
            site = stack.enter_context(waiting_room(users=args.browsers, settings=settings))
        else:
            url = stack.enter_context(postgresql()).get_uri()
            site = stack.enter_context(installation(url, webs=1, graders=0, users=args.browsers, settings=settings))
        with suppress(KeyboardInterrupt):
            return 0 if asyncio.run(measure(site, verdicts=args.verdicts)) else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
