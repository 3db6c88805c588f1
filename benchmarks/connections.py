"""
Somebody floods a web server: are the others still served, and what does the log grow by?

    .venv/bin/python benchmarks/connections.py [half] [streams] [sign-ins] [--count 1100]

The flood comes from a process of its own, so that it does not keep whoever measures from looking at the clock.
`half`: that many connections send half a request each. `streams`: that many event streams of one account are opened.
`sign-ins`: 400 at a time with wrong passwords, each of which tries another as soon as it is answered. Meanwhile a page
is opened some times a second, and how long it took is printed, beside the same before the flood. The server has the
usual limit of 1,024 descriptors to begin with.
Exit code 1 if a page did not come, or 95 of a hundred did not within 300 ms (or twice the time before, if that is
more).
"""

import argparse
import asyncio
import contextlib
import itertools
import multiprocessing
import resource
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

import httpx2

from tools.local_site import EXERCISE, Installation, percentiles, waiting_room

PAGE = f"/exercises/{EXERCISE}"
LOOK_FOR_S = 10.0
PAGES_PER_S = 10
SIGN_INS = 400
USUAL_DESCRIPTORS = 1024
MOST_P95_S = 0.3


async def pages(web: str, token: str) -> list[float]:
    """Open a page at a steady rate. Return the seconds of each; infinite if it did not come."""

    async def one(client: httpx2.AsyncClient) -> float:
        begun_s = time.perf_counter()
        headers = {"Authorization": f"Bearer {token}"}
        try:
            (await client.get(f"{web}{PAGE}", headers=headers)).raise_for_status()
        except httpx2.HTTPError:
            return float("inf")
        return time.perf_counter() - begun_s

    async with httpx2.AsyncClient(timeout=30.0) as client:
        tasks = []
        for _ in range(int(LOOK_FOR_S * PAGES_PER_S)):
            tasks.append(asyncio.create_task(one(client)))
            await asyncio.sleep(1 / PAGES_PER_S)
        return list(await asyncio.gather(*tasks))


async def hold(web: str, count: int, said: bytes, end: "asyncio.Future[None]") -> str:
    """Open connections that say something and then nothing, and hold them to the end."""
    where, opened = urlsplit(web), []
    for _ in range(count):
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(said)
            opened.append(writer)
    await end
    return f"{len(opened)} opened"


async def half(web: str, token: str, count: int, end: "asyncio.Future[None]") -> str:
    """Send half of each of many requests."""
    del token
    return await hold(web, count, b"GET / HTTP/1.1\r\nhost: a\r\nx-a: ", end)


async def streams(web: str, token: str, count: int, end: "asyncio.Future[None]") -> str:
    """Follow one submission, that nobody grades, many times as one account."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(timeout=30.0) as client:
        sent = await client.post(
            f"{web}/api/v1/exercises/{EXERCISE}/submissions", json={"source": "1"}, headers=headers
        )
        sent.raise_for_status()
    address = f"{sent.headers['Location']}/events"
    said = f"GET {address} HTTP/1.1\r\nhost: a\r\nauthorization: {headers['Authorization']}\r\n\r\n"
    return await hold(web, count, said.encode(), end)


async def sign_ins(web: str, token: str, count: int, end: "asyncio.Future[None]") -> str:
    """Try passwords without end, so many at a time, each for another address."""
    del token, count
    where, answers = urlsplit(web), Counter[str]()

    async def try_passwords(number: int) -> None:
        for again in itertools.count():
            body = f"email=user{number}.{again}%40example.org&password=not-the-password"
            head = "POST /sign-in HTTP/1.1\r\nhost: a\r\nconnection: close\r\naccept: text/html\r\n"
            head += f"content-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}\r\n\r\n"
            try:
                reader, writer = await asyncio.open_connection(where.hostname, where.port)
                writer.write(f"{head}{body}".encode())
                answers[(await reader.read()).partition(b" ")[2][:3].decode()] += 1
                writer.close()
            except OSError as error:
                answers[type(error).__name__] += 1

    trying = [asyncio.create_task(try_passwords(number)) for number in range(SIGN_INS)]
    await end
    for task in trying:
        task.cancel()
    await asyncio.gather(*trying, return_exceptions=True)
    return "answered " + ", ".join(f"{status}: {number}" for status, number in sorted(answers.items()))


FLOODS = {"half": half, "streams": streams, "sign-ins": sign_ins}


def send_flood(name: str, web: str, token: str, count: int, *, pipe: "Connection[str, None]") -> None:
    """Say that it begins; go on until told to end, and say what came of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))

    async def send() -> None:
        pipe.send("begins")
        end = asyncio.ensure_future(asyncio.to_thread(pipe.recv))
        pipe.send(await FLOODS[name](web, token, count, end))

    asyncio.run(send())


async def measure(site: Installation, names: list[str], count: int) -> bool:
    """Measure and print; say whether all is as it should be."""
    web, good = site.webs[0].address or "", True
    log = site.webs[0].log
    for name in names:
        before = await pages(web, site.tokens[0])
        bytes_before, begun_s = log.stat().st_size, time.monotonic()
        here, there = multiprocessing.Pipe()
        flood = multiprocessing.get_context("spawn").Process(
            target=send_flood, args=(name, web, site.tokens[1], count), kwargs={"pipe": there}, daemon=True
        )
        flood.start()
        await asyncio.to_thread(here.recv)
        during = await pages(web, site.tokens[0])
        a_minute = (log.stat().st_size - bytes_before) * 60 / (time.monotonic() - begun_s)
        here.send(None)
        told = await asyncio.to_thread(here.recv)
        await asyncio.to_thread(flood.join)
        print(f"{name}: {told}; log grows by {a_minute / 1024:.0f} KiB a minute")
        print(f"  pages before: {percentiles(before)}\n  pages during: {percentiles(during)}", flush=True)
        p95 = [sorted(one)[len(one) * 95 // 100] for one in (before, during)]
        good = good and max(during) < float("inf") and p95[1] <= max(MOST_P95_S, 2 * p95[0])
    return good


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("floods", nargs="*", choices=[*FLOODS, []], help="which; all if none is named")
    parser.add_argument("--count", type=int, default=1100, help="connections")
    args = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_DESCRIPTORS, hard), hard))
    with waiting_room(users=2, settings={"workers": 1}) as site:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
        return 0 if asyncio.run(measure(site, args.floods or list(FLOODS), args.count)) else 1


if __name__ == "__main__":
    sys.exit(main())
