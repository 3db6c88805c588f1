"""
Guests of three networks send without end: does somebody who is signed in notice?

    .venv/bin/python benchmarks/flood.py [--seconds 60] [--quiet 20] [--senders 4] [--pause 0.05] [--workers 2]

`kelolo serve` on SQLite, and before it what stands for a proxy: each request names the network that it comes from, as
the settings let it. A student sends one Check after the other, first alone and then during the flood. The guests send
right and wrong code, endless loops, floods of output, great tensors and forged observations; some keep their cookie,
some drop it. Printed: the student's times from pressing Check to the verdict, what the guests were answered, and
whether all that was taken in was graded. Exit code 1 if the student's p95 more than doubles, if anything is lost, or if
a verdict is our fault.
"""

import argparse
import asyncio
import itertools
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx2

from benchmarks.load import SOURCE
from tools.forged_observations import Edit, forging
from tools.local_site import EXERCISE, embedded, percentiles

NETWORKS = ("198.51.100", "203.0.113", "192.0.2")
HOME = "100.64.7.9"
FORGED = (
    ("leaves", "[{'storage': 0, 'offset': 0, 'shape': [-1, 5], 'stride': [1, 1]}]"),
    ("leaves", "[{'storage': 0, 'offset': n, 'shape': [1 << 20], 'stride': [1]} for n in range(2400)]"),
    ("storage", "10 ** 400"),
    ("shape", "[1] * 160_000"),
)
BAD = (
    SOURCE,
    SOURCE.replace("h = tok + pos", "h = tok"),
    "while True:\n    pass\n",
    "while True:\n    print('x' * 1000)\n",
    "import torch\nbig = torch.zeros(60_000, 10_000)\n" + SOURCE,
    "h = (",
    *(forging(SOURCE, Edit("observation", "body", ("outputs", "token_emb", part), value)) for part, value in FORGED),
)
KEPT_BROWSERS = 3
"""Of a network, browsers that keep their cookie; every fourth request drops it."""
PAUSE_S = 0.5
"""Between two Checks of the student."""
FACTOR = 2.0
SETTLED_WITHIN_S = 300.0


@dataclass
class Flood:
    """What the guests were answered."""

    answers: Counter[int] = field(default_factory=Counter)
    taken_in: list[tuple[str, str]] = field(default_factory=list)
    """Submissions that were taken in, each with its guest's cookie."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the flood lasts")
    parser.add_argument("--quiet", type=float, default=20.0, help="seconds for which the student is alone before it")
    parser.add_argument("--senders", type=int, default=4, help="how many send at once from each network")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between an answer and the next request")
    parser.add_argument("--workers", type=int, default=2, help="how many submissions are graded at once")
    args = parser.parse_args()
    settings: dict[str, object] = {"workers": args.workers, "forwarded_allow_ips": "127.0.0.1"}
    with embedded(users=1, settings=settings) as site:
        return asyncio.run(measure(site.webs[0].address or "", site.tokens[0], args))


async def measure(address: str, token: str, args: argparse.Namespace) -> int:
    """Let the student send alone, then in the flood; then look at what became of all that was taken in."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=90.0, limits=limits) as client:
        await check_for(client, token, 3.0)  # so that all is warm
        quiet = await check_for(client, token, args.quiet)
        print(f"quiet:   {percentiles(quiet)}  ({len(quiet)} Checks)", flush=True)
        flood, stop = Flood(), asyncio.Event()
        guests = [
            asyncio.create_task(
                send_without_end(client, flood, stop, network=network, pause_s=args.pause, first=number)
            )
            for network in NETWORKS
            for number in range(args.senders)
        ]
        await asyncio.sleep(3.0)  # until the queue is as full as guests can make it
        flooded = await check_for(client, token, args.seconds)
        stop.set()
        await asyncio.gather(*guests)
        print(f"flooded: {percentiles(flooded)}  ({len(flooded)} Checks)")
        told = ", ".join(f"{status}: {number}" for status, number in sorted(flood.answers.items()))
        print(f"guests were answered {told}", flush=True)
        verdicts = await settle(client, flood)
    print(f"of {len(flood.taken_in)} taken in: {dict(verdicts)}")
    factor = p95(flooded) / p95(quiet)
    print(f"p95 in the flood is {factor:.2f} times that in the quiet")
    return 0 if factor <= FACTOR and not verdicts["lost"] and not verdicts["grader_fault"] else 1


async def check_for(client: httpx2.AsyncClient, token: str, span_s: float) -> list[float]:
    """Send one Check after the other for so long, and return how long each took to its verdict."""
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": HOME}
    times, end_s = [], time.monotonic() + span_s
    while time.monotonic() < end_s:
        begun_s = time.monotonic()
        sent = await client.post(f"/api/v1/exercises/{EXERCISE}/submissions", json={"source": SOURCE}, headers=headers)
        sent.raise_for_status()
        state = (await client.get(sent.headers["Location"], params={"wait": 60}, headers=headers)).json()
        if state.get("verdict") != "passed":
            raise RuntimeError(f"a right Check was told {state}")
        times.append(time.monotonic() - begun_s)
        await asyncio.sleep(PAUSE_S)
    return times


async def send_without_end(
    client: httpx2.AsyncClient, flood: Flood, stop: asyncio.Event, *, network: str, pause_s: float, first: int
) -> None:
    """Send as guests of one network, whatever is answered."""
    cookies: dict[int, str] = {}
    for number in itertools.count(first):
        if stop.is_set():
            return
        browser = number % (KEPT_BROWSERS + 1)
        cookie = cookies.get(browser) if browser < KEPT_BROWSERS else None
        headers = {"X-Forwarded-For": f"{network}.{number % 250}"} | ({"Cookie": cookie} if cookie else {})
        source = BAD[number % len(BAD)]
        # not by the client's own jar: all browsers would share it
        client.cookies.clear()
        sent = await client.post(f"/exercises/{EXERCISE}/submissions", data={"source": source}, headers=headers)
        flood.answers[sent.status_code] += 1
        if given := sent.headers.get("set-cookie"):
            cookie = cookies[browser] = given.partition(";")[0]
        if sent.status_code == httpx2.codes.SEE_OTHER and cookie:
            flood.taken_in.append((sent.headers["Location"], cookie))
        client.cookies.clear()
        await asyncio.sleep(pause_s)


async def settle(client: httpx2.AsyncClient, flood: Flood) -> Counter[str]:
    """Return the verdicts on all that was taken in, once there is one on each; what has none by then is lost."""
    verdicts: Counter[str] = Counter()
    end_s = time.monotonic() + SETTLED_WITHIN_S
    for location, cookie in flood.taken_in:
        wait_s = max(0.0, min(60.0, end_s - time.monotonic()))
        client.cookies.clear()
        state = (await client.get(f"/api/v1{location}", params={"wait": wait_s}, headers={"Cookie": cookie})).json()
        verdicts[str(state.get("verdict", "lost"))] += 1
    return verdicts


def p95(times: list[float]) -> float:
    """Return what 95 of a hundred do not exceed."""
    return sorted(times)[min(len(times) - 1, len(times) * 95 // 100)]


if __name__ == "__main__":
    sys.exit(main())
